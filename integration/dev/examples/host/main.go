// Program host serves an agent on 127.0.0.1 over a web socket: host DIR PORT. Its environment has the key of a model
// provider, and HOST_TOKEN, the token that clients send.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/standard"
)

func main() {
	p := config.Parameters{TargetDir: os.Args[1]}
	p.Environment.Getenv = os.Getenv
	token := os.Getenv("HOST_TOKEN")
	if token == "" {
		log.Fatal("Set HOST_TOKEN to a secret that clients send.")
	}
	c, err := config.New(standard.Parameters(p))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Initialize(context.Background()); err != nil {
		log.Fatal(err)
	}
	h, err := newHost(context.Background(), c, token)
	if err != nil {
		log.Fatal(err)
	}
	log.Print(http.ListenAndServe("127.0.0.1:"+os.Args[2], h))
}

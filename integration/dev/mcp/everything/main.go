// Command everything is an MCP server that demonstrates servers made with fettle:
// each tool, resource and prompt shows one feature. It uses only fettle's public
// packages. MCP's conformance suite runs against it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "everything:", err)
		os.Exit(1)
	}
}

// serve serves one client over in and out, or HTTP clients, until they have
// disconnected or ctx ends.
func serve(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) error {
	flags := flag.NewFlagSet("everything", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("http", "", "serve streamable HTTP at this `address`, as 127.0.0.1:8000, instead of stdin and stdout")
	stateless := flags.Bool("stateless", false, "over HTTP, serve clients without sessions")
	every := flags.Duration("update", 3*time.Second, "the interval of changes of the watched resource")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *every <= 0 {
		return errors.New("-update must be positive")
	}
	e, err := newEverything()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { e.run(ctx, *every) })
	defer running.Wait()
	defer cancel()
	s := server.New(server.Options{
		Name: "everything", Version: "1.0.0",
		Open:   func(context.Context, server.Client) (*mcpservice.Service, error) { return e.service(), nil },
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if *address == "" {
		return errors.Join(s.Stdio(ctx, in, out), s.Close())
	}
	return errors.Join(serveHTTP(ctx, s, *address, *stateless, stderr), s.Close())
}

// serveHTTP serves clients at an address until ctx ends.
func serveHTTP(ctx context.Context, s *server.Server, address string, stateless bool, stderr io.Writer) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	h := &http.Server{
		Handler:           s.Handler(server.HTTPOptions{Stateless: stateless}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	// Clients may keep streams open indefinitely, so the server does not wait for
	// them.
	defer context.AfterFunc(ctx, func() { _ = h.Close() })()
	fmt.Fprintf(stderr, "serving http://%s%s\n", l.Addr(), server.Path)
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

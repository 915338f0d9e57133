// Command fettle runs the tool layer of a coding agent.
package main

import (
	"os"

	"github.com/fettle-dev/fettle/cli"
)

func main() {
	os.Exit(cli.Main())
}

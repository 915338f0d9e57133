// Command fettle is the tool layer of a coding agent as a program.
package main

import (
	"os"

	"github.com/fettle-dev/fettle/cli"
)

func main() {
	os.Exit(cli.Main())
}

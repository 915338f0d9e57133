// Command fettle-hub connects sessions on several machines: it serves a hub, runs jobs, and
// submits and shows them.
package main

import (
	"os"

	"github.com/fettle-dev/fettle/cli/hub/command"
)

func main() {
	os.Exit(command.Main())
}

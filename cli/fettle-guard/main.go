// Command fettle-guard applies fettle's policy to other agents: as their hook, and in
// front of MCP servers.
package main

import (
	"os"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/gateway"
	"github.com/fettle-dev/fettle/cli/guard/hook"
	"github.com/fettle-dev/fettle/cli/guard/importer"
)

func main() {
	os.Exit(guard.Main("fettle-guard", hook.Command(), gateway.Command(), importer.Command()))
}

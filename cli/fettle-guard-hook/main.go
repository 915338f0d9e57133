// Command fettle-guard-hook is fettle-guard with the command hook only: a small file
// that starts fast.
package main

import (
	"os"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/hook"
)

func main() {
	os.Exit(guard.Main("fettle-guard-hook", hook.Command()))
}

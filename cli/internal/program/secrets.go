package program

import (
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// secretsOf returns the secrets of an environment: the keys of model providers, and
// other values that look like secrets.
func (p *Program) secretsOf(environ []string) []string {
	var keys []string
	if p.Providers != nil {
		keys = p.Providers.Models(func(name string) (string, bool) { return os.Getenv(name), false }).Secrets()
	}
	return append(keys, settings.Secrets(environ)...)
}

// KeysFile returns the path of the file with the stored keys of model providers, ""
// without a home directory.
func KeysFile(g *Flags) string {
	names, _ := layout.Named(g.Layout) // the flag accepts no other name
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, names.Dir, "keys.json")
}

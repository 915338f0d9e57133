package program

import (
	"os"

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

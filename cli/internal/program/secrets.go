package program

import (
	"os"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/standard"
)

// secretsOf returns the secrets of an environment: the keys of model providers, and
// other values that look like secrets.
func secretsOf(environ []string) []string {
	keys := standard.ModelOptions{Getenv: os.Getenv}.Secrets()
	return append(keys, settings.Secrets(environ)...)
}

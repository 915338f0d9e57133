package program

import (
	"os"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/standard"
)

// secretsOf returns those of an environment: the keys of models' providers, and
// what else looks like a secret.
func secretsOf(environ []string) []string {
	keys := standard.ModelOptions{Getenv: os.Getenv}.Secrets()
	return append(keys, config.Secrets(environ)...)
}

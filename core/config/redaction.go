package config

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// redaction says which variables commands are not given.
type redaction settings.Redaction

// needed are variables whose names look secret and whose values are none, or
// without which programs do not run.
var needed = []string{"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"}

// of returns an environment without what is to be kept from commands. The
// settings' blocked variables go first, then the allowed ones.
func (r redaction) of(environ []string) []string {
	if !r.Enabled {
		return environ
	}
	return slices.DeleteFunc(environ, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		listed := func(names []string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		}
		switch {
		case listed(r.Blocked):
			return true
		case listed(r.Allowed), listed(needed):
			return false
		}
		return settings.LooksSecret(name, value)
	})
}

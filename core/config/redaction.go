package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// redaction says which variables commands are not given.
type redaction settings.Redaction

var (
	// secretNames is in words of a variable's name that promise a secret.
	secretNames = regexp.MustCompile(`(?i)(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PWD|KEY|APIKEY|AUTH|CREDENTIALS?|CREDS|PRIVATE|CERT|COOKIE)S?(_|$)|APIKEY|PASSWORD|SECRET|TOKEN`)
	// secretValues begin as keys and tokens of known services do, or hold a
	// private key or an address with a password in it.
	secretValues = regexp.MustCompile(`^(gh[pousr]_|github_pat_|glpat-|sk-|xox[abeoprs]-|AIza|AKIA|ASIA|ya29\.|npm_|pypi-|hf_|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY|^[a-z][a-z0-9+.-]*://[^/@\s:]+:[^/@\s]+@`)
)

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
		return secretNames.MatchString(name) || secretValues.MatchString(value)
	})
}

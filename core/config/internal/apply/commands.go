package apply

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/services/process"
)

// Redacted returns an environment without the variables to withhold from
// commands. The settings' blocked variables take precedence over the allowed
// ones.
func Redacted(environ []string, r settings.Redaction) []string {
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
		case listed(r.Allowed), listed(settings.Needed()):
			return false
		}
		return settings.LooksSecret(name, value)
	})
}

// Confinement converts valid settings into the confinement of commands. networked
// states that the network is allowed explicitly. With the kind auto the result is
// the best that this machine supports, which may be none.
func Confinement(s settings.Sandbox, networked bool) process.Confinement {
	c := process.Confinement{Writable: s.AllowedPaths, NoTCP: !s.NetworkAccess}
	switch s.Kind() {
	case settings.SandboxAuto:
		c.PerCommand, c.NoTCP = true, !networked
		if c = c.Strongest(); c.Kind == process.Unconfined {
			return process.Confinement{}
		}
	case settings.SandboxNone:
		return process.Confinement{}
	case settings.SandboxLandlock:
		c.Kind = process.Landlock
	case settings.SandboxContainer:
		c.Kind, c.Program, c.Image = process.Container, s.Command, s.Image
	}
	return c
}

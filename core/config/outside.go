package config

import (
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// trustedOutsideFile is the file of approved directories outside of projects, in
// the user's settings directory.
const trustedOutsideFile = "trusted_outside.json"

const keyInclude = "context.includeDirectories"

// ownDirectories are those in which a project's include directories may lie: the
// project, and those that are not the project's to name.
func (c *settingsChecker) ownDirectories() []string {
	own := []string{c.given.target()}
	for _, e := range c.loaded.Entries(keyInclude) {
		if !e.Origin.OfProject {
			own = append(own, c.given.absolute(e.Text))
		}
	}
	return own
}

// approvedDirectories are those, and the directories outside of the project that
// the user has approved of. The error is why these are not known.
func (c *settingsChecker) approvedDirectories() ([]string, error) {
	own := c.ownDirectories()
	store := c.given.outside()
	if store == nil || !slices.ContainsFunc(c.loaded.Entries(keyInclude), func(e settings.Entry) bool { return e.Origin.OfProject }) {
		return own, nil
	}
	recorded, err := store.Of(c.given.target())
	return append(own, recorded...), err
}

// outside returns where approved directories outside of projects are recorded;
// nil: there is no home directory.
func (p *Parameters) outside() *trust.Outside {
	if p.home() == "" {
		return nil
	}
	return trust.OpenOutside(filepath.Join(p.home(), p.Layout.Dir, trustedOutsideFile))
}

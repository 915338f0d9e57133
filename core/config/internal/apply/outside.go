package apply

import (
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// trustedOutsideFile is the file of approved directories outside of projects, in
// the user's settings directory.
const trustedOutsideFile = "trusted_outside.json"

// Keys that others than the checks know.
const (
	KeyInclude = "context.includeDirectories"
	KeyMode    = "general.defaultApprovalMode"
	KeyHatch   = "tools.fileReadCacheDisabled"
)

// ownDirectories are those in which a project's include directories may lie: the
// project, and those that are not the project's to name.
func (c *checker) ownDirectories() []string {
	own := []string{c.given.Target}
	for _, e := range c.loaded.Entries(KeyInclude) {
		if !e.Origin.OfProject {
			own = append(own, c.given.Absolute(e.Text))
		}
	}
	return own
}

// approvedDirectories are those, and the directories outside of the project that
// the user has approved of. The error is why these are not known.
func (c *checker) approvedDirectories() ([]string, error) {
	own := c.ownDirectories()
	store := c.given.Outside()
	if store == nil || !slices.ContainsFunc(c.loaded.Entries(KeyInclude), func(e settings.Entry) bool { return e.Origin.OfProject }) {
		return own, nil
	}
	recorded, err := store.Of(c.given.Target)
	return append(own, recorded...), err
}

// Outside returns where approved directories outside of projects are recorded;
// nil: there is no home directory.
func (g Given) Outside() *trust.Outside {
	if g.Home == "" {
		return nil
	}
	return trust.OpenOutside(filepath.Join(g.Home, g.Layout.Dir, trustedOutsideFile))
}

// Powers are those of the project by settings and .env files, with the directories outside of
// the project marked.
func Powers(given Given, loaded *settings.Result) []settings.Power {
	own := (&checker{given: given, loaded: loaded}).ownDirectories()
	var all []settings.Power
	for _, power := range loaded.Powers() {
		if power.Key == KeyInclude {
			path := given.Absolute(power.Entry)
			if path == "" || trust.Covers(own, path) {
				continue // nothing that it has not without trust
			}
			power.Outside, power.Text = path, "reads and writes "+path+", outside of the project"
		}
		all = append(all, power)
	}
	return all
}

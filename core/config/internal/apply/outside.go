package apply

import (
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// trustedOutsideFile is the name of the file of approved directories outside of
// projects, in the user's settings directory.
const trustedOutsideFile = "trusted_outside.json"

// Keys used outside of the checks.
const (
	KeyInclude    = "context.includeDirectories"
	KeyMode       = "general.defaultApprovalMode"
	KeyKillSwitch = "tools.fileReadCacheDisabled"
)

// ownDirectories returns the directories that a project's include directories may
// lie in: the project, and directories that it does not choose.
func (c *checker) ownDirectories() []string {
	own := []string{c.given.Target}
	for _, e := range c.loaded.Entries(KeyInclude) {
		if !e.Origin.OfProject {
			own = append(own, c.given.Absolute(e.Text))
		}
	}
	return own
}

// approvedDirectories returns these directories and those outside of the project
// that the user has approved. The error is the reason why the latter are unknown.
func (c *checker) approvedDirectories() ([]string, error) {
	own := c.ownDirectories()
	store := c.given.Outside()
	if store == nil || !slices.ContainsFunc(c.loaded.Entries(KeyInclude), func(e settings.Entry) bool { return e.Origin.OfProject }) {
		return own, nil
	}
	recorded, err := store.Approved(c.given.Target)
	return append(own, recorded...), err
}

// Outside returns the store of approved directories outside of projects; nil:
// there is no home directory.
func (g Input) Outside() *trust.OutsideApprovals {
	if g.Home == "" {
		return nil
	}
	return trust.OpenOutsideApprovals(filepath.Join(g.Home, g.Layout.Dir, trustedOutsideFile))
}

// Git returns the store of approved settings of repositories; nil: there is no
// home directory.
func (g Input) Git() *trust.GitApprovals {
	if g.Home == "" {
		return nil
	}
	return trust.OpenGitApprovals(filepath.Join(g.Home, g.Layout.Dir, trust.GitFileName))
}

// Powers returns the effects of the project's settings and .env files, with the
// directories outside of the project marked.
func Powers(given Input, loaded *settings.Result) []settings.Power {
	own := (&checker{given: given, loaded: loaded}).ownDirectories()
	var all []settings.Power
	for _, power := range loaded.Powers() {
		if power.Key == KeyInclude {
			path := given.Absolute(power.Entry)
			if path == "" || trust.Covers(own, path) {
				continue // it has the effect without trust
			}
			power.Outside, power.Text = path, "reads and writes "+path+", outside the project"
		}
		all = append(all, power)
	}
	return all
}

package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/file"
)

const longText = "one\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" +
	"a line that is not shown, as nothing near it changes, and that is long enough to be worth it, not being shown twice but once at most, " +
	"by which it becomes longer than what a model is told of the regions that have changed, for which it takes some hundred characters more" +
	"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nlast\n"

// inRegions makes a change of long.txt, which a session knows, and reports whether
// it is shown the changed regions alone.
func inRegions(t *testing.T, s *configtest.Session, c *config.Config, from, to string) bool {
	t.Helper()
	text := s.Read("long.txt")
	r := patches(t, c, "long.txt", "@@ @@\n-"+from+"\n+"+to+"\n", shaOf(text))
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	st := configtest.Decode[file.Report](t, r).LatestFileState
	require.NotEqual(t, st.Content == nil, st.ChangedRegions == nil, "one or the other")
	return st.ChangedRegions != nil
}

// CF-01: settings, their variable, and Parameters, which go before; those that
// are not set show the whole.
func TestChangedRegionsAbove(t *testing.T) {
	limit := func(n int) func(*config.Parameters) {
		return func(p *config.Parameters) { p.Limits.ChangedRegionsAbove = n }
	}
	user := func(text string) func(*config.Parameters) { return withUser(t, text) }
	variable := func(line string) func(*config.Parameters) {
		return func(p *config.Parameters) { p.Settings.Environ = append(slices.Clone(p.Settings.Environ), line) }
	}
	for name, tt := range map[string]struct {
		changes []func(*config.Parameters)
		regions bool
	}{
		"nothing":                  {nil, false},
		"settings without it":      {[]func(*config.Parameters){user(`{}`)}, false},
		"settings":                 {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":100}}`)}, true},
		"settings that are higher": {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":100000}}`)}, false},
		"settings that say never":  {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":-1}}`)}, false},
		"a variable":               {[]func(*config.Parameters){user(`{}`), variable("FETTLE_CHANGED_REGIONS_ABOVE=100")}, true},
		"parameters":               {[]func(*config.Parameters){limit(100)}, true},
		"parameters go before":     {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":100}}`), limit(-1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, tt.changes...)
			s.Write("long.txt", longText)
			read(t, s.Config, "long.txt")
			require.Equal(t, tt.regions, inRegions(t, s, s.Config, "one", "1"))
		})
	}
}

// RC-22, RC-24: what one conversation knows, another one does not; and what
// compaction took away is known again once it is said again.
func TestChangedRegionsFollowTheConversation(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Limits.ChangedRegionsAbove = 100 })
	s.Write("long.txt", longText)
	read(t, s.Config, "long.txt")
	require.True(t, inRegions(t, s, s.Config, "one", "1"))

	child := derive(t, s.Config, config.DeriveParameters{})
	require.False(t, inRegions(t, s, child, "1", "one"), "it has read nothing")
	require.True(t, inRegions(t, s, child, "one", "1"), "it was shown the whole")
	require.True(t, inRegions(t, s, s.Config, "last", "the last"), "the child has changed and changed back")

	restate(t, s.Config, config.Restating{Files: -1})
	require.False(t, inRegions(t, s, s.Config, "the last", "last"))
	restate(t, s.Config, config.Restating{})
	require.True(t, inRegions(t, s, s.Config, "last", "the last"))
	require.True(t, strings.HasSuffix(s.Read("long.txt"), "the last\n"))
}

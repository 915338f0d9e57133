package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/file"
)

const longText = "one\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" +
	"a line that is not shown, as nothing near it changes, and that is long enough to be worth it, not being shown twice but once at most, " +
	"by which it becomes longer than what a model is told of the regions that have changed, for which it takes some hundred characters more" +
	"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nlast\n"

// inRegions makes a change of long.txt, which a session knows, and reports
// whether the result shows only the changed regions.
func inRegions(t *testing.T, s *configtest.Session, c *config.Config, from, to string) bool {
	t.Helper()
	text := s.Read("long.txt")
	r := patches(t, c, "long.txt", "@@ @@\n-"+from+"\n+"+to+"\n", shaOf(text))
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	st := configtest.Decode[file.Report](t, r).LatestFileState
	require.NotEqual(t, st.Content == nil, st.ChangedRegions == nil, "one or the other")
	return st.ChangedRegions != nil
}

// CF-01: settings, their variable, and Parameters, which take precedence. The
// default is 16 KiB, which differs from an explicit 0; in the layout gemini it is
// the whole file.
func TestChangedRegionsAbove(t *testing.T) {
	limit := func(n int) func(*config.Parameters) {
		return func(p *config.Parameters) { p.Session.Limits.ChangedRegionsAbove = n }
	}
	user := func(text string) func(*config.Parameters) { return withUser(t, text) }
	variable := func(line string) func(*config.Parameters) {
		return func(p *config.Parameters) { p.Settings.Environ = append(slices.Clone(p.Settings.Environ), line) }
	}
	gemini := func(p *config.Parameters) {
		to := p.Environment.Layout.SystemDir
		if p.Environment.Layout = layout.Gemini(); to != "" {
			p.Environment.Layout.SystemDir = to
		}
	}
	geminiUser := func(text string) func(*config.Parameters) {
		return func(p *config.Parameters) {
			withUser(t, `{}`)(p)
			gemini(p)
			path := filepath.Join(p.Environment.HomeDir, ".gemini", "settings.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	long := longText + strings.Repeat(strings.Repeat("x", 99)+"\n", 165)
	for name, tt := range map[string]struct {
		changes []func(*config.Parameters)
		regions bool // of a file above 16 KiB
	}{
		"by default":               {nil, true},
		"settings without it":      {[]func(*config.Parameters){user(`{}`)}, true},
		"settings of 0":            {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":0}}`)}, false},
		"a variable of 0":          {[]func(*config.Parameters){user(`{}`), variable("FETTLE_CHANGED_REGIONS_ABOVE=0")}, false},
		"parameters below 0":       {[]func(*config.Parameters){limit(-1)}, false},
		"higher":                   {[]func(*config.Parameters){limit(1 << 20)}, false},
		"gemini":                   {[]func(*config.Parameters){gemini}, false},
		"gemini, settings without": {[]func(*config.Parameters){geminiUser(`{}`)}, false},
		"gemini, settings with it": {[]func(*config.Parameters){geminiUser(`{"tools":{"changedRegionsAbove":100}}`)}, true},
		"gemini, parameters":       {[]func(*config.Parameters){gemini, limit(100)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, tt.changes...)
			s.Write("long.txt", long)
			read(t, s.Config, "long.txt")
			require.Equal(t, tt.regions, inRegions(t, s, s.Config, "one", "1"))
			child := derive(t, s.Config, config.DeriveParameters{})
			read(t, child, "long.txt")
			require.Equal(t, tt.regions, inRegions(t, s, child, "1", "one"), "a derived Config's is the same")
		})
	}
	for name, tt := range map[string]struct {
		changes []func(*config.Parameters)
		regions bool
	}{
		"nothing, of a shorter file": {nil, false},
		"settings":                   {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":100}}`)}, true},
		"settings that are higher":   {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":100000}}`)}, false},
		"settings that say never":    {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":-1}}`)}, false},
		"a variable":                 {[]func(*config.Parameters){user(`{}`), variable("FETTLE_CHANGED_REGIONS_ABOVE=100")}, true},
		"parameters":                 {[]func(*config.Parameters){limit(100)}, true},
		"parameters go before":       {[]func(*config.Parameters){user(`{"tools":{"changedRegionsAbove":100}}`), limit(-1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, tt.changes...)
			s.Write("long.txt", longText)
			read(t, s.Config, "long.txt")
			require.Equal(t, tt.regions, inRegions(t, s, s.Config, "one", "1"))
		})
	}
}

// RC-22, RC-24: the knowledge of one conversation is not that of another; files
// removed by compaction are known again once they are restated.
func TestChangedRegionsFollowTheConversation(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Session.Limits.ChangedRegionsAbove = 100 })
	s.Write("long.txt", longText)
	read(t, s.Config, "long.txt")
	require.True(t, inRegions(t, s, s.Config, "one", "1"))

	child := derive(t, s.Config, config.DeriveParameters{})
	require.False(t, inRegions(t, s, child, "1", "one"), "it has read nothing")
	require.True(t, inRegions(t, s, child, "one", "1"), "it was shown the whole")
	require.True(t, inRegions(t, s, s.Config, "last", "the last"), "the child has changed and changed back")

	restate(t, s.Config, config.RestateOptions{Files: -1})
	require.False(t, inRegions(t, s, s.Config, "the last", "last"))
	restate(t, s.Config, config.RestateOptions{})
	require.True(t, inRegions(t, s, s.Config, "last", "the last"))
	require.True(t, strings.HasSuffix(s.Read("long.txt"), "the last\n"))
}

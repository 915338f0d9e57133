package config_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
)

func TestKillSwitchOpen(t *testing.T) { // RC-28
	on := true
	s := configtest.New(t, withEdit, func(p *config.Parameters) { p.Session.FileReadCacheDisabled = &on })
	s.Write("f", "a\n")
	for version := range int64(2) {
		got := read(t, s.Config, "f")
		require.Equal(t, "a\n", *got.Content, "content each time")
		require.Equal(t, version+1, got.Version)
	}
	require.Zero(t, cached(t, s.Config))

	s.Write("unread", "a\n")
	require.Equal(t, scheduler.StatusSuccess, edits(t, s.Config, "unread").Status, "no prior read is asked for")
	require.Equal(t, "b\n", s.Read("unread"))

	refused := s.Call("write_file", map[string]any{"file_path": "f", "content": "new\n"})
	require.Equal(t, fault.BaseHashRequired, refused.Result.Error.Code, "the hash rules still hold")
	refused = s.Call("write_file", map[string]any{"file_path": "f", "content": "new\n", "base_content_sha256": shaOf("other\n")})
	require.Equal(t, fault.FileChangedSinceRead, refused.Result.Error.Code)
	refused = s.Call("safe_patch", map[string]any{"file_path": "f", "unified_diff": "@@\n-a\n+b\n", "base_content_sha256": shaOf("other\n")})
	require.Equal(t, fault.FileChangedSinceRead, refused.Result.Error.Code)
	require.Equal(t, "a\n", s.Read("f"))
	require.Zero(t, cached(t, s.Config))
}

func TestKillSwitchAtStart(t *testing.T) { // RC-29
	yes, no := true, false
	env := func(set map[string]string) func(string) string { return func(name string) string { return set[name] } }
	for name, tt := range map[string]struct {
		p    config.Parameters
		want bool
	}{
		"default":                     {config.Parameters{}, false},
		"parameter":                   {config.Parameters{Session: config.Session{FileReadCacheDisabled: &yes}}, true},
		"environment":                 {config.Parameters{Environment: config.Environment{Getenv: env(map[string]string{"FETTLE_FILE_READ_CACHE_DISABLED": "1"})}}, true},
		"environment, in words":       {config.Parameters{Environment: config.Environment{Getenv: env(map[string]string{"FETTLE_FILE_READ_CACHE_DISABLED": "true"})}}, true},
		"environment, off":            {config.Parameters{Environment: config.Environment{Getenv: env(map[string]string{"FETTLE_FILE_READ_CACHE_DISABLED": "0"})}}, false},
		"environment, no position":    {config.Parameters{Environment: config.Environment{Getenv: env(map[string]string{"FETTLE_FILE_READ_CACHE_DISABLED": "perhaps"})}}, false},
		"parameter over environment":  {config.Parameters{Session: config.Session{FileReadCacheDisabled: &no}, Environment: config.Environment{Getenv: env(map[string]string{"FETTLE_FILE_READ_CACHE_DISABLED": "1"})}}, false},
		"environment, gemini's":       {config.Parameters{Environment: config.Environment{Layout: layout.Gemini(), Getenv: env(map[string]string{"GEMINI_FILE_READ_CACHE_DISABLED": "1"})}}, true},
		"environment, another layout": {config.Parameters{Environment: config.Environment{Layout: layout.Gemini(), Getenv: env(map[string]string{"FETTLE_FILE_READ_CACHE_DISABLED": "1"})}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.p.TargetDir = t.TempDir()
			c, err := config.New(tt.p)
			require.NoError(t, err)
			require.Equal(t, tt.want, c.FileReadCacheDisabled())
		})
	}
}

func TestKillSwitchAtRunTime(t *testing.T) { // RC-29, KH-06
	s := configtest.New(t)
	s.Write("f", "a\n")
	cache, err := s.FileReadCache()
	require.NoError(t, err)
	require.NotNil(t, read(t, s.Config, "f").Content)
	require.Equal(t, "file_unchanged", read(t, s.Config, "f").Status)

	s.SetFileReadCacheDisabled(true)
	require.True(t, s.FileReadCacheDisabled())
	require.Zero(t, cache.Len(), "emptied at once")
	require.NotNil(t, read(t, s.Config, "f").Content, "from the next call on")
	require.Zero(t, cache.Len())

	s.SetFileReadCacheDisabled(false)
	require.NotNil(t, read(t, s.Config, "f").Content, "it starts from nothing")
	require.Equal(t, "file_unchanged", read(t, s.Config, "f").Status)
}

// Turning it on and off between two calls empties the cache.
func TestKillSwitchFlipped(t *testing.T) { // RC-29, RC-30
	s := configtest.New(t, withEdit)
	s.Write("f", "a\n")
	child := derive(t, s.Config, config.DeriveParameters{})
	grandchild := derive(t, child, config.DeriveParameters{})
	all := []*config.Config{s.Config, child, grandchild}
	for _, c := range all {
		read(t, c, "f")
	}
	s.SetFileReadCacheDisabled(true)
	s.SetFileReadCacheDisabled(false)
	for _, c := range all {
		require.Equal(t, fault.EditRequiresPriorRead, edits(t, c, "f").Result.Error.Code)
		require.NotNil(t, read(t, c, "f").Content)
	}
}

func TestChildFollowsKillSwitch(t *testing.T) { // RC-30
	s := configtest.New(t)
	s.Write("f", "a\n")
	follower := derive(t, s.Config, config.DeriveParameters{})
	no := false
	keeper := derive(t, s.Config, config.DeriveParameters{FileReadCacheDisabled: &no})
	for _, c := range []*config.Config{s.Config, follower, keeper} {
		read(t, c, "f")
		require.Equal(t, 1, cached(t, c))
	}

	s.SetFileReadCacheDisabled(true)
	require.True(t, follower.FileReadCacheDisabled())
	require.False(t, keeper.FileReadCacheDisabled())
	require.Zero(t, cached(t, s.Config))
	require.Zero(t, cached(t, follower), "the child's cache is emptied too")
	require.Equal(t, 1, cached(t, keeper), "an override stays")
	require.NotNil(t, read(t, follower, "f").Content)
	require.Equal(t, "file_unchanged", read(t, keeper, "f").Status)

	s.SetFileReadCacheDisabled(false)
	require.False(t, follower.FileReadCacheDisabled())
	require.NotNil(t, read(t, follower, "f").Content)
	require.Equal(t, "file_unchanged", read(t, follower, "f").Status)

	// A child's own setting stays the child's, and it no longer follows.
	follower.SetFileReadCacheDisabled(true)
	require.False(t, s.FileReadCacheDisabled())
	s.SetFileReadCacheDisabled(true)
	s.SetFileReadCacheDisabled(false)
	require.True(t, follower.FileReadCacheDisabled())
}

// A grandchild follows a child that turns its cache off after its parent did: the
// second change empties the grandchild's cache like the first.
func TestKillSwitchChangesHands(t *testing.T) { // RC-29, RC-30
	s := configtest.New(t)
	s.Write("f", "a\n")
	child := derive(t, s.Config, config.DeriveParameters{})
	grandchild := derive(t, child, config.DeriveParameters{})
	s.SetFileReadCacheDisabled(true)
	s.SetFileReadCacheDisabled(false)
	read(t, grandchild, "f")
	require.Equal(t, "file_unchanged", read(t, grandchild, "f").Status)
	child.SetFileReadCacheDisabled(true)
	child.SetFileReadCacheDisabled(false)
	require.NotNil(t, read(t, grandchild, "f").Content)

	// Setting its own value without turning anything off forgets nothing.
	grandchild.SetFileReadCacheDisabled(false)
	require.Equal(t, "file_unchanged", read(t, grandchild, "f").Status)
}

// After a change, no call is answered from the state before it.
func TestKillSwitchUnderLoad(t *testing.T) { // RC-29
	s := configtest.New(t)
	s.Write("f", "a\n")
	for range 30 {
		read(t, s.Config, "f")
		s.SetFileReadCacheDisabled(true)
		s.SetFileReadCacheDisabled(false)
		versions := make([]shown, 8)
		var wg sync.WaitGroup
		for i := range versions {
			wg.Go(func() {
				versions[i] = configtest.Decode[shown](t, call(t, s.Config, "read_file", map[string]any{"file_path": "f"}))
			})
		}
		wg.Wait()
		contents := map[int64]bool{}
		for _, v := range versions {
			if v.Content != nil {
				contents[v.Version] = true
			}
		}
		require.NotEmpty(t, contents)
		for _, v := range versions {
			require.True(t, contents[v.Version], "a placeholder names content of after the turn: %+v", v)
		}
	}
}

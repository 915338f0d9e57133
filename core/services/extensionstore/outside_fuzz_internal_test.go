package extensionstore

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// A written value reads back, other lines are unchanged, and removing it restores the
// rest.
func FuzzEnv(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range [][2]string{
		{"", ""}, {"A=1\n", "b c"}, {"# c\r\nNAME='x'\r\n", `say "a\b"`}, {"NAME=\"a\nb\"", "'"}, {"export NAME=1 # c\nNAME=2", " x "}, {"NAME", "#x"}, {"A=\"", "a #b"}, {"\ufeffNAME=1", "\u00a0\v"}, {"NAME=1\r", "$HOME`"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		before := readEnv(text)
		for name, v := range before {
			require.Regexp(t, nameOfVariable(), name)
			require.NotContains(t, v, "\x00")
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return // such a one is refused before
		}
		written := writeEnv(text, "NAME", &value)
		after := readEnv(written)
		require.Equal(t, value, after["NAME"], "%q", written)
		require.Equal(t, written, writeEnv(written, "NAME", &value))
		gone := readEnv(writeEnv(written, "NAME", nil))
		delete(before, "NAME")
		delete(after, "NAME")
		require.Equal(t, before, after)
		require.Equal(t, before, gone)
	})
}

// A source is a directory, or an address that git is given: with no option in it, no
// helper, no password, and nothing that a terminal obeys.
func FuzzSource(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		"", ".", "github:a/b", "gitlab:a/b/c.git", "https://h/a", "HTTPS://h/a?token=x", "https://u:p@h/a", "git@h:a/b", "ssh://git@h/a", "ext::sh -c x", "-u", "file:///a", "file://h/a", "u:p@h/x", "https://-oProxy=x/a", "a\x1bb", "sso://x/y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSource(text)
		if err != nil {
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
			require.NotEmpty(t, fault.As(err).Remedy)
			return
		}
		if s.kind == extensions.InstallLocal {
			require.True(t, filepath.IsAbs(s.location))
			require.Empty(t, s.url)
			return
		}
		require.False(t, strings.HasPrefix(s.url, "-"), s.url)
		require.NotContains(t, s.url, "::")
		require.False(t, strings.ContainsFunc(s.url, func(r rune) bool { return r < ' ' || r == 0x7f }))
		if u, err := url.Parse(s.url); err == nil && u.Scheme != "" {
			require.True(t, schemes[u.Scheme], s.url)
			_, password := u.User.Password()
			require.False(t, password)
			require.Empty(t, u.RawQuery)
			require.False(t, strings.HasPrefix(u.Hostname(), "-"))
		}
		again, err := parseSource(s.location)
		require.NoError(t, err, "what is kept can be fetched again")
		require.Equal(t, s, again)
	})
}

// However the file of enablement looks, switching an extension holds for the directory
// and those below it, says nothing of another extension, and is read back.
func FuzzEnablement(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{`{}`, `null`, `[]`, `{"x":{"overrides":["!/a/*"]}}`, `{"x":{"overrides":["/a/b","!*","","/","!!/a"]},"y":{"overrides":null}}`, `{"x":{"overrides":["!/h/*","/a//b/*"]}}`} {
		f.Add([]byte(seed), "/a/b", true)
		f.Add([]byte(seed), "", false)
	}
	f.Fuzz(func(t *testing.T, data []byte, dir string, on bool) {
		e := enablement{}
		if json.Unmarshal(data, &e) != nil || e == nil || strings.ContainsAny(dir, "*!\x00") || !utf8.ValidString(dir) {
			return
		}
		const home = "/h"
		other := e.enabled("y", dir, home)
		e.set("x", dir, home, on)
		for _, at := range []string{dir, dir + "/below/it"} {
			require.Equal(t, on, e.enabled("x", at, home), "in %q by %q", at, e["x"].Overrides)
		}
		require.Equal(t, other, e.enabled("y", dir, home))
		for _, text := range e["x"].Overrides[len(e["x"].Overrides)-1:] {
			require.Equal(t, text, parseRule(text).String())
		}
		written, err := json.Marshal(e)
		require.NoError(t, err)
		var back enablement
		require.NoError(t, json.Unmarshal(written, &back))
		require.Equal(t, on, back.enabled("x", dir, home))
	})
}

// The record of a directory must be readable again: none is written for a name that
// JSON cannot represent.
func TestUnrepresentableDirectory(t *testing.T) {
	s := Open(Options{Dir: t.TempDir(), Workspace: "/a\xff"})
	err := s.SetEnabled(t.Context(), "x", extensions.ScopeWorkspace, false)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, `"/a\xff"`)
	require.NotEmpty(t, fault.As(err).Remedy)
}

// FuzzPlugin holds the parsers of plugins against any text: a plugin that loads has a valid
// name and no part outside of it, and what a marketplace lists never installs from outside.
func FuzzPlugin(f *testing.F) {
	f.Add(`{"name":"kit","commands":["./commands","../x.md"],"skills":"/etc","hooks":["../h.json"],"mcpServers":{"a":{"command":"x"}}}`, `{"plugins":[{"name":"kit","source":"../x"}]}`)
	f.Add(`{"name":"A b","hooks":{"hooks":7},"userConfig":{"k":{"sensitive":true}}}`, `{"metadata":{"pluginRoot":"/etc"},"plugins":[{"name":"kit","source":"x"}]}`)
	f.Fuzz(func(t *testing.T, manifest, market string) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".claude-plugin"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(pluginManifest)), []byte(manifest), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(marketplaceFile)), []byte(market), 0o644))
		home := t.TempDir()
		s := Open(Options{Dir: filepath.Join(home, "extensions"), Home: home})
		if e, err := s.loadAt(t.Context(), dir, extensions.InstallMetadata{Type: extensions.InstallLocal, Source: dir}, true); err == nil {
			require.Empty(t, checkName(e.Name))
			for _, path := range slices.Concat(e.Plugin.Commands, e.Plugin.Agents, e.Plugin.Skills) {
				rel, err := filepath.Rel(dir, path)
				require.NoError(t, err)
				require.True(t, filepath.IsLocal(rel), path)
			}
		}
		entries, err := readMarketplace(dir, dir)
		if err != nil {
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			return
		}
		for _, e := range entries {
			if e.from.url != "" || e.from.unsupported != "" {
				continue
			}
			found, _, err := s.choosePlugin(t.Context(), nil, dir, source{location: dir}, &extensions.InstallMetadata{Plugin: e.Name}, nil)
			if err != nil {
				require.NotNil(t, fault.As(err))
				continue
			}
			rel, err := filepath.Rel(dir, found)
			require.NoError(t, err)
			require.True(t, filepath.IsLocal(rel), found)
		}
	})
}

// FuzzArchive holds the readers of archives against any bytes: they end within the limits
// with regular files and directories, or with a code.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), true)
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"), false)
	f.Fuzz(func(t *testing.T, data []byte, zipped bool) {
		dir := t.TempDir()
		archive := filepath.Join(dir, "a.tgz")
		if zipped {
			archive = filepath.Join(dir, "a.zip")
		}
		require.NoError(t, os.WriteFile(archive, data, 0o644))
		limits := copyLimits{entries: 20, bytes: 1 << 16, depth: 4}
		_, err := unpack(t.Context(), archive, filepath.Join(dir, "to"), limits)
		if err != nil {
			require.NotNil(t, fault.As(err))
		}
		size := int64(0)
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			require.NoError(t, err)
			require.True(t, entry.IsDir() || entry.Type().IsRegular(), path)
			if info, err := entry.Info(); err == nil && entry.Type().IsRegular() && path != archive {
				size += info.Size()
			}
			return nil
		}))
		require.LessOrEqual(t, size, limits.bytes+1)
	})
}

package settings_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// utf16LE encodes a text as some editors save it.
func utf16LE(text string) string {
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return string(out)
}

// CF-05: for the user's and the machine's files it is known that one is not
// applied, and whether it mentions a sandbox.
func TestUnread(t *testing.T) {
	long := `{"model": "` + strings.Repeat("x", 70_000) + `", `
	for name, tt := range map[string]struct {
		file, text string
		unread     bool
		sandbox    bool
	}{
		"the user's":              {"home/.fettle/settings.json", `{"tools": `, true, false},
		"the machine's":           {"etc/settings.json", `{"tools": `, true, false},
		"the machine's defaults":  {"etc/system-defaults.json", `[]`, true, false},
		"the person's variables":  {"home/.fettle/.env", strings.Repeat("# more\n", 200_000), true, false},
		"the home directory's":    {"home/.env", strings.Repeat("# more\n", 200_000) + "FETTLE_SANDBOX=docker", true, true},
		"servers alone":           {"home/.fettle/mcp-settings.json", `{"sandbox": `, false, false},
		"the project's":           {"project/.fettle/settings.json", `{"sandbox": `, false, false},
		"the project's variables": {"project/.env", strings.Repeat("# more\n", 200_000) + "FETTLE_SANDBOX=docker", false, false},
		"one that is whole":       {"home/.fettle/settings.json", `{"model": "sandbox"}`, false, false},
		"a sandbox":               {"home/.fettle/settings.json", `{"sandbox": `, true, true},
		"in capitals":             {"home/.fettle/settings.json", `{"Sandbox": `, true, true},
		"written otherwise":       {"home/.fettle/settings.json", `{"s\u0061nd\u0042o\u0078": `, true, true},
		"in UTF-16":               {"home/.fettle/settings.json", utf16LE(`{"sandbox": "docker"}`), true, true},
		"in both":                 {"home/.fettle/settings.json", utf16LE(`{"s\u0061ndbox": "docker"}`), true, true},
		"in UTF-16, without one":  {"home/.fettle/settings.json", utf16LE(`{"model": "docker"}`), true, false},
		"far behind":              {"home/.fettle/settings.json", strings.Repeat(" ", 3<<20) + `{"sandbox": "docker"}`, true, true},
		"where reads meet":        {"home/.fettle/settings.json", long[:1<<16-3] + "sandbox", true, true},
		"almost":                  {"home/.fettle/settings.json", `{"sand-box": `, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Trusted = true
			path := m.write(tt.file, tt.text)
			unread := m.load().Unread()
			if !tt.unread {
				require.Empty(t, unread)
				return
			}
			require.Len(t, unread, 1)
			require.Equal(t, path, unread[0].Path)
			require.Equal(t, settings.Error, unread[0].Severity)
			require.True(t, unread[0].Open)
			require.Contains(t, unread[0].Message, "every call that changes something")
			require.Equal(t, tt.sandbox, unread[0].Key == "tools.sandbox")
		})
	}
	m := newMachine(t)
	require.NoError(t, os.MkdirAll(m.path("home/.fettle/settings.json"), 0o755))
	require.Len(t, m.load().Unread(), 1, "a directory in the place of the file")
}

// A truncated file is reported, but not as a mistake.
func TestEmptyFile(t *testing.T) {
	m := newMachine(t)
	path := m.user("")
	p := only(t, m.load())
	require.Equal(t, settings.KindEmpty, p.Kind)
	require.Equal(t, settings.Warning, p.Severity)
	require.Equal(t, path, p.Path)
	m.user("// nothing yet\n")
	require.Empty(t, m.load().Problems)
}

// A name that resembles a protecting key is reported as such, except in a
// project's file.
func TestMistypedProtection(t *testing.T) {
	for text, nearest := range map[string]string{
		`{"sandbx": true}`:                          "sandbox",
		`{"Sandbox": "docker"}`:                     "sandbox",
		`{"sandbox.enabled": true}`:                 "sandbox.enabled",
		`{"tools.sandbox": true}`:                   "tools.sandbox",
		`{"sandbox": {"enabld": true}}`:             "tools.sandbox.enabled",
		`{"tools": {"sandbx": true}}`:               "tools.sandbox",
		`{"Tools": {"Sandbox": true}}`:              "tools.sandbox",
		`{"security": {"disableYolomode": true}}`:   "security.disableYoloMode",
		`{"tools": {"excluded": ["write_file"]}}`:   "tools.exclude",
		`{"security.disableAlwaysAllow": true}`:     "security.disableAlwaysAllow",
		`{"tools": {"confirmationRequird": ["x"]}}`: "tools.confirmationRequired",
	} {
		m := newMachine(t)
		m.user(text)
		p := only(t, m.load())
		require.Equal(t, settings.KindUnknownKey, p.Kind, text)
		require.Equal(t, nearest, p.Nearest, text)
		require.True(t, p.Open, text)
		require.Contains(t, p.Message, "its protection is missing", text)
		require.Equal(t, strings.Contains(strings.ToLower(text), "sand"), settings.Means(p.Nearest, "tools.sandbox"), text)

		m = newMachine(t)
		m.project(text)
		require.False(t, only(t, m.load()).Open, text)
	}
	m := newMachine(t)
	m.user(`{"web": {"serch": {"titlePath": "x"}}}`)
	require.False(t, only(t, m.load()).Open)
	m.user(`{"Tools": {"core": []}}`)
	require.Equal(t, "tools", only(t, m.load()).Nearest)
}

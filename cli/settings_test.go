package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/fault"
)

// toolNames returns the names of a session's tools.
func toolNames(s program.Session) []string {
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Spec().Name)
	}
	return names
}

// open opens a session as a command with these flags would.
func open(t *testing.T, flags *program.Flags) (program.Session, error) {
	t.Helper()
	s, err := program.Open(t.Context(), program.SessionOptions{Flags: flags, Log: slog.New(slog.DiscardHandler), Providers: providers.All{}})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, s.Close()) })
	}
	return s, err
}

func fettleFlags() *program.Flags { return &program.Flags{Layout: "fettle"} }

// Only a long-running session watches the settings files: a command that does one
// thing reads them once.
func TestOnlyBatchesWatch(t *testing.T) {
	configPlace(t)
	for want, commands := range map[bool][][]string{
		true:  {{"call", "--batch"}},
		false: {{"call", "glob", "{}"}, {"tools"}, {"policy", "list"}},
	} {
		for _, args := range commands {
			opened := 0
			p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
			p.Open = func(_ context.Context, o program.SessionOptions) (program.Session, error) {
				opened++
				parameters, err := program.ParametersOf(o)
				require.NoError(t, err)
				require.NotNil(t, parameters.Settings)
				require.Equal(t, want, parameters.Session.WatchSettings, args)
				return nil, errors.New("no more is needed")
			}
			execute(t.Context(), p, args)
			require.Equal(t, 1, opened, args)
		}
	}
}

// CF-05: a problem that shows only when the settings are used is reported with its
// key and position. Only that setting is ignored, unless it protects the user.
func TestSettingsThatCannotBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		user  string
		says  []string
		stops bool
	}{
		"no address of a search": {`{"web": {"search": {"url": "notaurl"}}}`, []string{":1:28: web.search.url: ", "The tool web_search is not available."}, false},
		"no query in it":         {`{"web": {"search": {"url": "http://x/"}}}`, []string{":1:28: web.search.url: ", "{query}"}, false},
		"a body of it":           {"{\"web\": {\"search\": {\"url\": \"http://x/\", \"method\": \"POST\",\n \"body\": \"{{query}\"}}}", []string{":2:10: web.search.body: "}, false},
		"a host": {
			"{\"web\": {\"allowedHosts\": [\"ok.host\",\n \"http://x/\"]}}",
			[]string{`:2:2: web.allowedHosts: The allowed address "http://x/"`, "The entry is ignored."}, false,
		},
		"a directory":     {`{"context": {"includeDirectories": ["/nope"]}}`, []string{`:1:37: context.includeDirectories: The directory "/nope" cannot be used: no such file`, "It is ignored."}, false},
		"no call command": {`{"tools": {"discoveryCommand": "x"}}`, []string{":1:32: tools.discoveryCommand: ", "Set tools.callCommand too."}, false},
		"no discovery":    {`{"tools": {"callCommand": "x"}}`, []string{":1:27: tools.callCommand: ", "Set tools.discoveryCommand too."}, false},

		"a policy":                 {"{\"policyPaths\": [\n\"/nope\"]}", []string{`:2:1: policyPaths: The policy "/nope" cannot be read: no such file`}, true},
		"a directory for commands": {`{"tools": {"sandbox": {"command": "podman", "image": "i", "allowedPaths": ["/nope/x"]}}}`, []string{`:1:76: tools.sandbox.allowedPaths: `, `"/nope/x"`}, true},
		"no container":             {`{"sandbox": "nosuchprog"}`, []string{`:1:13: tools.sandbox.command: The value "nosuchprog"`, "tools.sandbox.image"}, true},
		"a slip":                   {`{"sandbox": "landlok"}`, []string{`:1:13: tools.sandbox.command: The value "landlok"`, "Did you mean landlock?"}, true},
		"no confinement at all":    {`{"tools": {"sandbox": 7}}`, []string{":1:23: tools.sandbox: The value 7 is not an object, or true or false, or a text"}, true},
		"no text":                  {`{"tools": {"sandbox": {"command": 7}}}`, []string{":1:35: tools.sandbox.command: The value 7 is not a text"}, true},
		"a program not there":      {`{"sandbox": {"command": "nosuchprog", "image": "i"}}`, []string{`:1:25: tools.sandbox.command: The value "nosuchprog" cannot be used.`}, true},
		"an image alone":           {`{"sandbox": {"image": "i"}}`, []string{`:1:23: tools.sandbox.image: `, "no container program"}, true},
		"a tool that there is not": {
			`{"tools": {"core": ["glob", "read_fil(x)"]}}`,
			[]string{`:1:29: tools.core: "read_fil" is not a built-in tool; the entry has no effect. Did you mean read_file?`}, false,
		},
		"a tool that needs a service": {`{"tools": {"core": ["web_search", "glob"]}}`, []string{`:1:21: tools.core: The tool web_search is not available`, "Set web.search.url"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			home, run := configPlace(t)
			bin := filepath.Join(home, "bin")
			writeFile(t, filepath.Join(bin, "podman"), "#!/bin/sh\n")
			require.NoError(t, os.Chmod(filepath.Join(bin, "podman"), 0o755))
			t.Setenv("PATH", bin)
			t.Setenv("GEMINI_API_KEY", "")
			writeFile(t, filepath.Join(home, ".fettle/settings.json"), tt.user)
			code, stdout, stderr := run("validate")
			require.Empty(t, stderr)
			require.Equal(t, 1, strings.Count(stdout, "\n"), stdout)
			severity := "error"
			if code == 0 {
				severity = "warning"
			}
			for _, words := range append(tt.says, severity+": ~/.fettle/settings.json:") {
				require.Contains(t, stdout, words)
			}
			require.Equal(t, strings.Contains(name, "a tool that"), code == 0)

			s, err := open(t, fettleFlags())
			if tt.stops {
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				for _, words := range tt.says {
					require.Contains(t, fault.As(err).Line(), words)
				}
				return
			}
			require.NoError(t, err)
			require.Len(t, s.SettingsProblems(), 1)
			require.Empty(t, s.DiscoveryProblems())
			require.Contains(t, toolNames(s), "glob")
			require.NotContains(t, toolNames(s), "web_search")
		})
	}
}

// An invalid flag is reported too; a missing directory ends the command at once.
func TestFlagsThatCannotBeUsed(t *testing.T) {
	configPlace(t)
	flags := fettleFlags()
	flags.CoreTools, flags.CoreToolsSet = []string{"globb", "grep_search", "edit", "replace", "apply_patch", "str_replace_based_edit_tool", "ask_user"}, true
	s, err := open(t, flags)
	require.NoError(t, err)
	require.Len(t, s.SettingsProblems(), 1)
	require.Equal(t, `the command line: tools.core: "globb" is not a built-in tool; the entry has no effect. Did you mean glob?`, s.SettingsProblems()[0].String())

	flags = fettleFlags()
	flags.IncludeDirs = []string{"nope"}
	_, err = open(t, flags)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Line(), "the command line: context.includeDirectories: ")

	// --policy replaces an invalid setting.
	home, _ := configPlace(t)
	writeFile(t, filepath.Join(home, ".fettle/settings.json"), `{"policyPaths": ["/nope"]}`)
	flags = fettleFlags()
	flags.PolicyPaths = []string{home}
	_, err = open(t, flags)
	require.NoError(t, err)
}

// Every built-in tool is a known entry of tools.core, with all services.
func TestBuiltInToolsAreKnown(t *testing.T) {
	for _, layout := range []string{"fettle", "gemini"} {
		configPlace(t)
		t.Setenv("GEMINI_API_KEY", "k")
		flags := &program.Flags{Layout: layout, CoreToolsSet: true, CoreTools: []string{"edit"}}
		s, err := open(t, flags)
		require.NoError(t, err)
		all := s.Tools()
		s, err = open(t, &program.Flags{Layout: layout})
		require.NoError(t, err)
		flags.CoreTools = []string{}
		for _, tool := range append(all, s.Tools()...) {
			flags.CoreTools = append(append(flags.CoreTools, tool.Spec().Name), tool.Spec().Aliases...)
		}
		s, err = open(t, flags)
		require.NoError(t, err)
		require.Empty(t, s.SettingsProblems())
	}
}

// A workspace whose commands can write the user's settings is reported.
func TestSettingsDirectoryInTheWorkspace(t *testing.T) {
	home, run := configPlace(t)
	writeFile(t, filepath.Join(home, "bin/podman"), "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(home, "bin/podman"), 0o755))
	t.Setenv("PATH", filepath.Join(home, "bin"))
	file := filepath.Join(home, ".fettle/settings.json")
	writeFile(t, file, `{"sandbox": {"command": "podman", "image": "i"}}`)
	_, stdout, _ := run("validate")
	require.Contains(t, stdout, "No problems")
	writeFile(t, file, `{"sandbox": {"command": "podman", "image": "i", "allowedPaths": ["~/.fettle"]}}`)
	_, stdout, _ = run("validate")
	require.Contains(t, stdout, "Confined commands can write your settings directory ~/.fettle")
	writeFile(t, file, `{"sandbox": {"command": "podman", "image": "i"}}`)
	t.Chdir(home)
	code, stdout, _ := run("validate")
	require.Zero(t, code)
	require.Contains(t, stdout, "warning: ~/.fettle/settings.json:1:25: tools.sandbox: Confined commands can write your settings directory ~/.fettle")
}

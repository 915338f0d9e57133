package settings_test

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// The first file found counts; variables that are set already stay.
func TestDotenvOrder(t *testing.T) {
	m := newMachine(t)
	m.ProjectDir = m.path("above/project/sub")
	require.NoError(t, os.MkdirAll(m.ProjectDir, 0o755))
	files := []string{
		"above/project/sub/.fettle/.env", "above/project/sub/.env", "above/project/.fettle/.env", "above/project/.env",
		"above/.fettle/.env", "above/.env", "home/.fettle/.env", "home/.env",
	}
	for _, f := range files {
		m.write(f, "WHO="+f+"\nSET=file\nFETTLE_MODEL="+f+"\n")
	}
	m.Environ = []string{"SET=process"}
	m.Trusted = true
	m.Above = func(context.Context, string) (trusted, undecided bool) { return true, false }
	for _, f := range files {
		r := m.clean()
		require.Equal(t, map[string]string{"WHO": f, "FETTLE_MODEL": f}, r.Env)
		require.Equal(t, []string{m.path(f)}, r.EnvFiles)
		require.Equal(t, f, r.Settings.Model.Name)
		require.Equal(t, "the variable FETTLE_MODEL in "+m.path(f), r.Origins("model.name")[0].Source)
		require.NoError(t, os.Remove(m.path(f)))
	}
	require.Empty(t, m.clean().Env)
}

// A plain file of the project sets no excluded variables, and with ignoreLocalEnv
// none; the settings directory's sets all.
func TestDotenvExclusions(t *testing.T) {
	m := newMachine(t)
	m.Trusted = true
	m.user(`{"advanced": {"excludedEnvVars": ["MINE", "$NAME"]}}`)
	m.Environ = []string{"NAME=NAMED"}
	m.write("project/.env", "DEBUG=1\nMINE=1\nNAMED=1\nOTHER=1\n")
	require.Equal(t, map[string]string{"OTHER": "1"}, m.clean().Env)
	m.write("home/.env", "DEBUG=2")
	m.user(`{"advanced": {"ignoreLocalEnv": true}}`)
	require.Equal(t, map[string]string{"DEBUG": "2"}, m.clean().Env)
	m.write("project/.fettle/.env", "DEBUG=3\n")
	require.Equal(t, map[string]string{"DEBUG": "3"}, m.clean().Env)
}

// CF-09: the files of an untrusted directory set nothing and are not read, which
// is reported, and do not prevent reading the user's own file.
func TestDotenvUntrusted(t *testing.T) {
	for _, undecided := range []bool{false, true} {
		m := newMachine(t)
		m.Undecided = undecided
		own := m.write("project/.fettle/.env", "GEMINI_API_KEY=theirs\nno assignment\n")
		plain := m.write("project/.env", "GOOGLE_API_KEY=theirs\nOPENAI_BASE_URL=http://127.0.0.1:1\nFETTLE_MODEL=theirs\nFETTLE_APPROVAL_MODE=plan\nFETTLE_TRUST_WORKSPACE=true\n")
		m.write("home/.fettle/.env", "GOOGLE_API_KEY=mine\nFETTLE_SANDBOX=landlock\nFETTLE_TRUST_WORKSPACE=true\n")
		r := m.load()
		require.Equal(t, map[string]string{"GOOGLE_API_KEY": "mine", "FETTLE_SANDBOX": "landlock"}, r.Env)
		require.Equal(t, []string{m.path("home/.fettle/.env")}, r.EnvFiles)
		require.Equal(t, "auto", r.Settings.Model.Name)
		require.Equal(t, "default", r.Settings.General.DefaultApprovalMode)
		require.Equal(t, settings.SandboxLandlock, r.Settings.Tools.Sandbox.Kind())
		require.Empty(t, r.Powers())
		require.Len(t, r.Problems, 3)
		var sources []string
		for _, p := range r.Problems {
			sources = append(sources, p.Path)
			require.Equal(t, p.Path == m.path("home/.fettle/.env"), p.Kind == settings.KindVariable)
		}
		require.ElementsMatch(t, []string{own, plain, m.path("home/.fettle/.env")}, sources)
	}
}

// CF-09: a file in a directory above the project counts only if that directory is
// trusted itself, even if the project is; the home directory's own file is the
// user's.
func TestDotenvAbove(t *testing.T) {
	for name, tt := range map[string]struct {
		above func(context.Context, string) (trusted, undecided bool)
		user  string
		all   bool
	}{
		"nobody knows":                    {nil, `{}`, false},
		"trusted":                         {func(context.Context, string) (bool, bool) { return true, false }, `{}`, true},
		"undecided":                       {func(context.Context, string) (bool, bool) { return false, true }, `{}`, false},
		"untrusted":                       {func(context.Context, string) (bool, bool) { return false, false }, `{}`, false},
		"nobody is asked":                 {nil, `{"security": {"folderTrust": {"enabled": false}}}`, true},
		"untrusted where nobody is asked": {func(context.Context, string) (bool, bool) { return false, false }, `{"security": {"folderTrust": {"enabled": false}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.ProjectDir, m.Trusted, m.Above = m.path("above/project"), true, tt.above
			m.user(tt.user)
			require.NoError(t, os.MkdirAll(m.ProjectDir, 0o755))
			m.write("home/.env", "MINE=1")
			path := m.write("above/.env", "GEMINI_API_KEY=a b$c\nFETTLE_APPROVAL_MODE=yolo\nOTHER=x\n")
			r := m.load()
			if tt.all {
				require.Contains(t, r.EnvFiles, path)
				require.True(t, r.OfProject("GEMINI_API_KEY"))
				require.Equal(t, "yolo", r.Settings.General.DefaultApprovalMode)
				require.Equal(t, "x", r.Env["OTHER"])
				return
			}
			require.Equal(t, "default", r.Settings.General.DefaultApprovalMode)
			require.Equal(t, map[string]string{"MINE": "1"}, r.Env, "the user's own alone")
			require.Equal(t, path, only(t, r).Path)
			m.write("above/.fettle/.env", "OTHER=x")
			require.Equal(t, map[string]string{"MINE": "1"}, m.load().Env)
		})
	}

	m := newMachine(t) // the home directory above the project
	m.ProjectDir, m.Trusted = m.path("home/project"), true
	require.NoError(t, os.MkdirAll(m.ProjectDir, 0o755))
	m.write("home/.env", "FETTLE_APPROVAL_MODE=auto_edit")
	require.Equal(t, "auto_edit", m.load().Settings.General.DefaultApprovalMode)
}

// A file above the project counts only if no other user can have written it, even
// if its directory is trusted. In the project itself its owner does not matter.
func TestDotenvOwner(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners are not looked at")
	}
	for name, tt := range map[string]struct {
		file  string
		mode  os.FileMode
		owner int // -1: this user
		read  bool
	}{
		"own":                                   {"above/.env", 0o644, -1, true},
		"own, in the settings directory":        {"above/.fettle/.env", 0o600, -1, true},
		"group may write":                       {"above/.env", 0o664, -1, false},
		"others may write":                      {"above/.env", 0o646, -1, false},
		"of another user":                       {"above/.env", 0o644, 65534, false},
		"settings directory of another user":    {"above/.fettle/.env", 0o644, 65534, false},
		"of another user, in the project":       {"above/project/.env", 0o644, 65534, true},
		"others may write, in the project":      {"above/project/.env", 0o666, -1, true},
		"of another user, two directories over": {".env", 0o644, 65534, false},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.owner >= 0 && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			m := newMachine(t)
			m.ProjectDir, m.Trusted = m.path("above/project"), true
			m.Above = func(context.Context, string) (bool, bool) { return true, false }
			require.NoError(t, os.MkdirAll(m.ProjectDir, 0o755))
			path := m.write(tt.file, "OPENAI_BASE_URL=http://127.0.0.1:1\n")
			require.NoError(t, os.Chmod(path, tt.mode))
			if tt.owner >= 0 {
				require.NoError(t, os.Chown(path, tt.owner, tt.owner))
			}
			r := m.load()
			require.Equal(t, tt.read, r.Env["OPENAI_BASE_URL"] != "")
			if !tt.read {
				p := only(t, r)
				require.Equal(t, path, p.Path)
				require.Contains(t, p.Message, "not the user's own")
			}
		})
	}
}

// A file of the project that is a link out of it is not read.
func TestDotenvLeadsOut(t *testing.T) {
	m := newMachine(t)
	m.Trusted = true
	m.write("elsewhere", "SECRET=1")
	require.NoError(t, os.Symlink(m.path("elsewhere"), m.path("project/.env")))
	r := m.load()
	require.Empty(t, r.Env)
	require.Contains(t, only(t, r).Message, "outside the project")
}

// CF-09: a project's file cannot set variables that every program loads or runs,
// trusted or not; the user's own file may.
func TestDotenvRunsNothing(t *testing.T) {
	names := []string{"BASH_ENV", "ENV", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "PATH", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT"}
	text := "OTHER=1\n"
	for _, name := range names {
		text += name + "=x\n"
	}
	for _, file := range []string{"project/.env", "project/.fettle/.env"} {
		m := newMachine(t)
		m.Trusted = true
		m.write(file, text)
		r := m.load()
		require.Equal(t, map[string]string{"OTHER": "1"}, r.Env)
		require.Len(t, r.Problems, len(names))
		require.Contains(t, r.Problems[0].Message, "BASHOPTS has no effect here")
	}
	m := newMachine(t)
	m.write("home/.env", text)
	require.Len(t, m.clean().Env, len(names)+1)
}

// The syntax of a file.
func TestDotenvForm(t *testing.T) {
	m := newMachine(t)
	m.write("home/.env", "\ufeff# comment\r\nA=1\r\nexport B = two words  # not this\nC='#$A\\n'\nD=\"x\\ny\\\"z\" # c\nE=\"two\nlines\"\nF=\nG=`a'b`\n"+
		"no assignment\n=x\n1X=2\nH.i-j=3\nA=last\n  K=\"open\nL=p#q\n")
	require.Equal(t, map[string]string{
		"A": "last", "B": "two words", "C": `#$A\n`, "D": "x\ny\"z", "E": "two\nlines", "F": "", "G": "a'b", "H.i-j": "3", "K": "\"open", "L": "p",
	}, m.load().Env)
	p := only(t, m.load())
	require.Equal(t, settings.KindVariable, p.Kind)
	require.Equal(t, 10, p.Line)
	require.Contains(t, p.Message, "it and 2 similar lines are ignored")
}

// Texts of settings can use the file's variables.
func TestDotenvInTexts(t *testing.T) {
	m := newMachine(t)
	m.write("home/.env", "KEY=k")
	m.user(`{"web": {"search": {"headers": {"X-Key": "$KEY"}}}}`)
	require.Equal(t, map[string]string{"X-Key": "k"}, m.clean().Settings.Web.Search.Headers)
}

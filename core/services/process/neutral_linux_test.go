package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// hostile is a directory whose evil program leaves the file ran behind.
func hostile(t testing.TB) (dir, ran string, environ []string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	ran = filepath.Join(home, "ran")
	evil := "#!/bin/sh\ntouch " + ran + "\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "evil"), []byte(evil), 0o755))
	return dir, ran, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GOTOOLCHAIN=path", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
}

func sh(t testing.TB, dir string, environ []string, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// SB-06, AR-25: what a command that only looks would run out of the settings of the
// repository that it looks at does not run, and does where nothing keeps it from
// that.
func TestRepositorySettingsRunNothing(t *testing.T) {
	t.Parallel()
	const signed = `git init -q && echo x > a && git add a && tree=$(git write-tree) &&
c=$(printf 'tree %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nm\n' "$tree" | git hash-object -t commit -w --stdin) &&
git update-ref HEAD "$c" && git config gpg.program "$PWD/evil" && `
	for name, tt := range map[string]struct{ prepare, command string }{
		"signatures":      {signed + "git config log.showSignature true", "git log -n 1"},
		"a format":        {signed + "git config format.pretty '%G?'", "git log -n 1"},
		"watching":        {`git init -q && git config core.fsmonitor "$PWD/evil"`, "git status --short"},
		"a partial clone": {`git init -q && echo x > a && git add a && git -c user.name=a -c user.email=a@b commit -qm m && git config extensions.partialClone origin && git config core.repositoryFormatVersion 1 && git config remote.origin.promisor true && git config remote.origin.url "$PWD" && git config remote.origin.uploadpack "$PWD/evil" && rm -f .git/objects/$(git rev-parse HEAD:a | sed 's|^..|&/|')`, "git show"},
		"a version of go": {`printf 'module x\ngo 1.21\ntoolchain go1.99.1\n' > go.mod && mkdir bin && cp evil bin/go1.99.1`, "PATH=$PATH:$PWD/bin; go env GOVERSION; go version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, ran, environ := hostile(t)
			program := strings.Fields(tt.command)[0]
			if program != "git" {
				program = "go"
			}
			if _, err := exec.LookPath(program); err != nil {
				t.Skip("there is no " + program)
			}
			sh(t, dir, environ, tt.prepare)
			s := newService(t, process.Options{Environ: func() []string { return environ }})
			r, err := s.Run(t.Context(), process.Command{Line: tt.command, Dir: dir})
			require.NoError(t, err)
			require.NoFileExists(t, ran, r.Text)

			cmd := exec.Command("bash", "-c", tt.command)
			cmd.Dir, cmd.Env = dir, environ
			out, _ := cmd.CombinedOutput() // evil fails
			require.FileExists(t, ran, "the test shows nothing: %s", out)
		})
	}
}

// What a command asks for works as ever: signing with the program of the settings,
// hooks, and a version of go that the user has chosen.
func TestWhatCommandsAskForWorks(t *testing.T) {
	t.Parallel()
	dir, ran, environ := hostile(t)
	sh(t, dir, environ, `git init -q && git config gpg.program "$PWD/evil"`)
	s := newService(t, process.Options{Environ: func() []string {
		return append(environ, "GOTOOLCHAIN=go1.26.1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c")
	}})
	_, err := s.Run(t.Context(), process.Command{Line: "git commit -q --allow-empty -S -m m", Dir: dir})
	require.NoError(t, err)
	require.FileExists(t, ran)
	r, err := s.Run(t.Context(), process.Command{Line: `echo "$GOTOOLCHAIN"; git config a.b; git config log.showSignature`, Dir: dir})
	require.NoError(t, err)
	require.Equal(t, "go1.26.1\nc\nfalse", strings.TrimSpace(r.Text))
}

// The toolchain of Rust is the one that the project names, unless that is a
// directory.
func TestRustToolchains(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, want string }{
		"none":           {want: "stable-x"},
		"a channel":      {"rust-toolchain.toml", "[toolchain]\nchannel = \"nightly-2026-01-01\"\n", "nightly-2026-01-01"},
		"a name":         {"rust-toolchain", "1.80.0\n", "1.80.0"},
		"a directory":    {"rust-toolchain.toml", "[toolchain]\npath = \"./evil\"\n", "stable-x"},
		"a path as name": {"rust-toolchain", "./evil\n", "stable-x"},
		"a channel path": {"rust-toolchain.toml", "[toolchain]\nchannel = \"../evil\"\n", "stable-x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".rustup"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(home, ".rustup", "settings.toml"), []byte("version = \"12\"\ndefault_toolchain = \"stable-x\"\n"), 0o600))
			if tt.file != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600))
			}
			sub := filepath.Join(dir, "sub")
			require.NoError(t, os.Mkdir(sub, 0o700))
			for extra, want := range map[string]string{"": tt.want, "RUSTUP_TOOLCHAIN=mine": "mine"} {
				s := newService(t, process.Options{Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, extra} }})
				r, err := s.Run(t.Context(), process.Command{Line: `echo "$RUSTUP_TOOLCHAIN"`, Dir: sub})
				require.NoError(t, err)
				require.Equal(t, want, strings.TrimSpace(r.Text))
			}
		})
	}
}

// Commands get no keys of providers, under whatever name; programs that the user
// has chosen do.
func TestCommandsGetNoKeys(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{
		Environ: func() []string {
			return []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=sk-hidden-one", "COPY=x:sk-hidden-one", "OTHER=shown"}
		},
		IsKey: func(name string) bool { return name == "OPENAI_API_KEY" },
	})
	for _, line := range []string{"env", "(env)", "env & wait"} {
		text := run(t, s, line).Text
		require.Contains(t, text, "OTHER=shown")
		require.NotContains(t, text, "hidden", line)
	}
	require.Contains(t, string(program(t, s, process.Program{Path: "env"}).Stdout), "sk-hidden-one")
}

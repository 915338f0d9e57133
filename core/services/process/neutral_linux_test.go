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

// hostile returns a directory whose evil program leaves the file ran behind.
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

// SB-06, AR-25: read-only commands do not run programs from the settings of the repository that
// they read. Without the protection they do.
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
		"an embedded bare repository": {`git init -q --bare sub && git -C sub config core.bare false && git -C sub config core.worktree . && echo x > sub/a && git -C sub add a && echo y > sub/a && git -C sub config diff.external "$PWD/evil" &&
rm -rf sub/hooks && mkdir -p sub/refs && touch sub/refs/keep && git init -q && git add sub && git commit -qm m && git clone -q . got`, "cd got/sub && git diff"},
		"a version of go":                {`printf 'module x\ngo 1.21\ntoolchain go1.99.1\n' > go.mod && mkdir bin && cp evil bin/go1.99.1`, "PATH=$PATH:$PWD/bin; go env GOVERSION; go version"},
		"a version of go in a workspace": {`printf 'go 1.21\ntoolchain go1.99.1\n' > go.work && mkdir bin && cp evil bin/go1.99.1`, "PATH=$PATH:$PWD/bin; go list -m; go doc fmt.Println"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, ran, environ := hostile(t)
			program := "git"
			if !strings.Contains(tt.command, "git ") {
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

// Explicit requests of a command work as usual: signing with the configured program, hooks, and a
// version of go that the user has chosen.
func TestExplicitRequestsWork(t *testing.T) {
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

// PB-02, PB-03: commands have the variables that keep git from writing and asking, unless the user
// has set them, and no directory for cd -.
func TestVariablesOfCommands(t *testing.T) {
	t.Parallel()
	dir, _, environ := hostile(t)
	s := newService(t, process.Options{Environ: func() []string { return append(environ, "OLDPWD=/", "GIT_PAGER=less") }})
	const line = `echo "$GIT_PAGER $GIT_OPTIONAL_LOCKS $GIT_NO_LAZY_FETCH"; cd - || echo stays; pwd`
	r, err := s.Run(t.Context(), process.Command{Line: line, Dir: dir})
	require.NoError(t, err)
	require.Contains(t, r.Text, "cat 0 1\n")
	require.Contains(t, r.Text, "stays\n"+dir)
	s = newService(t, process.Options{Environ: func() []string { return append(environ, "GIT_OPTIONAL_LOCKS=1") }})
	r, err = s.Run(t.Context(), process.Command{Line: line, Dir: dir})
	require.NoError(t, err)
	require.Contains(t, r.Text, "cat 1 1\n")
}

// A bare repository that the command names works as usual.
func TestNamedBareRepositories(t *testing.T) {
	t.Parallel()
	dir, _, environ := hostile(t)
	sh(t, dir, environ, "git init -q --bare b")
	s := newService(t, process.Options{Environ: func() []string { return environ }})
	r, err := s.Run(t.Context(), process.Command{Line: "git --git-dir=b rev-parse --is-bare-repository; GIT_DIR=b git rev-parse --is-bare-repository; git clone -q b c && git -C c push -q 2>&1; git -C c rev-parse --git-dir", Dir: dir})
	require.NoError(t, err)
	require.Regexp(t, `\Atrue\ntrue\n(?s:.*)\.git\n?\z`, r.Text)
}

// A version of go that the user has chosen with go env -w stays; a setting that leaves the choice
// to the project does not.
func TestChosenVersionsOfGo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, environ, want string }{
		"none":            {want: "local"},
		"chosen":          {".config/go/env", "GOFLAGS=-x\nGOTOOLCHAIN=go1.26.1\n", "", ""},
		"in XDG":          {"xdg/go/env", "GOTOOLCHAIN=go1.26.1\n", "XDG_CONFIG_HOME=$HOME/xdg", ""},
		"in a named file": {"own", "GOTOOLCHAIN=go1.26.1\n", "GOENV=$HOME/own", ""},
		"off":             {".config/go/env", "GOTOOLCHAIN=go1.26.1\n", "GOENV=off", "local"},
		"auto":            {".config/go/env", "GOTOOLCHAIN=auto\n", "", "local"},
		"environment":     {".config/go/env", "GOTOOLCHAIN=go1.26.1\n", "GOTOOLCHAIN=auto", "local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if tt.file != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, tt.file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(home, tt.file), []byte(tt.text), 0o600))
			}
			environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, strings.ReplaceAll(tt.environ, "$HOME", home)}
			s := newService(t, process.Options{Environ: func() []string { return environ }})
			r, err := s.Run(t.Context(), process.Command{Line: `echo "$GOTOOLCHAIN"`, Dir: home})
			require.NoError(t, err)
			require.Equal(t, tt.want, strings.TrimSpace(r.Text))
		})
	}
}

// The toolchain that the user has chosen for a directory takes precedence over the project's files
// there and above; nearer files take precedence over it.
func TestRustOverrides(t *testing.T) {
	t.Parallel()
	const project = "rust-toolchain"
	for name, tt := range map[string]struct{ overrides, file, want string }{
		"of the directory":     {"\"$DIR/sub\" = \"nightly-x\"\n", "", "nightly-x"},
		"of one above":         {"'$DIR' = 'nightly-x'\n", "", "nightly-x"},
		"of the nearer one":    {"\"$DIR\" = \"beta-x\"\n\"$DIR/sub\" = \"nightly-x\"\n", "", "nightly-x"},
		"of another":           {"\"$DIR/su\" = \"nightly-x\"\n", "", "stable-x"},
		"before the file":      {"\"$DIR/sub\" = \"nightly-x\"\n", "sub/" + project, "nightly-x"},
		"before a farther one": {"\"$DIR/sub\" = \"nightly-x\"\n", project, "nightly-x"},
		"behind a nearer file": {"\"$DIR\" = \"nightly-x\"\n", "sub/" + project, "1.80.0"},
		"of another section":   {"[other]\n\"$DIR/sub\" = \"nightly-x\"\n", "", "stable-x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".rustup"), 0o700))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
			text := "version = \"12\"\ndefault_toolchain = \"stable-x\"\n\n[overrides]\n" + strings.ReplaceAll(tt.overrides, "$DIR", dir) + "[last]\n"
			require.NoError(t, os.WriteFile(filepath.Join(home, ".rustup", "settings.toml"), []byte(text), 0o600))
			if tt.file != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, tt.file), []byte("1.80.0\n"), 0o600))
			}
			require.NoError(t, os.Symlink(dir, filepath.Join(home, "link")))
			for _, at := range []string{filepath.Join(dir, "sub"), filepath.Join(home, "link", "sub")} {
				s := newService(t, process.Options{Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home} }})
				r, err := s.Run(t.Context(), process.Command{Line: `echo "$RUSTUP_TOOLCHAIN"`, Dir: at})
				require.NoError(t, err)
				require.Equal(t, tt.want, strings.TrimSpace(r.Text))
			}
		})
	}
}

// The Rust toolchain is the one that the project names, unless that is a directory.
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

// Commands receive no API keys of providers, under any name; programs that the user has chosen do.
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

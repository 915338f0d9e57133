package hookrun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/stretchr/testify/require"
)

// inProject returns a project with hooks.
type inProject struct {
	t       *testing.T
	project Project
}

func newProject(t *testing.T) inProject {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "a project")
	require.NoError(t, os.Mkdir(dir, 0o755))
	return inProject{t, Project{Dir: dir, Settings: ".fettle", Variables: map[string]string{
		"FETTLE_PROJECT_DIR": dir, "CLAUDE_PROJECT_DIR": dir, "HOME": home,
	}}}
}

func (p inProject) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.project.Dir, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.WriteFile(path, []byte(text), 0o644))
}

func (p inProject) of(h hooks.Hook) hookresult.Fingerprint {
	p.t.Helper()
	found, err := FingerprintOf(&h, p.project)
	require.NoError(p.t, err)
	return found
}

// EX-11: the fingerprint changes with each file of the project that the command runs, in
// any spelling, and reports if there may be more.
func TestFingerprintFollowsCommands(t *testing.T) {
	for _, tt := range []struct {
		command, file string
		open          bool
		env           map[string]string
	}{
		{command: "hooks/a.sh", file: "hooks/a.sh"},
		{command: "bash ./hooks/a.sh --x", file: "hooks/a.sh"},
		{command: `"$FETTLE_PROJECT_DIR/hooks/a.sh" y`, file: "hooks/a.sh"},
		{command: "${FETTLE_PROJECT_DIR}/hooks/a.sh", file: "hooks/a.sh"},
		{command: "true && sh hooks/a.sh; true", file: "hooks/a.sh"},
		{command: "x --file=hooks/a.sh", file: "hooks/a.sh"},
		{command: "sh 'hooks/b c.sh'", file: "hooks/b c.sh"},
		{command: `sh hooks/b\ c.sh`, file: "hooks/b c.sh"},
		{command: "cat <hooks/a.sh", file: "hooks/a.sh"},
		{command: "(hooks/a.sh)", file: "hooks/a.sh"},
		{command: "$FETTLE_PROJECT_DIR/hooks/a.sh|cat", file: "hooks/a.sh"},
		{command: `"$FETTLE_PROJECT_DIR"/guard.sh`, file: "guard.sh"},
		{command: `"$CLAUDE_PROJECT_DIR"/guard.sh`, file: "guard.sh"},
		{command: `"${workspacePath}"/guard.sh`, file: "guard.sh"},
		{command: `bash "$PWD/guard.sh"`, file: "guard.sh"},
		{command: "${FETTLE_PROJECT_DIR:-.}/guard.sh", file: "guard.sh"},
		{command: "~/a\\ project/guard.sh", file: "guard.sh"},
		{command: `"$(git rev-parse --show-toplevel)"/guard.sh`, file: "guard.sh", open: true},
		{command: "cd scripts && bash ./guard.sh", file: "scripts/guard.sh"},
		{command: "bash scr*/guard.sh", file: "scripts/guard.sh", open: true},
		{command: "bash tools/*.sh", file: "tools/x.sh", open: true},
		{command: `bash ./gu""ard.sh`, file: "guard.sh"},
		{command: `bash ./{none,guard}.sh`, file: "guard.sh"},
		{command: `bash $'./gu\x61rd.sh'`, file: "guard.sh"},
		{command: `FETTLE_PROJECT_DIR=x; bash -c 'sh "$FETTLE_PROJECT_DIR/guard.sh"'`, file: "guard.sh", open: true},
		{command: `x=(./guard.sh); "${x[@]}"`, file: "guard.sh", open: true},
		{command: `bash -c './guard.sh "$1"' x`, file: "guard.sh"},
		{command: `$(which bash) deep/down/there.sh`, file: "deep/down/there.sh", open: true},
		{command: `for f in one; do cd "$f"; bash there.sh; done`, file: "deep/down/there.sh", open: true},
		{command: `eval "$X"`, file: ".fettle/hooks/h.py", open: true},
		{command: `run-parts parts`, file: "hooks/a.sh", open: true},
		{command: "python3 pkg", file: "pkg/sub/mod.py"},
		{command: "python3 -m pkg", file: "pkg/sub/mod.py", open: true},
		{command: "python3 -m one.two", file: "one/two.py", open: true},
		{command: "node ./guard", file: "guard.js"},
		{command: "make", file: "Makefile", open: true},
		{command: "npm run -s check", file: "package.json", open: true},
		{command: "bash $SCRIPT", env: map[string]string{"SCRIPT": "./guard.sh"}, file: "guard.sh"},
		{command: "some-program", env: map[string]string{"SCRIPT": "./guard.sh"}, file: "guard.sh"},
		{command: "bash 'not closed", file: "hooks/a.sh", open: true},
		{command: "x=$(cat); echo \"$x\" | ./guard.sh", file: "guard.sh"},
		{command: "bash <<EOF\n./guard.sh\nEOF", file: "guard.sh", open: true},
	} {
		t.Run(tt.command, func(t *testing.T) {
			p := newProject(t)
			for _, name := range []string{
				"hooks/a.sh", "hooks/b c.sh", "guard.sh", "scripts/guard.sh", "tools/x.sh", "deep/down/there.sh", ".fettle/hooks/h.py",
				"pkg/__main__.py", "pkg/sub/mod.py", "one/two.py", "guard.js", "Makefile", "package.json", "other.txt",
			} {
				p.write(name, "1")
			}
			h := hooks.Hook{Event: hooks.BeforeTool, Command: tt.command, Env: tt.env}
			before := p.of(h)
			require.Equal(t, tt.open, before.Open)
			require.Contains(t, before.Files, tt.file)
			require.True(t, slices.IsSorted(before.Files))
			p.write("other.txt", "2")
			p.write(".fettle/settings.json", "{}")
			require.Equal(t, before, p.of(h))
			p.write(tt.file, "2")
			require.NotEqual(t, before.Sum, p.of(h).Sum)
			p.write(tt.file, "1")
			require.Equal(t, before, p.of(h))
		})
	}
}

// A hook's own log file does not invalidate its approval.
func TestFingerprintLeavesOutWhatIsWritten(t *testing.T) {
	for _, command := range []string{
		"jq -r .tool_name >> .fettle/tools.log", "./guard.sh > tools.log 2>&1", "./guard.sh 2> tools.log", "./guard.sh &> tools.log",
		"cat | tee -a tools.log >/dev/null", "touch tools.log", `cat >> "$FETTLE_PROJECT_DIR/.fettle/tools.log"`, "cp guard.sh tools.log",
		"eval \"$X\" > scripts/tools.sh", "date >> tools.log; tail -3 tools.log",
	} {
		p := newProject(t)
		p.write("guard.sh", "1")
		h := hooks.Hook{Event: hooks.BeforeTool, Command: command}
		before := p.of(h)
		for _, text := range []string{"1", "2"} {
			for _, name := range []string{"tools.log", ".fettle/tools.log", "scripts/tools.sh"} {
				if strings.Contains(command, name) {
					p.write(name, text)
				}
			}
			require.Equal(t, before, p.of(h), command)
		}
	}
	p := newProject(t)
	p.write("made.sh", "1")
	require.True(t, p.of(hooks.Hook{Event: hooks.BeforeTool, Command: "echo x > made.sh; sh made.sh"}).Open, "what it writes and runs nobody vouches for")
}

// The fingerprint covers the fields of the definition that a session reads, and nothing
// else.
func TestFingerprintOfDefinitions(t *testing.T) {
	p := newProject(t)
	base := hooks.Hook{Event: hooks.BeforeTool, Command: "c"}
	for _, other := range []hooks.Hook{
		{Event: hooks.AfterTool, Command: "c"}, {Event: hooks.BeforeTool, Command: "d"}, {Event: hooks.BeforeTool, Command: "c", Matcher: "m"},
		{Event: hooks.BeforeTool, Command: "c", Env: map[string]string{"A": ""}}, {Event: hooks.BeforeTool, Command: "c", Timeout: 1},
		{Event: hooks.BeforeTool, Command: "c", Name: "n"}, {Event: hooks.BeforeTool, Command: "c", Sequential: true},
	} {
		require.NotEqual(t, p.of(base).Sum, p.of(other).Sum)
	}
	moved := base
	moved.Line, moved.Description = 7, "d"
	require.Equal(t, p.of(base), p.of(moved))
}

// Large files, and files outside, are not covered, which is reported.
func TestFingerprintBounds(t *testing.T) {
	p := newProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.project.Dir, "..", "outside.sh"), []byte("1"), 0o644))
	require.Empty(t, p.of(hooks.Hook{Command: "sh ../outside.sh"}).Files)
	require.True(t, p.of(hooks.Hook{Command: "python3 ."}).Open)
	require.True(t, p.of(hooks.Hook{Command: strings.Repeat("(", 1000) + "x" + strings.Repeat(")", 1000)}).Open)
	_, err := FingerprintOf(&hooks.Hook{Command: "x " + strings.Repeat("a ", maxWords)}, p.project)
	require.ErrorIs(t, err, errTooMuch)
	large := filepath.Join(p.project.Dir, "large.sh")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, maxFileBytes+1))
	_, err = FingerprintOf(&hooks.Hook{Command: "sh large.sh"}, p.project)
	require.ErrorIs(t, err, errTooMuch)
}

// For any command the result is a fingerprint or an error, and is repeatable.
func FuzzFingerprint(f *testing.F) {
	for _, seed := range []string{
		"a b", `"$X"/a ~/b ${A:-b} $(c) <(d) <<E` + "\nE\n", "[[ a =~ b ]] && for ((i=0;;i++)); do x; done", "case $a in b) c;; esac", "a{1..9}b \\", "${a[1]} ${!b} $'c\\n' f() { g; }",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, command string) {
		h := hooks.Hook{Event: hooks.BeforeTool, Command: command, Env: map[string]string{"X": command}}
		p := Project{Dir: dir, Settings: ".fettle"}
		one, err := FingerprintOf(&h, p)
		two, again := FingerprintOf(&h, p)
		require.Equal(t, err, again)
		require.Equal(t, one, two)
	})
}

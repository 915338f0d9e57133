package trust_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// place is a temporary directory with a store whose file does not exist yet.
type place struct {
	top   string // without links
	file  string
	store *trust.Store
}

func newPlace(t *testing.T, dirs ...string) place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, f := range dirs {
		require.NoError(t, os.MkdirAll(filepath.Join(top, f), 0o755))
	}
	file := filepath.Join(top, "home", ".fettle", "trustedFolders.json")
	return place{top, file, trust.Open(file)}
}

func (p place) path(rel string) string { return filepath.Join(p.top, filepath.FromSlash(rel)) }

// write writes the file; ~ in it stands for the temporary directory.
func (p place) write(t *testing.T, text string) {
	t.Helper()
	top, err := json.Marshal(p.top)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(p.file), 0o700))
	require.NoError(t, os.WriteFile(p.file, []byte(strings.ReplaceAll(text, "~", strings.Trim(string(top), `"`))), 0o600))
}

func (p place) text(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(p.file)
	require.NoError(t, err)
	return strings.ReplaceAll(string(data), p.top, "~")
}

func (p place) decide(t *testing.T, rel string) trust.State {
	t.Helper()
	state, entry, err := p.store.Decide(t.Context(), p.path(rel))
	require.NoError(t, err)
	require.Equal(t, state, entry.State, "the entry says what is decided")
	return state
}

// CF-09: three states; the zero is undecided.
func TestState(t *testing.T) {
	var zero trust.State
	for state, want := range map[trust.State]string{zero: "undecided", trust.Trusted: "trusted", trust.Untrusted: "untrusted", 7: "state 7"} {
		text, err := state.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want, state.String())
		require.Equal(t, want, string(text))
		var back trust.State
		if state != 7 {
			require.NoError(t, back.UnmarshalText(text))
			require.Equal(t, state, back)
		} else {
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(back.UnmarshalText(text)))
		}
	}
}

func TestFromEnv(t *testing.T) {
	for value, want := range map[string]struct {
		state trust.State
		given bool
		fails bool
	}{
		"":       {},
		" ":      {},
		"true":   {state: trust.Trusted, given: true},
		"false":  {state: trust.Untrusted, given: true},
		"1":      {fails: true},
		"TRUE":   {fails: true},
		"yes":    {fails: true},
		"falsee": {fails: true},
	} {
		state, given, err := trust.FromEnv(value)
		require.Equal(t, want.state, state, value)
		require.Equal(t, want.given, given, value)
		if !want.fails {
			require.NoError(t, err, value)
			continue
		}
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), value)
		require.Contains(t, err.Error(), value)
		require.NotContains(t, err.Error(), "TRUST_WORKSPACE", "layouts have variables of their own")
	}
}

// CF-09: the deepest key that contains the directory decides; without one the state is undecided.
func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		want map[string]trust.State
	}{
		"empty object": {`{}`, map[string]trust.State{"a": trust.Undecided}},
		"folder": {`{"~/a": "TRUST_FOLDER"}`, map[string]trust.State{
			"a": trust.Trusted, "a/b": trust.Trusted, "a/b/c": trust.Trusted, "a/missing/x": trust.Trusted,
			"ab": trust.Undecided, "": trust.Undecided, "A": trust.Undecided}},
		"deepest": {`{"~/a/b": "DO_NOT_TRUST", "~/a": "TRUST_FOLDER", "~/a/b/c": "TRUST_FOLDER"}`, map[string]trust.State{
			"a": trust.Trusted, "a/b": trust.Untrusted, "a/b/x": trust.Untrusted, "a/b/c": trust.Trusted, "a/b/c/d": trust.Trusted}},
		"parent": {`{"~/a/b": "TRUST_PARENT"}`, map[string]trust.State{
			"a": trust.Trusted, "a/b": trust.Trusted, "a/other": trust.Trusted, "ab": trust.Undecided, "": trust.Undecided}},
		"parent beside a no": {`{"~/a/bbbbbbb": "TRUST_PARENT", "~/a/b": "DO_NOT_TRUST"}`, map[string]trust.State{
			"a": trust.Trusted, "a/b": trust.Untrusted, "a/b/c": trust.Untrusted, "a/x": trust.Trusted}},
		"a deeper key of a parent": {`{"~/a": "DO_NOT_TRUST", "~/a/b": "TRUST_PARENT"}`, map[string]trust.State{"a": trust.Trusted}},
		"twice, the no first":      {`{"~/a": "DO_NOT_TRUST", "~/a": "TRUST_FOLDER"}`, map[string]trust.State{"a": trust.Untrusted}},
		"twice, the no last":       {`{"~/a": "TRUST_FOLDER", "~/a/": "DO_NOT_TRUST"}`, map[string]trust.State{"a": trust.Untrusted}},
		"uncleaned key":            {`{"~/x/../a/./": "TRUST_FOLDER"}`, map[string]trust.State{"a": trust.Trusted, "x": trust.Undecided}},
		"comments":                 {"// mine\n{\n  /* yes */ \"~/a\": \"TRUST_FOLDER\", // work\n}\n", map[string]trust.State{"a": trust.Trusted}},
		"byte order mark":          {"\ufeff{\"~/a\": \"TRUST_FOLDER\"}", map[string]trust.State{"a": trust.Trusted}},
		"escapes":                  {`{"~/\u0061": "TRUST\u005fFOLDER"}`, map[string]trust.State{"a": trust.Trusted}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "a/b/c", "ab", "A", "x")
			p.write(t, tt.file)
			for rel, want := range tt.want {
				if runtime.GOOS != "linux" && rel == "A" {
					continue // it may be the directory a
				}
				require.Equal(t, want, p.decide(t, rel), rel)
			}
		})
	}
}

func TestDecideRoot(t *testing.T) {
	p := newPlace(t, "a")
	root := filepath.VolumeName(p.top) + string(filepath.Separator)
	quoted, _ := json.Marshal(root)
	p.write(t, `{`+string(quoted)+`: "TRUST_FOLDER"}`)
	require.Equal(t, trust.Trusted, p.decide(t, "a"))
	p.write(t, `{`+string(quoted)+`: "TRUST_PARENT", "~/a": "DO_NOT_TRUST"}`)
	require.Equal(t, trust.Untrusted, p.decide(t, "a"))
}

// Real paths are compared, on both sides.
func TestDecideFollowsLinks(t *testing.T) {
	p := newPlace(t, "real/project", "elsewhere")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(p.path(target), p.path(name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	link("real", "link")
	link("real/project", "elsewhere/inside")

	p.write(t, `{"~/link": "TRUST_FOLDER"}`)
	require.Equal(t, trust.Trusted, p.decide(t, "real/project"))
	require.Equal(t, trust.Trusted, p.decide(t, "link/project"))
	require.Equal(t, trust.Trusted, p.decide(t, "elsewhere/inside"))

	p.write(t, `{"~/elsewhere": "TRUST_FOLDER"}`)
	require.Equal(t, trust.Undecided, p.decide(t, "elsewhere/inside"), "a link in a trusted directory lends no trust to where it leads")

	p.write(t, `{"~/elsewhere/inside": "DO_NOT_TRUST", "~/real/project": "TRUST_FOLDER"}`)
	require.Equal(t, trust.Untrusted, p.decide(t, "real/project"), "a no beside a yes on the same directory holds")

	link("real/project/later", "dangling")
	_, _, err := p.store.Decide(t.Context(), p.path("dangling/x"))
	require.Equal(t, fault.ReadContentFailure, fault.CodeOf(err), "nobody knows where it will lead")
}

func TestDecideNamesTheEntry(t *testing.T) {
	p := newPlace(t, "a/b")
	p.write(t, "{\n  // first\n  \"~\": \"TRUST_FOLDER\",\n  \"~/a/b\": \"TRUST_PARENT\"\n}\n")
	state, entry, err := p.store.Decide(t.Context(), p.path("a"))
	require.NoError(t, err)
	require.Equal(t, trust.Trusted, state)
	require.Equal(t, trust.Entry{Path: p.path("a/b"), Directory: p.path("a"), Value: "TRUST_PARENT", State: trust.Trusted, Line: 4}, entry)

	all, err := p.store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, trust.Entry{Path: p.top, Directory: p.top, Value: "TRUST_FOLDER", State: trust.Trusted, Line: 3}, all[0])
}

func TestMissingFile(t *testing.T) {
	p := newPlace(t)
	require.Equal(t, trust.Undecided, p.decide(t, "home"))
	list, err := p.store.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	require.NoError(t, p.store.Set(t.Context(), p.path("home"), trust.Undecided))
	require.NoFileExists(t, p.file, "there was nothing to forget")
}

// CF-09: an invalid file decides nothing, and is not written.
func TestMalformed(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		line string // the position in the message
		says string
	}{
		"empty":             {"", "line 1", ""},
		"cut off":           {"{\n\"~/a\": \"TRUST_FOLDER\",\n\"~/b\"", "line 3", ""},
		"array":             {"\n[]", "line 2", "object"},
		"text":              {`"TRUST_FOLDER"`, "line 1", "object"},
		"unknown value":     {"{\n\"~/a\": \"TRUST_FOLDER\",\n\"~/b\": \"TRUSTED\"}", "line 3", "TRUST_FOLDER, TRUST_PARENT, DO_NOT_TRUST"},
		"value in lower":    {`{"~/a": "do_not_trust"}`, "line 1", "DO_NOT_TRUST"},
		"no text":           {`{"~/a": true}`, "line 1", "DO_NOT_TRUST"},
		"null":              {`{"~/a": null}`, "line 1", "DO_NOT_TRUST"},
		"object":            {`{"~/a": {"TRUST_FOLDER": "TRUST_FOLDER"}}`, "line 1", "DO_NOT_TRUST"},
		"relative key":      {"{\n\n\"project\": \"DO_NOT_TRUST\"}", "line 3", "absolute"},
		"empty key":         {`{"": "TRUST_FOLDER"}`, "line 1", "absolute"},
		"two objects":       {"{}\n{}", "line 2", ""},
		"not UTF-8":         {"{\n\"~/\xff\": \"DO_NOT_TRUST\"}", "line 2", "UTF-8"},
		"deep":              {strings.Repeat("[", 500_000), "", "brackets"},
		"deep objects":      {strings.Repeat(`{"a":`, 100_000), "", "brackets"},
		"large":             {"{}" + strings.Repeat(" ", 1<<20), "", "larger"},
		"terminal controls": {"{\"\x7f\\u001b[2J\": \"TRUST_FOLDER\"}", "line 1", `\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "a")
			p.write(t, tt.file)
			before := p.text(t)
			check := func(err error) {
				t.Helper()
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				f := fault.As(err)
				require.Contains(t, f.Message, p.file)
				require.Contains(t, f.Message, tt.line)
				require.Contains(t, f.Message, tt.says)
				require.NotEmpty(t, f.Remedy)
			}
			state, _, err := p.store.Decide(t.Context(), p.path("a"))
			check(err)
			require.Equal(t, trust.Undecided, state)
			_, err = p.store.List(t.Context())
			check(err)
			for _, s := range []trust.State{trust.Trusted, trust.Untrusted, trust.Undecided} {
				check(p.store.Set(t.Context(), p.path("a"), s))
			}
			require.Equal(t, before, p.text(t))
		})
	}
}

func TestUnreadable(t *testing.T) {
	p := newPlace(t, "home/.fettle/trustedFolders.json")
	_, _, err := p.store.Decide(t.Context(), p.top)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "a directory where the file should be")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(p.store.Set(t.Context(), p.top, trust.Trusted)))
}

func TestSet(t *testing.T) {
	for name, tt := range map[string]struct {
		before string // "": no file
		dir    string
		state  trust.State
		after  string
	}{
		"first":             {"", "a", trust.Trusted, "{\n  \"~/a\": \"TRUST_FOLDER\"\n}\n"},
		"first no":          {"", "a", trust.Untrusted, "{\n  \"~/a\": \"DO_NOT_TRUST\"\n}\n"},
		"missing directory": {"", "missing/x", trust.Untrusted, "{\n  \"~/missing/x\": \"DO_NOT_TRUST\"\n}\n"},
		"another": {
			"{\n  \"~/a\": \"TRUST_FOLDER\"\n}\n", "a/b", trust.Untrusted,
			"{\n  \"~/a\": \"TRUST_FOLDER\",\n  \"~/a/b\": \"DO_NOT_TRUST\"\n}\n"},
		"the same again": {"{\n  \"~/a\": \"TRUST_FOLDER\"\n}\n", "a", trust.Trusted, "{\n  \"~/a\": \"TRUST_FOLDER\"\n}\n"},
		"changed in its place": {
			"{\"~/a\"  :  \"TRUST_FOLDER\" , \"~/x\":\"DO_NOT_TRUST\"}", "a", trust.Untrusted,
			"{\"~/a\"  :  \"DO_NOT_TRUST\" , \"~/x\":\"DO_NOT_TRUST\"}"},
		"comments and commas stay": {
			"// head\n{\n\t// one\n\t\"~/x\": \"TRUST_FOLDER\", // after\n\t/* last */\n}\n// tail", "a", trust.Trusted,
			"// head\n{\n\t// one\n\t\"~/x\": \"TRUST_FOLDER\", // after\n\t/* last */\n\t\"~/a\": \"TRUST_FOLDER\"\n}\n// tail"},
		"behind a line comment without a comma": {
			"{\n  \"~/x\": \"TRUST_FOLDER\" // after\n}\n", "a", trust.Trusted,
			"{\n  \"~/x\": \"TRUST_FOLDER\", // after\n  \"~/a\": \"TRUST_FOLDER\"\n}\n"},
		"only a comment":   {"{ // none yet\n}", "a", trust.Trusted, "{ // none yet\n  \"~/a\": \"TRUST_FOLDER\"\n}"},
		"line ends of DOS": {"{\r\n  \"~/x\": \"TRUST_FOLDER\"\r\n}\r\n", "a", trust.Trusted, "{\r\n  \"~/x\": \"TRUST_FOLDER\",\r\n  \"~/a\": \"TRUST_FOLDER\"\r\n}\r\n"},
		"byte order mark":  {"\ufeff{}", "a", trust.Trusted, "\ufeff{\n  \"~/a\": \"TRUST_FOLDER\"\n}"},
		"twice": {
			"{\n  \"~/a\": \"TRUST_FOLDER\", // x\n  \"~/b\": \"TRUST_FOLDER\",\n  \"~/a\": \"DO_NOT_TRUST\"\n}", "a", trust.Trusted,
			"{\n  \"~/a\": \"TRUST_FOLDER\", // x\n  \"~/b\": \"TRUST_FOLDER\"\n}"},
		"in the place of a child that spoke for its parent": {
			"{\n  \"~/a/b\": \"TRUST_PARENT\",\n  \"~/x\": \"TRUST_FOLDER\"\n}", "a", trust.Untrusted,
			"{\n  \"~/x\": \"TRUST_FOLDER\",\n  \"~/a\": \"DO_NOT_TRUST\"\n}"},
		"forget the only one": {"{\n  \"~/a\": \"TRUST_FOLDER\"\n}\n", "a", trust.Undecided, "{\n}\n"},
		"forget the last": {
			"{\n  \"~/x\": \"TRUST_FOLDER\", // x\n  \"~/a\": \"TRUST_FOLDER\" // a\n}\n", "a", trust.Undecided,
			"{\n  \"~/x\": \"TRUST_FOLDER\" // x\n   // a\n}\n"},
		"forget the first of one line": {`{"~/a": "TRUST_FOLDER", "~/x": "DO_NOT_TRUST"}`, "a", trust.Undecided, `{ "~/x": "DO_NOT_TRUST"}`},
		"forget the last of one line":  {`{"~/x": "DO_NOT_TRUST", "~/a": "TRUST_FOLDER"}`, "a", trust.Undecided, `{"~/x": "DO_NOT_TRUST" }`},
		"forget all of them":           {`{"~/a": "TRUST_FOLDER", "~/a/": "DO_NOT_TRUST", "~/a/b": "TRUST_PARENT",}`, "a", trust.Undecided, `{  }`},
		"forget what is not there":     {`{"~/x": "DO_NOT_TRUST"}`, "a", trust.Undecided, `{"~/x": "DO_NOT_TRUST"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "a/b", "x")
			if tt.before != "" {
				p.write(t, tt.before)
			}
			require.NoError(t, p.store.Set(t.Context(), p.path(tt.dir), tt.state))
			require.Equal(t, tt.after, p.text(t))
			require.Equal(t, tt.state, p.decide(t, tt.dir))
			if runtime.GOOS != "windows" {
				info, err := os.Stat(p.file)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode())
			}
			require.NoFileExists(t, p.file+".tmp")
		})
	}
}

func TestSetPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	p := newPlace(t, "a")
	require.NoError(t, p.store.Set(t.Context(), p.path("a"), trust.Trusted))
	info, err := os.Stat(filepath.Dir(p.file))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	require.NoError(t, os.Chmod(p.file, 0o666)) //nolint:gosec // the test repairs it
	require.NoError(t, os.WriteFile(p.file+".tmp", []byte("left by a killed process"), 0o666))
	require.NoError(t, p.store.Set(t.Context(), p.path("a"), trust.Trusted))
	info, err = os.Stat(p.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoFileExists(t, p.file+".tmp")
}

// The recorded path is the real path, whatever link was used.
func TestSetRecordsRealPaths(t *testing.T) {
	p := newPlace(t, "real/project")
	t.Chdir(p.path("real"))
	require.NoError(t, p.store.Set(t.Context(), "project", trust.Trusted))
	require.Equal(t, "{\n  \"~/real/project\": \"TRUST_FOLDER\"\n}\n", p.text(t))
	state, _, err := p.store.Decide(t.Context(), "./project/sub")
	require.NoError(t, err)
	require.Equal(t, trust.Trusted, state)

	if err := os.Symlink(p.path("real"), p.path("link")); err != nil {
		t.Skip("no links here:", err)
	}
	require.NoError(t, p.store.Set(t.Context(), p.path("link/project"), trust.Untrusted))
	require.Equal(t, "{\n  \"~/real/project\": \"DO_NOT_TRUST\"\n}\n", p.text(t))

	p.write(t, `{"~/link/project": "TRUST_FOLDER"}`)
	require.NoError(t, p.store.Set(t.Context(), p.path("real/project"), trust.Untrusted))
	require.Equal(t, `{"~/link/project": "DO_NOT_TRUST"}`, p.text(t), "one entry for one directory")
}

// The file may be a link, for example into a directory of configuration files.
func TestSetThroughLink(t *testing.T) {
	p := newPlace(t, "a", "dotfiles", "home/.fettle")
	if err := os.Symlink(p.path("dotfiles/trust.json"), p.file); err != nil {
		t.Skip("no links here:", err)
	}
	err := p.store.Set(t.Context(), p.path("a"), trust.Trusted)
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err), "it leads nowhere")
	require.NoError(t, os.WriteFile(p.path("dotfiles/trust.json"), []byte("{}"), 0o600))
	require.NoError(t, p.store.Set(t.Context(), p.path("a"), trust.Trusted))
	require.Equal(t, trust.Trusted, p.decide(t, "a"))
	info, err := os.Lstat(p.file)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type(), "the link stays")
}

func TestSetRefuses(t *testing.T) {
	p := newPlace(t)
	require.NoError(t, os.WriteFile(p.path("file"), nil, 0o600))
	for name, tt := range map[string]struct {
		dir   string
		state trust.State
		want  fault.Code
	}{
		"missing directory": {p.path("nosuch"), trust.Trusted, fault.FileNotFound},
		"a file":            {p.path("file"), trust.Trusted, fault.PathIsNotADirectory},
		"a no on a file":    {p.path("file"), trust.Untrusted, fault.PathIsNotADirectory},
		"no directory":      {"", trust.Trusted, fault.InvalidConfig},
		"no such state":     {p.top, 3, fault.InvalidConfig},
		"not UTF-8":         {p.path("\xff"), trust.Untrusted, fault.InvalidConfig},
		"a file's contents": {p.path("file/x"), trust.Untrusted, fault.ReadContentFailure},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.store.Set(t.Context(), tt.dir, tt.state)
			require.Equal(t, tt.want, fault.CodeOf(err), "%v", err)
			require.NoFileExists(t, p.file)
		})
	}
}

func TestCancelled(t *testing.T) {
	p := newPlace(t, "a")
	p.write(t, `{"~/a": "DO_NOT_TRUST"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(p.store.Set(ctx, p.path("a"), trust.Trusted)))
	_, err := p.store.List(ctx)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.Equal(t, trust.Untrusted, p.decide(t, "a"))
}

// Concurrent changes of several processes, with several goroutines each, are all kept.
func TestSetFromManyProcesses(t *testing.T) {
	const variable = "FETTLE_TEST_TRUST"
	processes, dirs := 4, 6
	if os.Getenv("FETTLE_FULL") != "" {
		processes, dirs = 8, 40
	}
	if task := os.Getenv(variable); task != "" {
		file, number, _ := strings.Cut(task, "\n")
		n, err := strconv.Atoi(number)
		require.NoError(t, err)
		store := trust.Open(file)
		var group sync.WaitGroup
		for i := range dirs {
			group.Go(func() {
				dir := filepath.Join(filepath.Dir(file), fmt.Sprintf("p%d-%d", n, i))
				if err := store.Set(t.Context(), dir, trust.Untrusted); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		return
	}
	p := newPlace(t)
	p.write(t, "{\n  // stays\n  \"~\": \"TRUST_FOLDER\"\n}\n")
	var running []*exec.Cmd
	for n := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+p.file+"\n"+strconv.Itoa(n))
		cmd.Stderr, cmd.Stdout = os.Stderr, os.Stderr
		require.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	// A concurrent reader sees the file before or after a change.
	done := make(chan struct{})
	reads := make(chan int)
	go func() {
		n := 0
		defer func() { reads <- n }()
		for ; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if state, _, err := p.store.Decide(t.Context(), p.path("x")); state != trust.Trusted || err != nil {
				t.Errorf("%s, %v", state, err)
				return
			}
		}
	}()
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	require.Positive(t, <-reads)
	entries, err := p.store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, entries, 1+processes*dirs)
	require.Contains(t, p.text(t), "// stays")
}

package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/services/commit"
)

const heading = "## Fettle Added Memories"

// fixture is a Service over a temporary home directory.
type fixture struct {
	*memory.Service
	t    testing.TB
	home string
	path string // of the context file
}

func newFixture(t testing.TB, change ...func(*memory.Options)) *fixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return fixtureIn(t, home, change...)
}

func fixtureIn(t testing.TB, home string, change ...func(*memory.Options)) *fixture {
	t.Helper()
	o := memory.Options{
		Path: filepath.Join(home, ".fettle", "FETTLE.md"), Heading: heading, Committer: commit.New(commit.Options{RecoveryDir: filepath.Join(home, "recovery")}),
	}
	for _, f := range change {
		f(&o)
	}
	return &fixture{memory.New(o), t, home, o.Path}
}

// write writes the context file.
func (fx *fixture) write(content string) *fixture {
	fx.t.Helper()
	require.NoError(fx.t, os.MkdirAll(filepath.Dir(fx.path), 0o755))
	require.NoError(fx.t, os.WriteFile(fx.path, []byte(content), 0o600))
	return fx
}

func (fx *fixture) content() string {
	fx.t.Helper()
	data, err := os.ReadFile(fx.path)
	require.NoError(fx.t, err)
	return string(data)
}

// names lists the directory of the context file.
func (fx *fixture) names() (names []string) {
	fx.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(fx.path))
	require.NoError(fx.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (fx *fixture) save(fact string) memory.Change {
	fx.t.Helper()
	c, err := fx.Save(fx.t.Context(), fact)
	require.NoError(fx.t, err)
	return c
}

func (fx *fixture) refuse(want string) *fault.Error {
	fx.t.Helper()
	_, err := fx.Save(fx.t.Context(), "fact")
	require.Equal(fx.t, fault.MemoryToolExecution, fault.CodeOf(err), "%v", err)
	e := fault.As(err)
	require.Contains(fx.t, e.Message, want)
	require.True(fx.t, strings.HasPrefix(e.Message, "Saving the fact failed. "))
	require.NotEmpty(fx.t, e.Remedy)
	_, err = fx.Preview(fx.t.Context(), "fact")
	require.NotNil(fx.t, err, "a preview fails too")
	return e
}

// TO-13: two facts are both present, and other text is kept.
func TestSave(t *testing.T) {
	fx := newFixture(t).write("# Mine\n\n" + heading + "\n- old\n\n# More\nNo newline at the end")
	c := fx.save("one")
	require.Equal(t, fx.path, c.Path)
	require.True(t, c.Exists)
	require.False(t, c.Known())
	require.Equal(t, c.After, fx.content())
	fx.save("two")
	want := "# Mine\n\n" + heading + "\n- old\n- one\n- two\n\n# More\nNo newline at the end"
	require.Equal(t, want, fx.content())

	c = fx.save("one")
	require.True(t, c.Known())
	require.Equal(t, want, fx.content())
	require.Equal(t, []string{"FETTLE.md"}, fx.names())

	info, err := os.Stat(fx.path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "the mode is kept")
}

// Only Save creates a missing file and directory.
func TestSaveCreatesFiles(t *testing.T) {
	fx := newFixture(t)
	c, err := fx.Preview(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, memory.Change{Path: fx.path, After: heading + "\n- one\n"}, c)
	require.NoDirExists(t, filepath.Dir(fx.path))

	require.False(t, fx.save("one").Exists)
	require.Equal(t, heading+"\n- one\n", fx.content())
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Dir(fx.path))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	fx.save("two")
	require.Equal(t, heading+"\n- one\n- two\n", fx.content())
}

// TO-13: encoding, byte order mark and line endings are kept.
func TestSaveKeepsTheFormat(t *testing.T) {
	utf16le := func(text string) string {
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	}
	const german = "Gr\xfc\xdfe aus K\xf6ln,\nzwei Stra\xdfen weiter f\xfcr f\xfcnf Euro,\nsch\xf6ne Fu\xdfg\xe4ngerzone, \xc4pfel und \xd6l\n"
	for name, tt := range map[string]struct{ before, after string }{
		"CRLF":             {"a\r\nb\r\n", "a\r\nb\r\n\r\n" + heading + "\r\n- größer\r\n"},
		"no final newline": {"a", "a\n\n" + heading + "\n- größer\n"},
		"mark":             {"\xef\xbb\xbfa\n", "\xef\xbb\xbfa\n\n" + heading + "\n- größer\n"},
		"UTF-16":           {utf16le("ü\r\n"), utf16le("ü\r\n\r\n" + heading + "\r\n- größer\r\n")},
		"Latin-1":          {german, german + "\n" + heading + "\n- gr\xf6\xdfer\n"},
		"empty":            {"", heading + "\n- größer\n"},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t).write(tt.before)
			fx.save("größer")
			require.Equal(t, tt.after, fx.content())
			require.True(t, fx.save("größer").Known())
		})
	}
}

// A file that cannot be changed without loss is left unchanged.
func TestRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		content, message string
	}{
		"binary":          {"a\x00b", "not text"},
		"unknown bytes":   {"\x81\xfe\xff\n\x8d", "not text"},
		"too long":        {strings.Repeat("a line\n", 150_000), "1048576 bytes"},
		"broken mark":     {"\xef\xbb\xbfa\xff\n", "not text"},
		"a PDF's content": {"%PDF-1.4\n", "not text"},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t).write(tt.content)
			fx.refuse(tt.message)
			require.Equal(t, tt.content, fx.content())
			require.Equal(t, []string{"FETTLE.md"}, fx.names())
		})
	}
	t.Run("a character that the encoding lacks", func(t *testing.T) {
		const german = "Gr\xfc\xdfe aus K\xf6ln,\nzwei Stra\xdfen weiter f\xfcr f\xfcnf Euro,\nsch\xf6ne Fu\xdfg\xe4ngerzone, \xc4pfel und \xd6l\n"
		fx := newFixture(t).write(german)
		_, err := fx.Save(t.Context(), "日本")
		require.Equal(t, fault.MemoryToolExecution, fault.CodeOf(err))
		require.Contains(t, fault.As(err).Message, "日")
		require.Equal(t, german, fx.content())
	})
	t.Run("a directory", func(t *testing.T) {
		fx := newFixture(t)
		require.NoError(t, os.MkdirAll(fx.path, 0o755))
		fx.refuse("is a directory")
	})
	t.Run("a file in place of the directory", func(t *testing.T) {
		fx := newFixture(t)
		require.NoError(t, os.WriteFile(filepath.Dir(fx.path), nil, 0o600))
		fx.refuse("cannot be used")
	})
	t.Run("no home directory", func(t *testing.T) {
		newFixture(t, func(o *memory.Options) { o.Path = "" }).refuse("no home directory")
	})
}

// A full disk is reported as such, and no file is left.
func TestFullDisk(t *testing.T) {
	for _, step := range []commit.Step{commit.StepLocked, commit.StepTempLinked} {
		fx := newFixture(t, func(o *memory.Options) {
			o.Committer = commit.New(commit.Options{Hook: func(s commit.Step) error {
				if s == step {
					return fault.New(fault.NoSpaceLeft, "commit", "There is no space left.", "Free some space.")
				}
				return nil
			}})
		}).write("text\n")
		_, err := fx.Save(t.Context(), "fact")
		require.Equal(t, fault.MemoryToolExecution, fault.CodeOf(err))
		require.Equal(t, "Saving the fact failed. There is no space left.", fault.As(err).Message)
		require.Equal(t, "Free some space.", fault.As(err).Remedy)
		require.Equal(t, "text\n", fx.content())
		require.Equal(t, []string{"FETTLE.md"}, fx.names())
	}
}

// A context file that is a link stays a link.
func TestLinks(t *testing.T) {
	for name, link := range map[string]func(fx *fixture, kept string) error{
		"the file, absolute": func(fx *fixture, kept string) error { return os.Symlink(kept, fx.path) },
		"the file, relative": func(fx *fixture, _ string) error { return os.Symlink("../dotfiles/FETTLE.md", fx.path) },
		"twice": func(fx *fixture, kept string) error {
			if err := os.Symlink(kept, fx.path+"2"); err != nil {
				return err
			}
			return os.Symlink("FETTLE.md2", fx.path)
		},
		"the directory": func(fx *fixture, kept string) error {
			if err := os.Remove(filepath.Dir(fx.path)); err != nil {
				return err
			}
			return os.Symlink(filepath.Dir(kept), filepath.Dir(fx.path))
		},
		"relative from a linked directory": func(fx *fixture, _ string) error {
			deep := filepath.Join(fx.home, "deep", "below")
			if err := os.MkdirAll(deep, 0o755); err != nil {
				return err
			}
			if err := os.Symlink("../../dotfiles/FETTLE.md", filepath.Join(deep, "FETTLE.md")); err != nil {
				return err
			}
			if err := os.Remove(filepath.Dir(fx.path)); err != nil {
				return err
			}
			return os.Symlink(deep, filepath.Dir(fx.path))
		},
	} {
		for _, exists := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, exists %t", name, exists), func(t *testing.T) {
				fx := newFixture(t)
				require.NoError(t, os.Mkdir(filepath.Dir(fx.path), 0o755))
				kept := filepath.Join(fx.home, "dotfiles", "FETTLE.md")
				require.NoError(t, os.Mkdir(filepath.Dir(kept), 0o755))
				want := heading + "\n- one\n"
				if exists {
					require.NoError(t, os.WriteFile(kept, []byte("kept\n"), 0o644))
					want = "kept\n\n" + want
				}
				if err := link(fx, kept); err != nil {
					t.Skip("no symbolic links here: ", err)
				}
				require.Equal(t, fx.path, fx.save("one").Path, "the configured path")
				data, err := os.ReadFile(kept)
				require.NoError(t, err)
				require.Equal(t, want, string(data))
				info, err := os.Lstat(kept)
				require.NoError(t, err)
				require.True(t, info.Mode().IsRegular())
			})
		}
	}
	t.Run("a cycle", func(t *testing.T) {
		fx := newFixture(t)
		require.NoError(t, os.Mkdir(filepath.Dir(fx.path), 0o755))
		require.NoError(t, os.Symlink("FETTLE.md", fx.path))
		fx.refuse("cycle")
	})
}

// conflict is a committer with another writer before each of its first commits.
type conflict struct {
	memory.Committer
	times int
	save  func(n int) error
}

func (c *conflict) Commit(ctx context.Context, r commit.Request) (commit.Outcome, error) {
	if c.times > 0 {
		c.times--
		if err := c.save(c.times); err != nil {
			return commit.Outcome{}, err
		}
	}
	return c.Committer.Commit(ctx, r)
}

// TO-13: the change is computed again after another process has changed, created or removed the
// file.
func TestSaveWithConflicts(t *testing.T) {
	for name, tt := range map[string]struct {
		before, want string
		save         func(fx *fixture, n int) error
	}{
		"an editor": {"text\n", "text of 0\n\n" + heading + "\n- one\n", func(fx *fixture, n int) error {
			return os.WriteFile(fx.path, fmt.Appendf(nil, "text of %d\n", n), 0o600)
		}},
		"one who creates it": {"", "created\n\n" + heading + "\n- one\n", func(fx *fixture, _ int) error {
			return os.WriteFile(fx.path, []byte("created\n"), 0o600)
		}},
		"one who removes it": {"text\n", heading + "\n- one\n", func(fx *fixture, _ int) error { return os.RemoveAll(fx.path) }},
		"one who saves it": {"text\n", "text\n\n" + heading + "\n- one\n", func(fx *fixture, _ int) error {
			return os.WriteFile(fx.path, []byte("text\n\n"+heading+"\n- one\n"), 0o600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &conflict{times: 3}
			fx := newFixture(t, func(o *memory.Options) { c.Committer, o.Committer = o.Committer, c })
			if tt.before != "" {
				fx.write(tt.before)
			}
			c.save = func(n int) error { return tt.save(fx, n) }
			fx.save("one")
			require.Equal(t, tt.want, fx.content())
		})
	}
}

// After too many conflicts Save fails, and a cancelled call ends.
func TestSaveGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the pauses take no time
		c := &conflict{times: 1 << 30}
		fx := newFixture(t, func(o *memory.Options) { c.Committer, o.Committer = o.Committer, c }).write("text\n")
		c.save = func(n int) error { return os.WriteFile(fx.path, fmt.Appendf(nil, "text of %d\n", n), 0o600) }
		_, err := fx.Save(t.Context(), "one")
		require.Equal(t, fault.MemoryToolExecution, fault.CodeOf(err))
		require.Equal(t, fault.Changed, fault.As(err).Reason)
		require.Contains(t, fault.As(err).Remedy, "again in a moment")
		require.NotContains(t, fx.content(), "one")

		ctx, cancel := context.WithCancel(t.Context())
		c.save = func(n int) error {
			cancel()
			return os.WriteFile(fx.path, fmt.Appendf(nil, "text of %d\n", n), 0o600)
		}
		_, err = fx.Save(ctx, "one")
		require.Equal(t, fault.Cancelled, fault.CodeOf(err))
		_, err = fx.Save(ctx, "one")
		require.Equal(t, fault.Cancelled, fault.CodeOf(err))
		_, err = fx.Preview(ctx, "one")
		require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	})
}

// TO-13: concurrent saves, through one Service and through several, lose no fact.
func TestConcurrentSaves(t *testing.T) {
	const workers = 8
	facts := 6
	if os.Getenv("FETTLE_FULL") != "" {
		facts = 50
	}
	fx := newFixture(t).write("# Mine\n\n# More\n")
	shared := []*fixture{fx, fixtureIn(t, fx.home), fixtureIn(t, fx.home)}
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := range facts {
				if _, err := shared[w%len(shared)].Save(t.Context(), fmt.Sprintf("fact %d of %d", i, w)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	requireFacts(t, fx.content(), workers, facts)
	require.Equal(t, []string{"FETTLE.md"}, fx.names())
}

// requireFacts requires each fact once, and those of a worker in order.
func requireFacts(t testing.TB, content string, workers, facts int) {
	t.Helper()
	require.True(t, strings.HasPrefix(content, "# Mine\n\n# More\n\n"+heading+"\n- fact"), content)
	next := make([]int, workers)
	for line := range strings.Lines(content) {
		var i, w int
		if n, _ := fmt.Sscanf(line, "- fact %d of %d", &i, &w); n == 2 {
			require.Equal(t, next[w], i)
			next[w]++
		}
	}
	for w := range workers {
		require.Equal(t, facts, next[w], "of worker %d", w)
	}
}

// A fact is one line of plain text.
func TestFact(t *testing.T) {
	long := strings.Repeat("ü", memory.MaxFact/2)
	for text, want := range map[string]string{
		"I like tea.":             "I like tea.",
		"  - - I like\r\n tea.\n": "I like tea.",
		"a\nb\rc\td\u2028e":       "a b c d e",
		"-5 degrees":              "-5 degrees",
		"two  blanks":             "two  blanks",
		"# no heading":            "# no heading",
		long:                      long,
	} {
		got, err := memory.Fact(text)
		require.NoError(t, err, "%.40q", text)
		require.Equal(t, want, got)
		again, err := memory.Fact(got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for text, want := range map[string]string{
		"": "empty", " \n\t": "empty", "-": "empty", "- - -": "empty", "- \n- ": "empty",
		long + "x": "4097 bytes", "a\x00b": "control", "a\x1b[31mb": "control", "a\u202eb": "control", "a\u2066b": "control", "\x7f": "control",
	} {
		_, err := memory.Fact(text)
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), "%.40q", text)
		require.Contains(t, fault.As(err).Message, want)
	}
}

func TestHeadingOf(t *testing.T) {
	require.Equal(t, "## Fettle Added Memories", memory.HeadingOf("fettle"))
	require.Equal(t, "## Gemini Added Memories", memory.HeadingOf("gemini"))
	require.Equal(t, "##  Added Memories", memory.HeadingOf(""))
}

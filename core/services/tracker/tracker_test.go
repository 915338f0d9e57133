package tracker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FT-01
var _ interface {
	TrackRead(ctx context.Context, p workspace.Path) error
	HasBeenModifiedSinceRead(ctx context.Context, p workspace.Path) (bool, error)
	GetAgentsMdIfNew(ctx context.Context, p workspace.Path) (string, error)
	ClearSession()
} = (*tracker.FileTracker)(nil)

var editing = filestate.Verb{Ing: "editing", Infinitive: "edit", Participle: "edited"}

type fixture struct {
	*tracker.FileTracker

	t     *testing.T
	top   string
	files *workspace.Workspace
	state *filestate.Service
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w, err := workspace.Open(top)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return over(t, top, w)
}

// over returns a separate tracker and file state over the same files.
func over(t *testing.T, top string, w *workspace.Workspace) *fixture {
	later := time.Now().Add(time.Hour)
	state := filestate.New(filestate.Options{Files: w, Now: func() time.Time { return later }})
	return &fixture{tracker.New(tracker.Options{State: state, Instructions: instructions.New(w, instructions.Options{})}), t, top, w, state}
}

func (f *fixture) path(name string) workspace.Path {
	f.t.Helper()
	p, err := f.files.Resolve(name)
	require.NoError(f.t, err)
	return p
}

func (f *fixture) write(name, content string) workspace.Path {
	f.t.Helper()
	path := filepath.Join(f.top, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.WriteFile(path, []byte(content), 0o644))
	return f.path(name)
}

// read reads a file like the tool does.
func (f *fixture) read(name string) *filestate.Read {
	f.t.Helper()
	r, err := f.state.Read(f.t.Context(), filestate.ReadRequest{Path: f.path(name)})
	require.NoError(f.t, err)
	return r
}

func (f *fixture) track(name string) {
	f.t.Helper()
	require.NoError(f.t, f.TrackRead(f.t.Context(), f.path(name)))
}

func (f *fixture) requireModified(name string, want bool) {
	f.t.Helper()
	got, err := f.HasBeenModifiedSinceRead(f.t.Context(), f.path(name))
	require.NoError(f.t, err)
	require.Equal(f.t, want, got)
}

func (f *fixture) agents(name string) string {
	f.t.Helper()
	text, err := f.GetAgentsMdIfNew(f.t.Context(), f.path(name))
	require.NoError(f.t, err)
	return text
}

// FT-05, TE-09: a tracker without a tool
func TestTrackByItself(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	f.track("a")
	f.requireModified("a", false)
	f.write("a", "two")
	f.requireModified("a", true)
	f.track("a")
	f.requireModified("a", false)
	f.write("a", "one")
	f.requireModified("a", true)
}

// FT-03, FT-09 (state part): a read by a tool is tracked, each time.
func TestReadByAToolIsTracked(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	f.read("a")
	f.requireModified("a", false)
	f.write("a", "two")
	f.requireModified("a", true)
	f.read("a")
	f.requireModified("a", false)
}

// FT-04, KH-18: no second read
func TestWriteBetweenReadAndTrack(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		f.write("a", "one")
		f.read("a")
		f.write("a", "two")
		f.track("a")
		f.requireModified("a", true)
	}
	f.track("a") // without a read in between, so TrackRead reads the file
	f.requireModified("a", false)
}

// FT-11 (state part)
func TestOwnWriteIsTracked(t *testing.T) {
	f := newFixture(t)
	for _, content := range []string{"one", "two"} {
		p := f.write("a", content)
		info, err := f.files.Stat(p)
		require.NoError(t, err)
		f.state.Written(t.Context(), p, info, content, filestate.Sum([]byte(content)))
		f.track("a")
		f.requireModified("a", false)
	}
	f.write("a", "three")
	f.requireModified("a", true)
}

// FT-06, CR-17: an untracked file is not modified, which grants no permission.
func TestUntracked(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	f.requireModified("a", false)
	f.requireModified("missing", false)
	refusal := f.state.Decide(filestate.Check{Path: p, Verb: editing})
	require.Equal(t, fault.EditRequiresPriorRead, refusal.Code)
	f.track("a") // shows nothing either
	refusal = f.state.Decide(filestate.Check{Path: p, Verb: editing})
	require.Equal(t, fault.EditRequiresPriorRead, refusal.Code)
	require.Equal(t, fault.NeverRead, refusal.Reason)
}

// Tracking is not a read: it prepares no placeholder, uses no version, and does not permit an edit
// based on bytes that were never shown.
func TestTrackingIsNoRead(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	info, err := f.files.Stat(p)
	require.NoError(t, err)
	f.state.Written(t.Context(), p, info, "one", filestate.Sum([]byte("one")))
	f.track("a")
	f.track("a")
	require.Equal(t, int64(1), f.state.Versions.Current())
	require.NotNil(t, f.read("a").State, "RC-14")

	f.write("a", "two")
	f.track("a")
	f.track("a")
	refusal := f.state.Decide(filestate.Check{Path: p, Verb: editing})
	require.Equal(t, fault.FileChangedSinceRead, refusal.Code)

	f.write("pic.png", "\x89PNG\r\n\x1a\n\x00")
	f.read("pic.png")
	f.track("pic.png")
	f.requireModified("pic.png", false)
	refusal = f.state.Decide(filestate.Check{Path: f.path("pic.png"), Verb: editing})
	require.Equal(t, fault.NonText, refusal.Reason)
}

// FT-07
func TestTouchIsNoModification(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	f.track("a")
	require.NoError(t, os.Chtimes(p.String(), time.Unix(1, 0), time.Unix(1, 0)))
	f.requireModified("a", false)
	require.NoError(t, os.WriteFile(p.String()+".tmp", []byte("one"), 0o644))
	require.NoError(t, os.Rename(p.String()+".tmp", p.String()))
	f.requireModified("a", false)
}

// FT-08, KH-18
func TestDeletedCountsAsModified(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	f.read("a")
	require.NoError(t, os.Remove(p.String()))
	f.requireModified("a", true)
	refusal := f.state.Decide(filestate.Check{Path: p, Verb: editing})
	require.Equal(t, fault.Disappeared, refusal.Reason)
	require.Contains(t, refusal.Message, "deleted")

	f.write("b", "one")
	f.track("b")
	require.NoError(t, os.Remove(f.path("b").String()))
	require.NoError(t, os.Mkdir(f.path("b").String(), 0o755))
	f.requireModified("b", true)

	f.write("c", "one")
	f.track("c")
	require.NoError(t, os.Truncate(f.path("c").String(), 21<<20))
	f.requireModified("c", true)
}

// FT-05, RC-35: read errors are returned to the caller.
func TestTrackErrors(t *testing.T) {
	f := newFixture(t)
	require.Equal(t, fault.FileNotFound, fault.CodeOf(f.TrackRead(t.Context(), f.path("missing"))))
	f.write("a", "one")
	f.track("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.HasBeenModifiedSinceRead(ctx, f.path("a"))
	require.ErrorIs(t, err, context.Canceled)
	f.state.Cache.Invalidate(f.path("a").String())
	f.requireModified("a", false)
}

// FT-02: trackers are independent.
func TestTwoTrackers(t *testing.T) {
	a := newFixture(t)
	b := over(t, a.top, a.files)
	a.write("f", "one")
	a.write("AGENTS.md", "be kind")
	a.track("f")
	a.write("f", "two")
	a.requireModified("f", true)
	b.requireModified("f", false)
	require.NotEmpty(t, a.agents("f"))
	require.NotEmpty(t, b.agents("f"))
	a.ClearSession()
	require.Empty(t, b.agents("f"))
}

// FT-12, FT-13: loaded once per session, by any file; outermost first; labelled.
func TestInstructionsAreGivenOnce(t *testing.T) {
	f := newFixture(t)
	f.write("AGENTS.md", "root rules\n")
	f.write("src/agents.md", "src rules")
	f.write("src/deep/AGENTS.md", "deep rules\n\n")
	f.write("src/deep/none/x.go", "x")
	require.Equal(t, "--- Instructions from "+f.path("AGENTS.md").String()+" ---\nroot rules\n"+
		"--- Instructions from "+f.path("src/agents.md").String()+" ---\nsrc rules\n", f.agents("src/a.go"))
	require.Empty(t, f.agents("src/b.go"))
	require.Empty(t, f.agents("src/a.go"))
	require.Equal(t, "--- Instructions from "+f.path("src/deep/AGENTS.md").String()+" ---\ndeep rules\n", f.agents("src/deep/none/x.go"),
		"a deeper directory brings up only its own")

	var given []string
	for _, d := range f.LoadedByAccess() {
		given = append(given, strings.TrimPrefix(d.Path, f.top+"/"))
	}
	require.Equal(t, []string{"AGENTS.md", "src/agents.md", "src/deep/AGENTS.md"}, given)

	f.ClearSession()
	require.Empty(t, f.LoadedByAccess())
	require.Contains(t, f.agents("src/a.go"), "root rules", "and again after the session was cleared")
}

// FT-12: a tree without instruction files loads nothing.
func TestNoInstructions(t *testing.T) {
	f := newFixture(t)
	f.write("src/a.go", "x")
	require.Empty(t, f.agents("src/a.go"))
	none := tracker.New(tracker.Options{State: f.state})
	text, err := none.GetAgentsMdIfNew(t.Context(), f.path("src/a.go"))
	require.NoError(t, err)
	require.Empty(t, text)
	none.Accessed(t.Context(), f.path("src/a.go"))
	require.Empty(t, none.LoadedByAccess())
}

// FT-14, KH-21 (tracker part): the content of a file does not matter.
func TestAccessedGathers(t *testing.T) {
	f := newFixture(t)
	f.write("AGENTS.md", "Error: not one")
	f.write("a", "Error: neither")
	f.Accessed(t.Context(), f.path("a"))
	require.Len(t, f.LoadedByAccess(), 1)
	require.Equal(t, "Error: not one", f.LoadedByAccess()[0].Text)
	require.Empty(t, f.agents("a"), "given already")
	f.LoadedByAccess()[0].Text = "changed by the caller"
	require.Equal(t, "Error: not one", f.LoadedByAccess()[0].Text)
}

// FT-13, FT-17 (cache part): ClearSession forgets the reads too; compaction forgets only the reads.
func TestClearAndCompaction(t *testing.T) {
	f := newFixture(t)
	f.write("AGENTS.md", "rules")
	f.write("a", "one")
	f.read("a")
	f.Accessed(t.Context(), f.path("a"))
	f.write("a", "two")
	f.requireModified("a", true)
	f.state.Compacted()
	f.requireModified("a", false)
	require.Len(t, f.LoadedByAccess(), 1)
	require.Empty(t, f.agents("a"))

	f.read("a")
	f.ClearSession()
	f.write("a", "three")
	f.requireModified("a", false)
	require.NotEmpty(t, f.agents("a"))
}

type failing struct{}

func (failing) For(context.Context, workspace.Path, func(string) bool) ([]instructions.Document, error) {
	return nil, errors.New("no")
}

func TestFailingInstructions(t *testing.T) {
	f := newFixture(t)
	tr := tracker.New(tracker.Options{State: f.state, Instructions: failing{}})
	_, err := tr.GetAgentsMdIfNew(t.Context(), f.path("a"))
	require.EqualError(t, err, "no")
	tr.Accessed(t.Context(), f.path("a"))
	require.Empty(t, tr.LoadedByAccess())
}

package mutation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

var verb = filestate.Verb{Ing: "editing", Infinitive: "edit", Participle: "edited", Component: "TEST"}

// fixture is a Service over real files.
type fixture struct {
	*mutation.Service
	t     *testing.T
	dir   string
	files *workspace.Workspace
	state *filestate.Service
	log   bytes.Buffer
}

func newFixture(t *testing.T, change ...func(*mutation.Options)) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	files, err := workspace.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { files.Close() })
	fx := &fixture{t: t, dir: dir, files: files, state: filestate.New(filestate.Options{Files: files})}
	o := mutation.Options{
		Files: files, State: fx.state, Committer: commit.New(commit.Options{}),
		Logger: slog.New(slog.NewTextHandler(&fx.log, nil)),
	}
	for _, f := range change {
		f(&o)
	}
	fx.Service = mutation.New(o)
	return fx
}

func (fx *fixture) write(name, content string) workspace.Path {
	fx.t.Helper()
	p := fx.path(name)
	require.NoError(fx.t, os.WriteFile(p.String(), []byte(content), 0o644))
	return p
}

func (fx *fixture) path(name string) workspace.Path {
	fx.t.Helper()
	p, err := fx.files.Resolve(name)
	require.NoError(fx.t, err)
	return p
}

// known writes a file and reads it for the conversation.
func (fx *fixture) known(name, content string) workspace.Path {
	fx.t.Helper()
	p := fx.write(name, content)
	_, err := fx.state.Read(fx.t.Context(), filestate.ReadRequest{Path: p})
	require.NoError(fx.t, err)
	return p
}

func (fx *fixture) content(p workspace.Path) string {
	fx.t.Helper()
	data, err := os.ReadFile(p.String())
	require.NoError(fx.t, err)
	return string(data)
}

// upper requests the text in capitals, or "NEW" for a missing file.
func upper(p workspace.Path) mutation.Request {
	return mutation.Request{Path: p, Verb: verb, Compute: func(b mutation.Base) (mutation.Change, *fault.Error) {
		if !b.Exists {
			return mutation.Change{Text: "NEW"}, nil
		}
		return mutation.Change{Text: strings.ToUpper(b.Text)}, nil
	}}
}

func requireRefusal(t *testing.T, err *fault.Error, code fault.Code, reason fault.Reason) {
	t.Helper()
	require.NotNil(t, err)
	require.Equal(t, code, err.Code, "%s", err.Line())
	require.Equal(t, reason, err.Reason)
}

func TestPlanAndCommit(t *testing.T) {
	fx := newFixture(t)
	p := fx.known("a.txt", "text\n")
	plan := fx.Plan(t.Context(), upper(p))
	require.Nil(t, plan.Refused())
	require.Equal(t, "text\n", plan.Base().Text)
	require.Equal(t, filestate.Sum([]byte("text\n")), plan.Base().SHA256)
	require.Equal(t, "TEXT\n", plan.NewText())
	require.Equal(t, patch.Stat{AddedLines: 1, RemovedLines: 1, AddedChars: 4, RemovedChars: 4}, plan.Diff().Stat())
	require.Equal(t, "text\n", fx.content(p), "a plan writes nothing")

	out := fx.Commit(t.Context(), plan)
	require.Nil(t, out.Err)
	require.Equal(t, "TEXT\n", fx.content(p))
	require.Equal(t, "TEXT\n", *out.State.Content)
	require.Equal(t, filestate.Sum([]byte("TEXT\n")), *out.State.SHA256)
	require.Equal(t, int64(2), *out.State.Version)
	require.Empty(t, out.KeptFiles)

	// A plan can be committed once.
	require.NoError(t, os.WriteFile(p.String(), []byte("text\n"), 0o644))
	out = fx.Commit(t.Context(), plan)
	requireRefusal(t, out.Err, fault.ExecutionFailed, "")
	require.Equal(t, filestate.Withheld(p.String()), out.State)
	require.Equal(t, "text\n", fx.content(p))
}

func TestCreation(t *testing.T) {
	fx := newFixture(t)
	p := fx.path("new/tree/a.txt")
	plan := fx.Plan(t.Context(), upper(p))
	require.Nil(t, plan.Refused())
	require.False(t, plan.Base().Exists)
	require.Equal(t, filestate.EmptySHA256, plan.Base().SHA256)
	require.NoDirExists(t, filepath.Join(fx.dir, "new"), "PR-19: the plan makes nothing")
	out := fx.Commit(t.Context(), plan)
	require.Nil(t, out.Err)
	require.Equal(t, "NEW", fx.content(p))
}

// Compute runs at most once, after the proof, and never for a refused request.
func TestComputeComesAfterProof(t *testing.T) {
	fx := newFixture(t)
	fx.write("unread.txt", "secret")
	fx.known("read.txt", "text")
	for name, want := range map[string]int{"unread.txt": 0, "read.txt": 1} {
		calls := 0
		r := upper(fx.path(name))
		compute := r.Compute
		r.Compute = func(b mutation.Base) (mutation.Change, *fault.Error) {
			calls++
			return compute(b)
		}
		fx.Commit(t.Context(), fx.Plan(t.Context(), r))
		require.Equal(t, want, calls, name)
	}
	require.Equal(t, "secret", fx.content(fx.path("unread.txt")))
}

// FS-43, KH-12: a refused plan stays refused with the same result, even if the file matches again.
func TestRefusedPlanStaysRefused(t *testing.T) {
	fx := newFixture(t)
	p := fx.known("a.txt", "text")
	fx.write("a.txt", "other")
	plan := fx.Plan(t.Context(), upper(p))
	requireRefusal(t, plan.Refused(), fault.FileChangedSinceRead, fault.Changed)
	fx.write("a.txt", "text")
	first := fx.Commit(t.Context(), plan)
	require.Same(t, plan.Refused(), first.Err)
	require.Equal(t, first, fx.Commit(t.Context(), plan))
	require.Equal(t, "other", *first.State.Content, "the state at the refusal")
	require.Equal(t, "text", fx.content(p))
}

// An error of Compute refuses the change, with the state that the conversation may see.
func TestComputeRefuses(t *testing.T) {
	fx := newFixture(t)
	no := fault.New(fault.EditNoChange, "test", "No.", "Do something else.")
	refuse := func(mutation.Base) (mutation.Change, *fault.Error) { return mutation.Change{}, no }
	p := fx.known("a.txt", "text")
	plan := fx.Plan(t.Context(), mutation.Request{Path: p, Verb: verb, Compute: refuse})
	require.Same(t, no, plan.Refused())
	require.Equal(t, "text", *fx.Commit(t.Context(), plan).State.Content)
	plan = fx.Plan(t.Context(), mutation.Request{Path: fx.path("absent"), Verb: verb, Compute: refuse})
	require.Equal(t, filestate.Withheld(fx.path("absent").String()), fx.Commit(t.Context(), plan).State)
}

// A read-only target is refused at the plan, before an approver is asked, and at the commit if a
// new link leads to it.
func TestReadOnly(t *testing.T) {
	fx := newFixture(t)
	skill := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("text"), 0o600))
	require.NoError(t, fx.files.AddReadOnly(skill))
	require.NoError(t, os.Symlink(skill, filepath.Join(fx.files.Target(), "link")))
	for _, name := range []string{filepath.Join(skill, "SKILL.md"), filepath.Join(skill, "new"), "link/SKILL.md", "link/new/new"} {
		plan := fx.Plan(t.Context(), upper(fx.path(name)))
		requireRefusal(t, plan.Refused(), fault.PermissionDenied, "")
		requireRefusal(t, fx.Commit(t.Context(), plan).Err, fault.PermissionDenied, "")
	}
	require.NoError(t, os.Mkdir(filepath.Join(fx.files.Target(), "late"), 0o755))
	plan := fx.Plan(t.Context(), upper(fx.path("late/new")))
	require.Nil(t, plan.Refused())
	require.NoError(t, os.Remove(filepath.Join(fx.files.Target(), "late")))
	require.NoError(t, os.Symlink(skill, filepath.Join(fx.files.Target(), "late")))
	requireRefusal(t, fx.Commit(t.Context(), plan).Err, fault.PermissionDenied, "")
	entries, err := os.ReadDir(skill)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// A file does not grow beyond the limit for reading it.
func TestResultTooLarge(t *testing.T) {
	files := newFixture(t).files
	state := filestate.New(filestate.Options{Files: files, Limits: filestate.Limits{FileBytes: 10}})
	s := mutation.New(mutation.Options{Files: files, State: state, Committer: commit.New(commit.Options{})})
	p, err := files.Resolve("a.txt")
	require.NoError(t, err)
	r := upper(p)
	r.Compute = func(mutation.Base) (mutation.Change, *fault.Error) {
		return mutation.Change{Text: strings.Repeat("x", 11)}, nil
	}
	requireRefusal(t, s.Plan(t.Context(), r).Refused(), fault.FileTooLarge, "")
	require.NoFileExists(t, p.String())
}

// committer is a Committer with a fixed result.
type committer struct {
	out commit.Outcome
	err error
	got commit.Request
}

func (c *committer) Commit(_ context.Context, r commit.Request) (commit.Outcome, error) {
	c.got = r
	return c.out, c.err
}

// RC-32: a failed stat after the write does not fail the write, and leaves no stale entry.
func TestStatFailedAfterTheWrite(t *testing.T) {
	fake := new(committer)
	fx := newFixture(t, func(o *mutation.Options) { o.Committer = fake })
	p := fx.known("a.txt", "text")
	out := fx.Commit(t.Context(), fx.Plan(t.Context(), upper(p)))
	require.Nil(t, out.Err)
	require.Equal(t, "TEXT", *out.State.Content)
	_, known := fx.state.Cache.ByPath(p.String())
	require.False(t, known)
	require.Equal(t, "a.txt", fake.got.Name)
	require.Equal(t, []byte("TEXT"), fake.got.Data)
	require.Equal(t, filestate.Sum([]byte("text")), fake.got.Base)
	require.EqualValues(t, len("text"), fake.got.BaseSize)
}

// FS-60: bytes of other programs that commit preserved are reported with a success and with a
// failure.
func TestKeptFilesAreReported(t *testing.T) {
	for name, err := range map[string]error{
		"success": nil,
		"failure": fault.New(fault.FileChangedSinceRead, "commit", "Changed.", "Read.").Because(fault.Changed),
	} {
		t.Run(name, func(t *testing.T) {
			fake := &committer{commit.Outcome{KeptFiles: []string{"/kept"}}, err, commit.Request{}}
			fx := newFixture(t, func(o *mutation.Options) { o.Committer = fake })
			out := fx.Commit(t.Context(), fx.Plan(t.Context(), upper(fx.known("a.txt", "text"))))
			require.Equal(t, err == nil, out.Err == nil)
			require.Equal(t, []string{"/kept"}, out.KeptFiles)
			require.Contains(t, fx.log.String(), "component=TEST")
			require.Contains(t, fx.log.String(), fx.path("a.txt").String())
		})
	}
}

// Mapping of commit errors: a changed file gets the message of the state decision, other errors
// keep theirs, and the refusal shows the current state (FS-29).
func TestCommitErrors(t *testing.T) {
	because := func(code fault.Code, reason fault.Reason) error {
		return fault.New(code, "commit", "Commit says so.", "Commit's remedy.").Because(reason)
	}
	for name, tt := range map[string]struct {
		err     error
		proof   bool
		code    fault.Code
		reason  fault.Reason
		message string
		shown   bool
	}{
		"changed, no proof":   {because(fault.FileChangedSinceRead, fault.Changed), false, fault.FileChangedSinceRead, fault.Changed, "was modified since it was last read", true},
		"changed, with proof": {because(fault.FileChangedSinceRead, fault.Changed), true, fault.FileChangedSinceRead, fault.Changed, filestate.StateMismatch, true},
		"disappeared":         {because(fault.FileChangedSinceRead, fault.Disappeared), false, fault.FileChangedSinceRead, fault.Disappeared, "disappeared", false},
		"open elsewhere":      {because(fault.FileChangedSinceRead, fault.OpenElsewhere), true, fault.FileChangedSinceRead, fault.OpenElsewhere, "Commit says so.", true},
		"no space":            {because(fault.NoSpaceLeft, ""), false, fault.NoSpaceLeft, "", "Commit says so.", true},
		"cancelled":           {because(fault.Cancelled, ""), false, fault.Cancelled, "", "Commit says so.", false},
		"without a class":     {errors.New("odd"), false, fault.ExecutionFailed, "", "odd", true},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, func(o *mutation.Options) { o.Committer = &committer{err: tt.err} })
			r := upper(fx.known("a.txt", "text"))
			if tt.proof {
				r.Proof = filestate.Sum([]byte("text"))
			}
			out := fx.Commit(t.Context(), fx.Plan(t.Context(), r))
			requireRefusal(t, out.Err, tt.code, tt.reason)
			require.Contains(t, out.Err.Message, tt.message)
			require.Equal(t, tt.shown, out.State.Shown())
		})
	}
}

// FS-65, PR-19: directories created for a failed write are removed, unless another process has used
// them.
func TestDirectoriesOfAFailedWrite(t *testing.T) {
	fake := &committer{err: fault.New(fault.NoSpaceLeft, "commit", "Full.", "Free some.")}
	fx := newFixture(t, func(o *mutation.Options) { o.Committer = fake })
	requireRefusal(t, fx.Commit(t.Context(), fx.Plan(t.Context(), upper(fx.path("a/b/c.txt")))).Err, fault.NoSpaceLeft, "")
	require.NoDirExists(t, filepath.Join(fx.dir, "a"))
}

// TE-08, PR-16, PR-18: the windows occur in order, each once, and none after a refusal.
func TestWindows(t *testing.T) {
	var seen []mutation.Window
	var act func(mutation.Window)
	fx := newFixture(t, func(o *mutation.Options) {
		o.Hook = func(w mutation.Window, _ workspace.Path) {
			seen = append(seen, w)
			if act != nil {
				act(w)
			}
		}
	})
	all := []mutation.Window{mutation.WindowDecided, mutation.WindowPlanned, mutation.WindowCommit, mutation.WindowRechecked}
	for _, w := range all {
		require.NotContains(t, []string{"stat-read", "reading"}, string(w), "distinct in a log")
	}
	p := fx.known("a.txt", "text")
	require.Nil(t, fx.Commit(t.Context(), fx.Plan(t.Context(), upper(p))).Err)
	require.Equal(t, all, seen)
	for _, at := range all {
		t.Run(string(at), func(t *testing.T) {
			p := fx.known("a.txt", "text")
			seen = nil
			act = func(w mutation.Window) {
				if w == at {
					fx.write("a.txt", "theirs")
				}
			}
			defer func() { act = nil }()
			plan := fx.Plan(t.Context(), upper(p))
			out := fx.Commit(t.Context(), plan)
			requireRefusal(t, out.Err, fault.FileChangedSinceRead, fault.Changed)
			require.Equal(t, "theirs", fx.content(p))
			if at == mutation.WindowDecided {
				require.Equal(t, all[:1], seen)
			} else { // a stat does not detect it, but the commit does by hashing
				require.Equal(t, all, seen)
			}
		})
	}
}

// AR-29: an ended context ends a plan and a commit with code cancelled, and nothing is written.
func TestCancelled(t *testing.T) {
	fx := newFixture(t)
	p := fx.known("a.txt", "text")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	plan := fx.Plan(ended, upper(p))
	requireRefusal(t, plan.Refused(), fault.Cancelled, "")
	plan = fx.Plan(t.Context(), upper(p))
	out := fx.Commit(ended, plan)
	requireRefusal(t, out.Err, fault.Cancelled, "")
	require.Equal(t, filestate.Withheld(p.String()), out.State)
	require.Equal(t, "text", fx.content(p))
}

// NeedsProof requires a matching proof; a complete read is not sufficient (FS-52).
func TestNeedsProof(t *testing.T) {
	fx := newFixture(t)
	p := fx.known("a.txt", "text")
	r := upper(p)
	r.NeedsProof = true
	plan := fx.Plan(t.Context(), r)
	requireRefusal(t, plan.Refused(), fault.BaseHashRequired, "")
	require.Equal(t, "text", *fx.Commit(t.Context(), plan).State.Content)
	r.Proof = filestate.Sum([]byte("text"))
	require.Nil(t, fx.Commit(t.Context(), fx.Plan(t.Context(), r)).Err)
	// A missing file needs no proof.
	r = upper(fx.path("new.txt"))
	r.NeedsProof = true
	require.Nil(t, fx.Commit(t.Context(), fx.Plan(t.Context(), r)).Err)
}

// FS-17, FS-19, FS-47: binary content and content that would not survive decoding are no base, even
// with a matching proof.
func TestNonTextBases(t *testing.T) {
	for name, content := range map[string]string{
		"binary": "\x00\x01", "lossy": "a \xff\xc3 \x81\n", "large SVG": "<svg xmlns=\"http://www.w3.org/2000/svg\">" + strings.Repeat("x", 1<<20) + "</svg>",
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			file := "a.txt"
			if name == "large SVG" {
				file = "a.svg"
			}
			p := fx.write(file, content)
			r := upper(p)
			r.Proof = filestate.Sum([]byte(content))
			plan := fx.Plan(t.Context(), r)
			requireRefusal(t, plan.Refused(), fault.EditRequiresPriorRead, fault.NonText)
			require.Equal(t, filestate.Withheld(p.String()), fx.Commit(t.Context(), plan).State)
		})
	}
}

// A change of the path between check and commit is refused with a code, and not followed.
func TestPathChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		window mutation.Window
		target string
		act    func(t *testing.T, fx *fixture)
		code   fault.Code
	}{
		"deleted before it was read": {mutation.WindowDecided, "dir/a.txt", func(t *testing.T, fx *fixture) {
			require.NoError(t, os.Remove(filepath.Join(fx.dir, "dir/a.txt")))
		}, fault.FileChangedSinceRead},
		"directory becomes a file": {mutation.WindowRechecked, "new/a.txt", func(_ *testing.T, fx *fixture) { fx.write("new", "") }, fault.PathIsNotADirectory},
		"directory becomes a link to the outside": {mutation.WindowRechecked, "dir/a.txt", func(t *testing.T, fx *fixture) {
			require.NoError(t, os.Rename(filepath.Join(fx.dir, "dir"), filepath.Join(fx.dir, "moved")))
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(fx.dir, "dir")))
		}, fault.PathNotInWorkspace},
	} {
		t.Run(name, func(t *testing.T) {
			var fx *fixture
			fx = newFixture(t, func(o *mutation.Options) {
				o.Hook = func(w mutation.Window, _ workspace.Path) {
					if w == tt.window {
						tt.act(t, fx)
					}
				}
			})
			require.NoError(t, os.Mkdir(filepath.Join(fx.dir, "dir"), 0o755))
			fx.known("dir/a.txt", "text")
			out := fx.Commit(t.Context(), fx.Plan(t.Context(), upper(fx.path(tt.target))))
			require.NotNil(t, out.Err)
			require.Equal(t, tt.code, out.Err.Code)
			require.NotEmpty(t, out.Err.Remedy)
			require.False(t, out.State.Shown())
		})
	}
}

// FS-62: a file created at the last moment is reported as unread.
func TestFileCreatedAtTheLastMoment(t *testing.T) {
	fx := newFixture(t, func(o *mutation.Options) {
		o.Committer = &committer{err: fault.New(fault.EditRequiresPriorRead, "commit", "Taken.", "Read.").Because(fault.NeverRead)}
	})
	out := fx.Commit(t.Context(), fx.Plan(t.Context(), upper(fx.path("new.txt"))))
	requireRefusal(t, out.Err, fault.EditRequiresPriorRead, fault.NeverRead)
	require.Contains(t, out.Err.Message, "did not exist when this change was planned")
	require.False(t, out.State.Shown())
}

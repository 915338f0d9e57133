package checkpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// project is a directory with a store next to it, and a session.
type project struct {
	t     *testing.T
	dir   string
	store *checkpoint.Store
	files *workspace.Workspace
	r     *checkpoint.Recorder
	notes []string // of the last call
}

func newProject(t *testing.T, o checkpoint.Options) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "checkpoints")
	}
	files, err := workspace.Open(dir)
	require.NoError(t, err)
	p := &project{t: t, dir: dir, store: checkpoint.New(o), files: files}
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	p.r = p.session("one")
	return p
}

// session begins a new session, or continues one.
func (p *project) session(id string) *checkpoint.Recorder {
	finder := discovery.New(p.files)
	r := p.store.Record(checkpoint.RecorderOptions{Session: id, Files: p.files, Finder: func() *discovery.Finder { return finder }})
	p.t.Cleanup(func() { require.NoError(p.t, r.Close()) })
	return r
}

func (p *project) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *project) write(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(text), 0o644))
}

func (p *project) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	require.NoError(p.t, err)
	return string(data)
}

// edit is a call of a file tool.
func (p *project) edit(name, text string) {
	p.t.Helper()
	p.call(checkpoint.Call{ID: "edit-" + name, Tool: "write_file", Paths: []string{p.path(name)}}, func() { p.write(name, text) })
}

// shell is a call that may change any file.
func (p *project) shell(do func()) {
	p.t.Helper()
	p.call(checkpoint.Call{Tool: "run_shell_command"}, do)
}

func (p *project) call(c checkpoint.Call, do func()) {
	p.t.Helper()
	taken, err := p.r.Begin(p.t.Context(), c)
	require.NoError(p.t, err)
	do()
	p.notes = taken.End(p.t.Context())
}

func (p *project) plan(w checkpoint.Selection) *checkpoint.Plan {
	p.t.Helper()
	plan, err := p.store.Plan(p.t.Context(), p.files, w)
	require.NoError(p.t, err)
	return plan
}

func what(text string) checkpoint.Selection {
	w, err := checkpoint.ParseSelection(text)
	if err != nil {
		panic(err)
	}
	return w
}

// undo plans and restores, which must succeed.
func (p *project) undo(text string) *checkpoint.Report {
	p.t.Helper()
	report, err := p.r.Restore(p.t.Context(), committer(), p.plan(what(text)))
	require.NoError(p.t, err)
	return report
}

// refused plans a restore, which must be refused for this reason and change nothing.
func (p *project) refused(text string, reason fault.Reason, names string) {
	p.t.Helper()
	before := p.tree()
	plan := p.plan(what(text))
	_, err := p.r.Restore(p.t.Context(), committer(), plan)
	require.Equal(p.t, fault.RestoreRefused, fault.CodeOf(err), "%v", err)
	require.Equal(p.t, reason, fault.As(err).Reason)
	require.Contains(p.t, fault.As(err).Message, names)
	require.Equal(p.t, before, p.tree())
}

func committer() *commit.Committer { return commit.New(commit.Options{}) }

// tree returns all files in the project.
func (p *project) tree() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	require.NoError(p.t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			all[rel] = "folder"
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[rel] = "-> " + target
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			all[rel] = info.Mode().String() + " " + string(data)
			return err
		default:
			all[rel] = "special"
		}
		return nil
	}))
	return all
}

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

package filestate

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// disk is a real workspace that counts its calls and can fail.
type disk struct {
	*workspace.Workspace

	mu           sync.Mutex
	stats, opens int
	statErr      error
	statAs       func(workspace.Info) workspace.Info // changes the result of stat; nil: unchanged
}

func (d *disk) Stat(p workspace.Path) (workspace.Info, error) {
	d.mu.Lock()
	d.stats++
	err := d.statErr
	d.mu.Unlock()
	if err != nil {
		return workspace.Info{}, err
	}
	info, err := d.Workspace.Stat(p)
	if err == nil && d.statAs != nil {
		info = d.statAs(info)
	}
	return info, err
}

func (d *disk) OpenRead(p workspace.Path) (*os.File, error) {
	d.mu.Lock()
	d.opens++
	d.mu.Unlock()
	return d.Workspace.OpenRead(p)
}

// fixture is one conversation over a temporary directory.
type fixture struct {
	*Service

	t    testing.TB
	top  string
	disk *disk
	log  bytes.Buffer
	// clock is the time of the Service. It starts an hour ahead, so that new files are not racily
	// clean.
	clock  time.Time
	hidden bool                                // the kill switch
	turn   int64                               // of the kill switch
	hook   func(w string, path workspace.Path) // nil: none
}

func newFixture(t testing.TB, adjust ...func(*Options)) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w, err := workspace.Open(top)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	f := &fixture{t: t, top: top, disk: &disk{Workspace: w}, clock: time.Now().Add(time.Hour)}
	o := Options{
		Files:      f.disk,
		Now:        func() time.Time { return f.clock },
		Logger:     slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		KillSwitch: func() (bool, int64) { return f.hidden, f.turn },
		Hook: func(w string, p workspace.Path) {
			if f.hook != nil {
				f.hook(w, p)
			}
		},
	}
	for _, a := range adjust {
		a(&o)
	}
	f.Service = New(o)
	return f
}

// sibling returns another conversation over the same files, such as a subagent's.
func (f *fixture) sibling() *fixture {
	s := &fixture{t: f.t, top: f.top, disk: &disk{Workspace: f.disk.Workspace}, clock: f.clock}
	s.Service = New(Options{Files: s.disk, Now: func() time.Time { return s.clock }})
	return s
}

func (f *fixture) name(name string) string { return filepath.Join(f.top, name) }

func (f *fixture) path(name string) workspace.Path {
	f.t.Helper()
	p, err := f.disk.Resolve(name)
	require.NoError(f.t, err)
	return p
}

// write rewrites a file in place.
func (f *fixture) write(name, content string) workspace.Path {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(f.name(name), []byte(content), 0o644))
	return f.path(name)
}

// replace renames a new file over an existing one, as editors do, and keeps the old one open so
// that its inode number is not reused.
func (f *fixture) replace(name, content string) {
	f.t.Helper()
	f.holdInode(name)
	require.NoError(f.t, os.WriteFile(f.name(name+".tmp"), []byte(content), 0o644))
	require.NoError(f.t, os.Rename(f.name(name+".tmp"), f.name(name)))
}

// holdInode keeps the file open until the test ends.
func (f *fixture) holdInode(name string) {
	f.t.Helper()
	held, err := os.Open(f.name(name))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { held.Close() })
}

func (f *fixture) info(name string) workspace.Info {
	f.t.Helper()
	info, err := f.disk.Workspace.Stat(f.path(name))
	require.NoError(f.t, err)
	return info
}

func (f *fixture) entry(name string) Entry {
	f.t.Helper()
	e, ok := f.Cache.lookup(f.name(name), f.info(name))
	require.True(f.t, ok, "nothing is known of %s", name)
	return e
}

// full reads as read_file does without offset and limit.
func (f *fixture) full(name string) *Read {
	f.t.Helper()
	r, err := f.Read(f.t.Context(), ReadRequest{Path: f.path(name)})
	require.NoError(f.t, err)
	return r
}

// shown is full for a read that must show content.
func (f *fixture) shown(name string) *State {
	f.t.Helper()
	r := f.full(name)
	require.NotNil(f.t, r.State, "%s was not shown: %+v", name, r)
	return r.State
}

// ranged reads as read_file does with offset and limit; limit 0 is none.
func (f *fixture) ranged(name string, offset, limit int) *State {
	f.t.Helper()
	r, err := f.Read(f.t.Context(), ReadRequest{Path: f.path(name), Offset: offset, Limit: limit, Ranged: true})
	require.NoError(f.t, err)
	require.NotNil(f.t, r.State)
	return r.State
}

// wrote records a write of the conversation, made in place.
func (f *fixture) wrote(name, content string) State {
	f.t.Helper()
	p := f.write(name, content)
	return f.Written(f.t.Context(), p, f.info(name), content, Sum([]byte(content)))
}

func (f *fixture) snap(name string) *Snapshot {
	f.t.Helper()
	s, err := f.Snapshot(f.t.Context(), f.path(name))
	require.NoError(f.t, err)
	return s
}

var editing = Verb{"editing", "edit", "edited", "EDIT_PRIOR_READ"}

// edit decides as for the edit tool: by stat, then, if that succeeds, with the bytes.
func (f *fixture) edit(name string) *fault.Error {
	f.t.Helper()
	c := Check{Path: f.path(name), Verb: editing}
	if refusal := f.Decide(c); refusal != nil {
		return refusal
	}
	if _, err := f.disk.Workspace.Stat(c.Path); err != nil {
		return nil // a new file
	}
	c.Current = f.snap(name)
	return f.Decide(c)
}

func (f *fixture) requireRefusal(got *fault.Error, code fault.Code, reason fault.Reason) {
	f.t.Helper()
	require.NotNil(f.t, got, "not refused")
	require.Equal(f.t, code, got.Code, "%v", got)
	require.Equal(f.t, reason, got.Reason, "%v", got)
	require.NotEmpty(f.t, got.Message)
	require.NotEmpty(f.t, got.Remedy)
}

// onLinux skips a test that needs file times that this package trusts only on Linux.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("file times are not trusted on this platform: every placeholder is settled by hash")
	}
}

func unixNano(ns int64) time.Time { return time.Unix(0, ns) }

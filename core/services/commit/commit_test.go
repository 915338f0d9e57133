package commit

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

const (
	oldText = "first version\nsecond line\n"
	newText = "second version\nsecond line\nthird line\n"
	extText = "somebody else's bytes\n"
)

// fixture is a directory with a target in it.
type fixture struct {
	t    testing.TB
	path string // of the directory
	dir  *os.File
	file string // path of the target
}

func newFixture(t testing.TB, content string) *fixture {
	t.Helper()
	return fixtureIn(t, t.TempDir(), content)
}

func fixtureIn(t testing.TB, directory, content string) *fixture {
	t.Helper()
	dir, err := os.Open(directory)
	require.NoError(t, err)
	t.Cleanup(func() { dir.Close() })
	fx := &fixture{t: t, path: directory, dir: dir, file: filepath.Join(directory, "target.txt")}
	if content != "" {
		require.NoError(t, os.WriteFile(fx.file, []byte(content), 0o644))
	}
	return fx
}

// request returns a request that changes the target from base ("": missing) to data.
func (fx *fixture) request(base, data string) Request {
	r := Request{Dir: fx.dir, Name: filepath.Base(fx.file), Path: fx.file, Data: []byte(data)}
	if base != "" {
		r.Base, r.BaseSize, r.BaseData = sumOf([]byte(base)), int64(len(base)), []byte(base)
	}
	return r
}

func (fx *fixture) content() string {
	fx.t.Helper()
	data, err := os.ReadFile(fx.file)
	require.NoError(fx.t, err)
	return string(data)
}

// names lists the directory, sorted.
func (fx *fixture) names() []string {
	fx.t.Helper()
	entries, err := os.ReadDir(fx.path)
	require.NoError(fx.t, err)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func requireCode(t testing.TB, err error, code fault.Code, reason fault.Reason) {
	t.Helper()
	require.Error(t, err)
	e := fault.As(err)
	require.NotNil(t, e, "not a fault.Error: %v", err)
	require.Equal(t, code, e.Code, "%v", err)
	require.Equal(t, reason, e.Reason, "%v", err)
	require.NotEmpty(t, e.Message)
}

// at returns a hook that acts at one step.
func at(step Step, act func() error) func(Step) error {
	return func(s Step) error {
		if s != step {
			return nil
		}
		return act()
	}
}

func TestReplace(t *testing.T) { // FS-58, FS-59
	fx := newFixture(t, oldText)
	require.NoError(t, os.Chmod(fx.file, 0o640))
	var steps []Step
	c := New(Options{Hook: func(s Step) error { steps = append(steps, s); return nil }})
	out, err := c.Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Equal(t, newText, fx.content())
	require.Equal(t, []string{"target.txt"}, fx.names())
	require.Empty(t, out.KeptFiles)
	require.Equal(t, MethodExchange, out.Method)
	require.Equal(t, []Step{StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked, StepExchanged, StepVerified, StepSynced, StepUnlinked}, steps)

	f, err := os.Open(fx.file)
	require.NoError(t, err)
	defer f.Close()
	info, err := workspace.InfoOf(f)
	require.NoError(t, err)
	require.Equal(t, info, out.Info, "the outcome describes the file as it is found afterwards")
	require.Equal(t, os.FileMode(0o640), info.Mode)
}

func TestRefusals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names cannot be exchanged there; the other ways have tests of their own")
	}
	tests := map[string]struct {
		prepare func(fx *fixture)
		base    string
		code    fault.Code
		reason  fault.Reason
	}{
		"other content":        {func(fx *fixture) {}, "another base", fault.FileChangedSinceRead, fault.Changed},
		"absent":               {func(fx *fixture) { os.Remove(fx.file) }, oldText, fault.FileChangedSinceRead, fault.Disappeared},
		"new but present":      {func(fx *fixture) {}, "", fault.EditRequiresPriorRead, fault.NeverRead}, // FS-62
		"link":                 {func(fx *fixture) { os.Rename(fx.file, fx.file+"2"); os.Symlink("target.txt2", fx.file) }, oldText, fault.NotARegularFile, ""},
		"new but dangling":     {func(fx *fixture) { os.Remove(fx.file); os.Symlink("nowhere", fx.file) }, "", fault.NotARegularFile, ""},
		"folder":               {func(fx *fixture) { os.Remove(fx.file); os.Mkdir(fx.file, 0o755) }, oldText, fault.NotARegularFile, ""},
		"hard links, no place": {func(fx *fixture) { os.Link(fx.file, fx.file+"2") }, oldText, fault.FileWriteFailure, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			tt.prepare(fx)
			before := fx.names()
			out, err := New(Options{}).Commit(t.Context(), fx.request(tt.base, newText))
			requireCode(t, err, tt.code, tt.reason)
			require.NotEmpty(t, fault.As(err).Remedy)
			require.Equal(t, before, fx.names())
			require.Empty(t, out.Method)
			if slices.Contains(before, "target.txt2") {
				data, err := os.ReadFile(fx.file + "2")
				require.NoError(t, err)
				require.Equal(t, oldText, string(data))
			}
		})
	}
}

func TestCreate(t *testing.T) { // FS-62
	fx := newFixture(t, "")
	out, err := New(Options{}).Commit(t.Context(), fx.request("", newText))
	require.NoError(t, err)
	require.Equal(t, MethodCreate, out.Method)
	require.Equal(t, newText, fx.content())
	require.Equal(t, []string{"target.txt"}, fx.names())
	f, err := os.Open(fx.file)
	require.NoError(t, err)
	defer f.Close()
	info, err := workspace.InfoOf(f)
	require.NoError(t, err)
	require.Equal(t, info, out.Info)
}

func TestHardLinks(t *testing.T) { // FS-64
	fx := newFixture(t, oldText)
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.Link(fx.file, other))
	before, err := os.Stat(fx.file)
	require.NoError(t, err)
	recovery := filepath.Join(t.TempDir(), "recovery")
	out, err := New(Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Equal(t, MethodInPlace, out.Method)
	require.Equal(t, newText, fx.content())
	data, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, newText, string(data))
	after, err := os.Stat(fx.file)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	entries, err := os.ReadDir(recovery)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestCancelled(t *testing.T) { // AR-29
	for _, step := range []Step{StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked} {
		t.Run(string(step), func(t *testing.T) {
			fx := newFixture(t, oldText)
			ctx, cancel := context.WithCancel(t.Context())
			ended := false
			c := New(Options{Hook: func(s Step) error {
				require.False(t, ended, "began to write")
				if s == step {
					cancel()
					ended = step == StepChecked
				}
				return nil
			}})
			_, err := c.Commit(ctx, fx.request(oldText, newText))
			requireCode(t, err, fault.Cancelled, "")
			require.Equal(t, oldText, fx.content())
			require.Equal(t, []string{"target.txt"}, fx.names())
		})
	}
	t.Run("after the exchange it is carried through", func(t *testing.T) {
		fx := newFixture(t, oldText)
		ctx, cancel := context.WithCancel(t.Context())
		c := New(Options{Hook: at(StepExchanged, func() error { cancel(); return nil })})
		_, err := c.Commit(ctx, fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
	})
}

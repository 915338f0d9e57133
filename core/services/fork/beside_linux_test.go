package fork_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/fork"
)

// FK-05: the saves of an editor at any step of a merge stay, in place or by renaming. The merge combines the
// two, or reports a conflict.
func TestEditorDuringMerge(t *testing.T) {
	inPlace := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	renamed := func(path, text string) error {
		if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(path+"~", path)
	}
	for name, save := range map[string]func(path, text string) error{"in place": inPlace, "renamed": renamed} {
		for about, add := range map[string]func(string) string{"elsewhere": last, "same line": func(s string) string { return "editor's " + s }} {
			t.Run(name+"/"+about, func(t *testing.T) {
				combined, conflicts, kept := 0, 0, 0
				for step := 1; ; step++ {
					p := newProject(t, map[string]string{"a": ten, "b": ten})
					f := p.create("one")
					p.change(f, map[string]string{"a": first(ten), "b": first(ten)})
					calls, saved := 0, ""
					var editor sync.WaitGroup
					hook := func() error {
						if calls++; calls != step {
							return nil
						}
						path := filepath.Join(p.dir, "a")
						edit := func() {
							now, err := os.ReadFile(path)
							assert.NoError(t, err)
							saved = add(string(now))
							assert.NoError(t, save(path, saved))
						}
						fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
						if err != nil { // the commit has a lease: the editor waits
							editor.Go(edit)
							return nil
						}
						_ = syscall.Close(fd)
						edit()
						return nil
					}
					r, err := p.merge(f, func(o *fork.MergeOptions) {
						o.Committer = commit.New(commit.Options{RecoveryDir: p.recovery, Settle: -1, Hook: func(commit.Step) error { return hook() }})
					})
					require.NoError(t, err)
					editor.Wait()
					if calls < step {
						t.Logf("%d steps: %d combined, %d conflicts, %d kept beside", step-1, combined, conflicts, kept)
						require.Positive(t, combined+conflicts)
						return
					}
					got, err := os.ReadFile(filepath.Join(p.dir, "a"))
					require.NoError(t, err)
					where := fmt.Sprintf("step %d: %q after %q, %v", step, got, saved, r.KeptFiles)
					switch {
					case string(got) == saved && r.Conflicts() == 1:
						conflicts++
					case string(got) == saved: // it was saved after the exchange
						combined++
					case len(r.KeptFiles) > 0:
						beside, err := os.ReadFile(r.KeptFiles[0])
						require.NoError(t, err)
						require.Equal(t, saved, string(beside), where)
						kept++
					default:
						require.Equal(t, first(saved), string(got), where)
						combined++
					}
					b, err := os.ReadFile(filepath.Join(p.dir, "b"))
					require.NoError(t, err)
					require.Equal(t, first(ten), string(b))
					require.NoError(t, f.Close())
				}
			})
		}
	}
}

// FK-05: two merges at once: of one fork, where one waits or is refused, and of two forks that change the same
// files in other places.
func TestTwoMerges(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		for range 10 {
			base := map[string]string{"a": ten, "b": ten, "c": ten}
			p := newProject(t, base)
			p.mode = mode
			f, g := p.create("one"), p.create("two")
			one, two := make(map[string]string), make(map[string]string)
			want := make(map[string]string)
			for name := range base {
				one[name], two[name], want[name] = first(ten), last(ten), last(first(ten))
			}
			p.change(f, one)
			p.change(g, two)
			var all sync.WaitGroup
			for _, each := range []*fork.Fork{f, g, f} {
				all.Go(func() {
					_, err := p.merge(each, nil)
					if err != nil {
						require.Contains(t, []fault.Code{fault.FileChangedSinceRead, fault.FileWriteFailure}, fault.CodeOf(err), err)
					}
				})
			}
			all.Wait()
			for _, each := range []*fork.Fork{f, g} { // one that was refused is complete now
				_, err := p.merge(each, nil)
				require.NoError(t, err)
			}
			require.Equal(t, want, tree(t, p.dir))
		}
	})
}

// FK-03: without space, or in a home directory that is read-only, nothing is created.
func TestReadOnlyState(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) { require.NoError(t, os.Chmod(top, 0o777)) })
	if !ok {
		return
	}
	p := newProjectIn(t, top, map[string]string{"a": ten})
	f := p.create("one")
	p.change(f, map[string]string{"a": first(ten)})
	require.NoError(t, f.Close())
	require.NoError(t, filepath.WalkDir(p.state, func(name string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(name, 0o500)
		}
		return err
	}))
	t.Cleanup(func() {
		_ = filepath.WalkDir(p.state, func(name string, e os.DirEntry, _ error) error { return os.Chmod(name, 0o700) })
	})
	s := p.store()
	list, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = s.Create(t.Context(), fork.Request{Name: "two", Dirs: []string{p.dir}})
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), err)
	_, err = s.Open("one", "")
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), err)
	look, err := s.Look("one")
	require.NoError(t, err)
	r, err := look.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, r.Clean())
	_, err = p.merge(look, nil)
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), err)
	require.Equal(t, map[string]string{"a": ten}, tree(t, p.dir))
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(s.Drop(t.Context(), "one", true)))
}

// FK-05: an approval covers the changes that it was shown, and an error of it changes nothing.
func TestApproval(t *testing.T) {
	p := newProject(t, map[string]string{"a": ten})
	f := p.create("one")
	p.change(f, map[string]string{"a": first(ten)})
	asked := 0
	_, err := p.merge(f, func(o *fork.MergeOptions) {
		o.Approve = func(r *fork.Report) error {
			asked++
			require.Contains(t, r.Files[0].Diff, "-1\n+one\n")
			return fault.New(fault.DeniedByUser, "test", "No.", "")
		}
	})
	require.Equal(t, fault.DeniedByUser, fault.CodeOf(err))
	require.Equal(t, map[string]string{"a": ten}, tree(t, p.dir))
	var recorded []string
	r, err := p.merge(f, func(o *fork.MergeOptions) {
		o.Approve = func(r *fork.Report) error {
			if asked++; asked == 2 { // the change of another program is shown, too
				p.write(map[string]string{"a": strings.Replace(ten, "1\n", "0\n1\n", 1)})
			}
			return nil
		}
		o.Record = func(ctx context.Context, paths []string, change func() error) error {
			recorded = append(recorded, paths...)
			return change()
		}
	})
	require.NoError(t, err)
	require.Equal(t, "conflict text", verdicts(r)["a"])
	require.Equal(t, filepath.Join(p.dir, "a"), recorded[0])
	require.Equal(t, 1, r.Conflicts())
}

package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// stagedSession returns a session in which act is called once after arm, at a named window: of a mutation, or of a step
// of its commit.
func stagedSession(t *testing.T, window string, act func(s *configtest.Session)) (s *configtest.Session, arm func()) {
	armed := false
	at := func(name string) {
		if armed && name == window {
			armed = false
			act(s)
		}
	}
	s = newSession(t, func(p *config.Parameters) {
		p.Calls.Seam = func(name string, _ workspace.Path) error { at(name); return nil }
	})
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { at("prompt"); return bus.ProceedOnce }
	return s, func() {
		armed = true
		t.Cleanup(func() { require.False(t, armed, "window %s was not reached", window) })
	}
}

// The windows in which an existing file may change during a mutation.
var changeWindows = []string{
	string(mutation.WindowDecided), string(mutation.WindowPlanned), "prompt", string(mutation.WindowCommit),
	string(mutation.WindowRechecked), "commit:locked", "commit:checked", "commit:temp_written", "commit:temp_linked",
}

// TE-08, PR-16, PR-17, PR-18, FS-45, FS-59: a file that changes, is replaced, disappears, or becomes something else in
// any window keeps the state of the other program, and the result reports it.
func TestChangesInEveryWindow(t *testing.T) {
	t.Parallel()
	const theirs = "somebody's work\n"
	acts := map[string]struct {
		act    func(s *configtest.Session)
		reason fault.Reason
		check  func(t *testing.T, s *configtest.Session)
	}{
		"rewritten": {
			func(s *configtest.Session) { s.Write("dir/a.txt", theirs) }, fault.Changed,
			func(t *testing.T, s *configtest.Session) { require.Equal(t, theirs, s.Read("dir/a.txt")) },
		},
		"replaced": {
			func(s *configtest.Session) {
				if err := os.Rename(s.Write("new", theirs), s.Path("dir/a.txt")); err != nil {
					s.T.Error(err)
				}
			}, fault.Changed,
			func(t *testing.T, s *configtest.Session) { require.Equal(t, theirs, s.Read("dir/a.txt")) },
		},
		"deleted": {
			func(s *configtest.Session) {
				if err := os.Remove(s.Path("dir/a.txt")); err != nil {
					s.T.Error(err)
				}
			}, fault.Disappeared,
			func(t *testing.T, s *configtest.Session) { require.NoFileExists(t, s.Path("dir/a.txt")) },
		},
	}
	eachMutator(t, func(t *testing.T, m mutator) {
		for _, window := range changeWindows {
			for name, tt := range acts {
				t.Run(window+" "+name, func(t *testing.T) {
					s, arm := stagedSession(t, window, tt.act)
					s.Write("dir/a.txt", base)
					read(t, s, "dir/a.txt")
					version := versionNow(t, s)
					arm()
					r := s.Call(m.tool, m.change("dir/a.txt"))
					report := refuse(t, r, fault.FileChangedSinceRead, tt.reason)
					tt.check(t, s)
					entries, err := os.ReadDir(s.Path("dir"))
					require.NoError(t, err)
					if tt.reason == fault.Disappeared {
						require.Empty(t, entries)
						requireWithheld(t, report.LatestFileState, s.Path("dir/a.txt"))
						return
					}
					require.Len(t, entries, 1, "no file is left behind")
					requireShown(t, report.LatestFileState)
					require.Equal(t, version+1, *report.LatestFileState.Version)
					if m.takesBaseHash {
						require.Equal(t, stateMismatch, report.Message)
					}
					// The content shown is enough for the next call (FS-29).
					succeed(t, s.Call(file.WriteFile, writeArgs("dir/a.txt", "both\n", *report.LatestFileState.SHA256)))
				})
			}
		}
	})
}

// PR-17, PR-18, FS-62: a file that appears at the path of a new file is kept and not shown. Directories created in vain
// are removed.
func TestAppearancesInEveryWindow(t *testing.T) {
	t.Parallel()
	const theirs = "somebody's work\n"
	eachMutator(t, func(t *testing.T, m mutator) {
		for _, window := range []string{
			string(mutation.WindowPlanned), "prompt", string(mutation.WindowCommit), string(mutation.WindowRechecked),
			"commit:locked", "commit:temp_written",
		} {
			t.Run(window, func(t *testing.T) {
				s, arm := stagedSession(t, window, func(s *configtest.Session) { s.Write("dir/a.txt", theirs) })
				arm()
				r := s.Call(m.tool, m.create("dir/a.txt"))
				report := refuse(t, r, fault.EditRequiresPriorRead, fault.NeverRead)
				require.Equal(t, theirs, s.Read("dir/a.txt"))
				requireWithheld(t, report.LatestFileState, s.Path("dir/a.txt"))
				require.Contains(t, r.Result.Error.Line(), "read_file")
				entries, err := os.ReadDir(s.Path("dir"))
				require.NoError(t, err)
				require.Len(t, entries, 1)
				// The remedy succeeds.
				st := read(t, s, "dir/a.txt")
				succeed(t, s.Call(file.WriteFile, writeArgs("dir/a.txt", "both\n", *st.SHA256)))
			})
		}
	})
}

// PR-18: a file missing throughout the call is created; a directory that appears is refused.
func TestDirectoryAppears(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s, arm := stagedSession(t, "prompt", func(s *configtest.Session) { s.Write("dir/a.txt/inner", "") })
		arm()
		refuse(t, s.Call(m.tool, m.create("dir/a.txt")), fault.TargetIsDirectory, "")
		require.Equal(t, "made\n", *succeed(t, s.Call(m.tool, m.create("dir/b.txt"))).LatestFileState.Content)
	})
}

// KH-24, FS-63: a link swapped in during a call leads nowhere outside, in any window.
func TestLinkSwappedIn(t *testing.T) {
	t.Parallel()
	eachMutator(t, func(t *testing.T, m mutator) {
		for _, window := range changeWindows {
			for _, what := range []string{"file", "folder"} {
				t.Run(window+" "+what, func(t *testing.T) {
					outside := t.TempDir()
					secret := filepath.Join(outside, "a.txt")
					require.NoError(t, os.WriteFile(secret, []byte("secret\n"), 0o644))
					s, arm := stagedSession(t, window, func(s *configtest.Session) {
						name, target := "dir/a.txt", secret
						if what == "folder" {
							name, target = "dir", outside
						}
						err := os.Rename(s.Path(name), s.Path("moved"))
						if err == nil {
							err = os.Symlink(target, s.Path(name))
						}
						if err != nil {
							s.T.Error(err)
						}
					})
					s.Write("dir/a.txt", base)
					read(t, s, "dir/a.txt")
					arm()
					r := s.Call(m.tool, m.change("dir/a.txt"))
					data, err := os.ReadFile(secret)
					require.NoError(t, err)
					require.Equal(t, "secret\n", string(data))
					entries, err := os.ReadDir(outside)
					require.NoError(t, err)
					require.Len(t, entries, 1)
					require.NotContains(t, string(jsonOf(t, r.Result)), "secret\\n")
					if what == "folder" && strings.HasPrefix(window, "commit:") {
						return // the directory that was opened is written to, even after a move
					}
					require.Equal(t, scheduler.StatusError, r.Status)
					require.NotEmpty(t, r.Result.Error.Remedy)
					requireWithheld(t, reportOf(t, r).LatestFileState, s.Path("dir/a.txt"))
				})
			}
		}
	})
}

// KH-24: neither does a link swapped in between the two checks of a read.
func TestLinkSwappedInWhileReading(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "a.txt"), []byte("secret\n"), 0o644))
	for _, tool := range []string{file.ReadFile, file.ReadManyFiles} {
		for _, what := range []string{"dir/a.txt", "dir"} {
			var s *configtest.Session
			swapped := false
			s = newSession(t, func(p *config.Parameters) {
				p.Calls.Seam = func(at string, _ workspace.Path) error {
					if at != "stat-read" || swapped {
						return nil
					}
					swapped = true
					target := outside
					if what != "dir" {
						target = filepath.Join(outside, "a.txt")
					}
					if err := os.Rename(s.Path(what), s.Path("moved")); err != nil {
						t.Error(err)
					}
					if err := os.Symlink(target, s.Path(what)); err != nil {
						t.Error(err)
					}
					return nil
				}
			})
			s.Write("dir/a.txt", base)
			a := args{"file_path": "dir/a.txt"}
			if tool == file.ReadManyFiles {
				a = args{"paths": []string{"dir/a.txt"}}
			}
			r := s.Call(tool, a)
			require.True(t, swapped)
			require.NotContains(t, string(jsonOf(t, r.Result)), "secret")
			require.Contains(t, r.Result.LLMContent.String(), "within workspace")
		}
	}
}

// FS-66: of several changes with the same base, by a parent and its subagents, one succeeds and the others fail with a
// mismatch.
func TestConcurrentChanges(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t, autoEdit)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		const n = 8
		responses := make([]scheduler.Response, n)
		var wg sync.WaitGroup
		for i := range n {
			c := s.Config
			if i%2 == 1 {
				var err error
				c, err = s.Derive(config.DeriveParameters{})
				require.NoError(t, err)
				defer c.Close()
				configtest.Call(t.Context(), t, c, file.ReadFile, args{"file_path": "a.txt"})
			}
			wg.Go(func() { responses[i] = configtest.Call(t.Context(), t, c, m.tool, m.change("a.txt")) })
		}
		wg.Wait()
		won := 0
		for _, r := range responses {
			if r.Status == scheduler.StatusSuccess {
				won++
				succeed(t, r)
				continue
			}
			// An edit or a patch without a hash, planned after the winner finds its text replaced.
			if code := r.Result.Error.Code; (m.tool == file.Edit || m.tool == file.TextEditor) && code == fault.EditNoOccurrenceFound || m.tool == file.ApplyPatch && code == fault.InvalidDiff {
				continue
			}
			refuse(t, r, fault.FileChangedSinceRead, fault.Changed)
		}
		require.Equal(t, 1, won)
		require.Equal(t, changed, s.Read("a.txt"))
	})
}

// FS-62: one of several creations succeeds, and for the others the file is unread.
func TestConcurrentCreation(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t, autoEdit)
		const n = 8
		responses := make([]scheduler.Response, n)
		var wg sync.WaitGroup
		for i := range n {
			child, err := s.Derive(config.DeriveParameters{})
			require.NoError(t, err)
			defer child.Close()
			wg.Go(func() { responses[i] = configtest.Call(t.Context(), t, child, m.tool, m.create("new/tree/a.txt")) })
		}
		wg.Wait()
		won := 0
		for _, r := range responses {
			if r.Status == scheduler.StatusSuccess {
				won++
				continue
			}
			requireWithheld(t, refuse(t, r, fault.EditRequiresPriorRead, fault.NeverRead).LatestFileState, s.Path("new/tree/a.txt"))
		}
		require.Equal(t, 1, won)
		require.Equal(t, "made\n", s.Read("new/tree/a.txt"))
	})
}

// FS-65, PR-19: a commit that fails at any step leaves the tree unchanged, and the result has the reason and the next
// step.
func TestCommitFailures(t *testing.T) {
	t.Parallel()
	for _, step := range []commit.Step{commit.StepLocked, commit.StepTempWritten, commit.StepTempLinked, commit.StepExchanged} {
		for name, failure := range map[string]struct {
			err  error
			code fault.Code
		}{
			"no space":   {errNoSpace, fault.NoSpaceLeft},
			"permission": {os.ErrPermission, fault.PermissionDenied},
			"other":      {fmt.Errorf("simulated I/O error"), fault.FileWriteFailure},
		} {
			t.Run(string(step)+" "+name, func(t *testing.T) {
				eachMutator(t, func(t *testing.T, m mutator) {
					fail := true
					s := newSession(t, func(p *config.Parameters) {
						p.Calls.Seam = func(at string, _ workspace.Path) error {
							if fail && at == "commit:"+string(step) {
								return failure.err
							}
							return nil
						}
					})
					s.Write("a.txt", base)
					read(t, s, "a.txt")
					before := listing(t, s.Dir)
					report := refuse(t, s.Call(m.tool, m.change("a.txt")), failure.code, "")
					requireShown(t, report.LatestFileState)
					require.Equal(t, base, s.Read("a.txt"))
					if step == commit.StepLocked || step == commit.StepTempWritten {
						report = refuse(t, s.Call(m.tool, m.create("new/tree/b.txt")), failure.code, "")
						requireWithheld(t, report.LatestFileState, s.Path("new/tree/b.txt"))
					}
					require.Equal(t, before, listing(t, s.Dir))
					// The remedy: without the cause the same call succeeds.
					fail = false
					succeed(t, s.Call(m.tool, m.change("a.txt")))
				})
			})
		}
	}
}

// listing is [tree] with names only, because undoing an exchange may change the rest.
func listing(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

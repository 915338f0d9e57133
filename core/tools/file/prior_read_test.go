package file_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// disk is a workspace that counts operations and can fail.
type disk struct {
	*workspace.Workspace
	opens   atomic.Int64
	statErr error
}

func (d *disk) Stat(p workspace.Path) (workspace.Info, error) {
	if d.statErr != nil {
		return workspace.Info{}, &fs.PathError{Op: "stat", Path: p.String(), Err: d.statErr}
	}
	return d.Workspace.Stat(p)
}

func (d *disk) OpenRead(p workspace.Path) (*os.File, error) {
	d.opens.Add(1)
	return d.Workspace.OpenRead(p)
}

// bench binds the tools to services over a [disk].
type bench struct {
	*disk
	dir      string
	state    *filestate.Service
	services file.Services
}

func newBench(t testing.TB, change ...func(*filestate.Options)) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws, err := workspace.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	b := &bench{disk: &disk{Workspace: ws}, dir: dir}
	o := filestate.Options{Files: b.disk}
	for _, f := range change {
		f(&o)
	}
	b.state = filestate.New(o)
	b.services = file.Services{
		Paths: ws, Reader: b.state, Directories: ws,
		Mutator: mutation.New(mutation.Options{Files: ws, Committer: commit.New(commit.Options{}), State: b.state}),
	}
	return b
}

func (b *bench) write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func (b *bench) call(t testing.TB, tool string, a args) (tools.Result, file.Report) {
	t.Helper()
	result := execute(t, bind(t, tool, b.services), a)
	var report file.Report
	_ = json.Unmarshal([]byte(result.LLMContent.String()), &report)
	return result, report
}

// PR-13, FS-53: without a hash only stat is called before the refusal, at the confirmation and at the execution. With a
// wrong hash the file is read once, and the result has none of its content.
func TestNothingIsReadBeforeProof(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		args  func(path string) args
		opens int64
	}{
		{file.Edit, func(p string) args { return editArgs(p, "two", "2") }, 0},
		{file.WriteFile, func(p string) args { return writeArgs(p, "x", "") }, 0},
		{file.WriteFile, func(p string) args { return writeArgs(p, "x", wrong) }, 1},
		{file.SafePatch, func(p string) args { return patchArgs(p, baseDiff, wrong) }, 1},
	} {
		for name, prepare := range map[string]func(*bench){
			"never read": func(*bench) {},
			"partly read": func(b *bench) {
				b.call(t, file.ReadFile, args{"file_path": "a.txt", "offset": 0, "limit": 1})
			},
		} {
			t.Run(fmt.Sprint(tt.tool, tt.opens, name), func(t *testing.T) {
				b := newBench(t)
				path := b.write(t, "a.txt", base)
				prepare(b)
				before := b.opens.Load()
				inv, err := bind(t, tt.tool, b.services).Build(jsonOf(t, tt.args("a.txt")))
				require.NoError(t, err)
				_, err = inv.Confirmation(t.Context())
				require.ErrorIs(t, err, tools.ErrWillRefuse)
				require.Equal(t, before+tt.opens, b.opens.Load(), "at the confirmation")
				_, err = inv.Execute(t.Context(), nil)
				require.NoError(t, err)
				require.Equal(t, before+tt.opens, b.opens.Load(), "at the execution after it")

				result, report := b.call(t, tt.tool, tt.args("a.txt"))
				require.Equal(t, before+2*tt.opens, b.opens.Load(), "at an execution without a confirmation")
				require.Equal(t, fault.EditRequiresPriorRead, result.Error.Code)
				requireWithheld(t, report.LatestFileState, path)
				require.NotContains(t, string(jsonOf(t, result)), "three")
			})
		}
	}
}

// PR-11: the errno is reported, and no file is opened or created.
func TestStatFailure(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		for errno, name := range map[syscall.Errno]string{syscall.EACCES: "EACCES", syscall.EIO: "EIO"} {
			b := newBench(t)
			path := b.write(t, "a.txt", base)
			b.call(t, file.ReadFile, args{"file_path": "a.txt"})
			b.statErr = errno
			opens := b.opens.Load()
			result, report := b.call(t, m.tool, m.change("a.txt"))
			require.Equal(t, fault.PriorReadVerificationFailed, result.Error.Code)
			require.Equal(t, fault.Unverifiable, result.Error.Reason)
			require.Contains(t, result.Error.Message, name)
			require.NotEmpty(t, result.Error.Remedy)
			requireWithheld(t, report.LatestFileState, path)
			require.Equal(t, opens, b.opens.Load())
			// The remedy: the call succeeds once stat does.
			b.statErr = nil
			result, _ = b.call(t, m.tool, m.change("a.txt"))
			require.Nil(t, result.Error)
		}
	})
}

// PR-28: with the cache disabled a failed stat is not a refusal. An obstacle to the change itself still is.
func TestStatFailureWithTheCacheDisabled(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		b := newBench(t, func(o *filestate.Options) {
			o.KillSwitch = func() (bool, int64) { return true, 0 }
		})
		b.write(t, "a.txt", base)
		b.statErr = syscall.EACCES
		result, report := b.call(t, m.tool, m.change("a.txt"))
		require.Nil(t, result.Error)
		requireShown(t, report.LatestFileState)
		result, _ = b.call(t, m.tool, m.change(strings.Repeat("x", 300)))
		require.NotNil(t, result.Error, "the name is too long for any file")
		require.NotEqual(t, fault.PriorReadVerificationFailed, result.Error.Code)
	})
}

// PR-29: a refusal does not show a file that read_file would not show.
func TestResultsShowNoMoreThanReadsWould(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		may := true
		b := newBench(t, func(o *filestate.Options) { o.MayShow = func(workspace.Path) bool { return may } })
		path := b.write(t, "a.txt", base)
		b.call(t, file.ReadFile, args{"file_path": "a.txt"})
		may = false
		b.write(t, "a.txt", "secret\n"+base)
		result, report := b.call(t, m.tool, m.change("a.txt"))
		require.Equal(t, fault.FileChangedSinceRead, result.Error.Code)
		requireWithheld(t, report.LatestFileState, path)
		require.NotContains(t, string(jsonOf(t, result)), "secret")
		// Neither do match errors, even if the hash was correct.
		if m.tool == file.SafePatch {
			_, report = b.call(t, m.tool, patchArgs("a.txt", "@@ @@\n-foreign\n+x\n", sum("secret\n"+base)))
			requireWithheld(t, report.LatestFileState, path)
		}
		// A success reports version and hash, because the model knows its own text.
		may = true
		b.write(t, "a.txt", base)
		b.call(t, file.ReadFile, args{"file_path": "a.txt"})
		may = false
		result, report = b.call(t, m.tool, m.change("a.txt"))
		require.Nil(t, result.Error)
		require.Equal(t, sum(changed), *report.LatestFileState.SHA256)
		require.Nil(t, report.LatestFileState.Content)
	})
}

// PR-01, PR-05, PR-15: a change of an unread file is refused without a request for approval, and a new file is created.
// The remedy of the error succeeds.
func TestUnreadIsRefused(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		path := s.Write("a.txt", base)
		a := m.change("a.txt")
		if m.takesBaseHash {
			a["base_content_sha256"] = wrong
		}
		r := s.Call(m.tool, a)
		requireWithheld(t, refuse(t, r, fault.EditRequiresPriorRead, fault.NeverRead).LatestFileState, path)
		require.Contains(t, r.Result.Error.Line(), "read_file")
		require.Empty(t, s.Confirmations())
		st := read(t, s, "a.txt")
		a = m.change("a.txt")
		if m.takesBaseHash {
			a["base_content_sha256"] = *st.SHA256
		}
		succeed(t, s.Call(m.tool, a))

		r = s.Call(m.tool, m.create("new.txt"))
		require.Equal(t, m.createdMessage, succeed(t, r).Message)
		require.Equal(t, "made\n", s.Read("new.txt"))
	})
}

// PR-03, PR-07: a part of the file is not enough. The remedy names the missing part, and reading it is enough.
func TestPartlyRead(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", "1\n2\n3\n4\n5\n6\n")
	call := func() scheduler.Response { return s.Call(file.Edit, editArgs("a.txt", "6", "six")) }
	read(t, s, "a.txt", args{"offset": 1, "limit": 2})
	r := call()
	refuse(t, r, fault.EditRequiresPriorRead, fault.PartialRead)
	require.Contains(t, r.Result.Error.Remedy, "without offset and limit")
	require.Len(t, followRanges(t, s, "a.txt", r.Result.Error.Remedy), 2)
	succeed(t, call())
}

// PR-07 for a file above the limit: the remedy names the ranges to read.
func TestRemainingRangesAreNamed(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Session.Limits.Lines = 2 })
	s.Write("a.txt", "1\n2\n3\n4\n5\n6\n")
	read(t, s, "a.txt")
	r := s.Call(file.Edit, editArgs("a.txt", "6", "six"))
	refuse(t, r, fault.EditRequiresPriorRead, fault.PartialRead)
	calls := followRanges(t, s, "a.txt", r.Result.Error.Remedy)
	require.NotEmpty(t, calls)
	succeed(t, s.Call(file.Edit, editArgs("a.txt", "6", "six")))
}

// followRanges reads the ranges that a remedy names.
func followRanges(t testing.TB, s *configtest.Session, path, remedy string) [][]string {
	t.Helper()
	ranges := regexp.MustCompile(`offset (\d+) limit (\d+)`).FindAllStringSubmatch(remedy, -1)
	for _, m := range ranges {
		read(t, s, path, args{"offset": m[1], "limit": m[2]})
	}
	return ranges
}

// PR-04: a matching hash counts as proof, without an entry in the cache.
func TestMatchingHashIsProof(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		if !m.takesBaseHash {
			t.Skip("takes no hash")
		}
		s := newSession(t)
		s.Write("a.txt", base)
		cache, err := s.FileReadCache()
		require.NoError(t, err)
		read(t, s, "a.txt")
		cache.Clear()
		succeed(t, s.Call(m.tool, m.change("a.txt")))
	})
	// KH-26: unless the session requires both.
	s := newSession(t, func(p *config.Parameters) { p.Session.RequireSeen = true })
	s.Write("a.txt", base)
	refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, sum(base))), fault.EditRequiresPriorRead, fault.NeverRead)
	read(t, s, "a.txt")
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, sum(base))))
}

// PR-12: a file that was read and has disappeared is not created again from old content. The next call may create it.
func TestDisappeared(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		path := s.Write("a.txt", base)
		read(t, s, "a.txt")
		require.NoError(t, os.Remove(path))
		before := tree(t, s.Dir)
		r := s.Call(m.tool, m.change("a.txt"))
		report := refuse(t, r, fault.FileChangedSinceRead, fault.Disappeared)
		require.Contains(t, report.Message, "disappeared")
		requireWithheld(t, report.LatestFileState, path)
		require.Equal(t, before, tree(t, s.Dir))
		// The remedy succeeds.
		require.Contains(t, r.Result.Error.Remedy, "write_file and no base_content_sha256")
		succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, "")))
	})
}

// RC-07: the hash decides. Other times and another inode with the same bytes are not a change; other bytes with the
// same times are.
func TestHashHasTheLastWord(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		t.Run("touch", func(t *testing.T) {
			s := newSession(t)
			path := s.Write("a.txt", base)
			read(t, s, "a.txt")
			later := time.Now().Add(time.Hour)
			require.NoError(t, os.Chtimes(path, later, later))
			succeed(t, s.Call(m.tool, m.change("a.txt")))
		})
		t.Run("replaced by a copy", func(t *testing.T) { // CR-15
			s := newSession(t)
			path := s.Write("a.txt", base)
			read(t, s, "a.txt")
			require.NoError(t, os.Rename(s.Write("copy", base), path))
			succeed(t, s.Call(m.tool, m.change("a.txt")))
		})
		t.Run("same size and time", func(t *testing.T) {
			s := newSession(t)
			path := s.Write("a.txt", base)
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(path, old, old))
			read(t, s, "a.txt")
			s.Write("a.txt", changed)
			require.NoError(t, os.Chtimes(path, old, old))
			refuse(t, s.Call(m.tool, m.change("a.txt")), fault.FileChangedSinceRead, fault.Changed)
			require.Equal(t, changed, s.Read("a.txt"))
		})
	})
}

// RC-27, FS-66: a write by a child makes the parent's state outdated.
func TestChildsWriteMakesTheParentStale(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	child, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	defer child.Close()
	ctx := t.Context()
	refuse(t, configtest.Call(ctx, t, child, file.Edit, editArgs("a.txt", "two", "2")), fault.EditRequiresPriorRead, fault.NeverRead)
	configtest.Call(ctx, t, child, file.ReadFile, args{"file_path": "a.txt"})
	succeed(t, configtest.Call(ctx, t, child, file.SafePatch, patchArgs("a.txt", baseDiff, sum(base))))
	refuse(t, s.Call(file.Edit, editArgs("a.txt", "three", "3")), fault.FileChangedSinceRead, fault.Changed)
	succeed(t, s.Call(file.Edit, editArgs("a.txt", "three", "3")))
	require.Equal(t, "one\nTWO\n3\n", s.Read("a.txt"))
}

// RC-28, PR-28, CR-16: with the kill switch on there is no cache and no check of prior reads, but the rules for hashes
// apply.
func TestKillSwitch(t *testing.T) {
	s := newSession(t, killSwitchOn)
	s.Write("a.txt", base)
	for range 2 {
		require.Equal(t, base, *read(t, s, "a.txt").Content)
	}
	cache, err := s.FileReadCache()
	require.NoError(t, err)
	require.Zero(t, cache.Len())
	s.Write("unread.txt", base)
	succeed(t, s.Call(file.Edit, editArgs("unread.txt", "two", "TWO")))
	require.Zero(t, cache.Len())
	report := refuse(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, "")), fault.BaseHashRequired, "")
	requireShown(t, report.LatestFileState)
	report = refuse(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, wrong)), fault.FileChangedSinceRead, fault.Changed)
	requireShown(t, report.LatestFileState)
	refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, wrong)), fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, base, s.Read("a.txt"))
	require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
	refuse(t, s.Call(file.Edit, editArgs("dir", "a", "b")), fault.TargetIsDirectory, "")

	s.SetFileReadCacheDisabled(false)
	s.Write("unread.txt", base)
	refuse(t, s.Call(file.Edit, editArgs("unread.txt", "two", "TWO")), fault.EditRequiresPriorRead, fault.NeverRead)
}

// PR-24: the verbs of each tool in each branch, as sentences.
func TestMessagesUseTheToolsVerb(t *testing.T) {
	t.Parallel()
	eachMutator(t, func(t *testing.T, m mutator) {
		withoutHash := func(path string) args {
			a := m.change(path)
			if m.tool == file.WriteFile {
				delete(a, "base_content_sha256")
			} else if m.takesBaseHash {
				a["base_content_sha256"] = wrong
			}
			return a
		}
		for name, prepare := range map[string]func(t *testing.T, s *configtest.Session) string{
			"never read": func(_ *testing.T, s *configtest.Session) string { return s.Write("a.txt", base) },
			"partly read": func(t *testing.T, s *configtest.Session) string {
				path := s.Write("a.txt", base)
				read(t, s, path, args{"limit": 1})
				return path
			},
			"no text": func(_ *testing.T, s *configtest.Session) string {
				path := s.Write("a.bin", "\x00\x01\x02")
				s.Call(file.ReadFile, args{"file_path": path})
				return path
			},
			"folder": func(t *testing.T, s *configtest.Session) string {
				require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
				return s.Path("dir")
			},
			"disappeared": func(t *testing.T, s *configtest.Session) string {
				path := s.Write("a.txt", base)
				read(t, s, path)
				require.NoError(t, os.Remove(path))
				return path
			},
		} {
			t.Run(name, func(t *testing.T) {
				s := newSession(t)
				path := prepare(t, s)
				e := s.Call(m.tool, withoutHash(path)).Result.Error
				require.NotNil(t, e)
				text := e.Message + " " + e.Remedy
				require.True(t, strings.Contains(text, m.ing) || strings.Contains(text, " "+m.infinite) || name == "disappeared", text)
				for _, other := range mutators {
					if other.ing != m.ing {
						require.NotContains(t, text, other.ing)
						require.NotRegexp(t, ` `+other.infinite+` (it|the file)`, text)
					}
				}
				require.Contains(t, text, path)
				require.True(t, strings.HasSuffix(e.Message, ".") && strings.HasSuffix(e.Remedy, "."), text)
				require.NotContains(t, text, "..")
				require.NotContains(t, text, "  ")
			})
		}
	})
}

// PR-26: a refusal after the first check is logged as a warning with the name of the tool; an early one is not.
func TestLateRefusalsAreLogged(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		var log bytes.Buffer
		s := newSession(t, func(p *config.Parameters) {
			p.Environment.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		s.Write("a.txt", base)
		if !m.takesBaseHash {
			refuse(t, s.Call(m.tool, m.change("a.txt")), fault.EditRequiresPriorRead, fault.NeverRead)
			require.Empty(t, log.String())
		}
		read(t, s, "a.txt")
		s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
			s.Write("a.txt", "other\n")
			return bus.ProceedOnce
		}
		refuse(t, s.Call(m.tool, m.change("a.txt")), fault.FileChangedSinceRead, fault.Changed)
		var line map[string]any
		require.NoError(t, json.Unmarshal(bytes.TrimSpace(log.Bytes()), &line), log.String())
		require.Equal(t, "WARN", line["level"])
		require.Equal(t, m.component, line["component"])
		require.Equal(t, s.Path("a.txt"), line["path"])
		require.Equal(t, "changed", line["reason"])
	})
}

// PR-02: the decision has one definition, and the tools have no copy of it.
func TestOneDecision(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, code := range []string{"EditRequiresPriorRead", "FileChangedSinceRead", "PriorReadVerificationFailed", "Qualifying"} {
			require.NotContains(t, string(data), code, name)
		}
	}
}

package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// line60 returns the section that changes line 60 of numbered(100).
func line60(name string) string {
	return "*** Update File: " + name + "\n@@ line 55 of the text\n line 59 of the text\n-line 60 of the text\n+LINE 60 OF THE TEXT\n"
}

// fiveFiles is a patch of a.txt, b.txt, old.txt, which it moves, gone.txt and new.txt.
var fiveFiles = envelope(line60("a.txt"), line60("b.txt"), strings.Replace(line60("old.txt"), "\n", "\n*** Move to: moved to.txt\n", 1),
	"*** Delete File: gone.txt\n", added("dir/new.txt"))

// readFive writes the files of fiveFiles, reads them, and lets another program change those named.
func readFive(t testing.TB, s *configtest.Session, stale ...string) {
	t.Helper()
	for _, name := range []string{"a.txt", "b.txt", "old.txt", "gone.txt"} {
		s.Write(name, numbered(100))
		read(t, s, name)
	}
	for _, name := range stale {
		s.Write(name, replaceLines(numbered(100), 10))
	}
}

// requireFive requires the files after fiveFiles; those named have the change of another program too.
func requireFive(t testing.TB, s *configtest.Session, stale ...string) {
	t.Helper()
	for name, was := range map[string]string{"a.txt": "a.txt", "b.txt": "b.txt", "moved to.txt": "old.txt"} {
		want := replaceLines(numbered(100), 60)
		for _, other := range stale {
			if other == was {
				want = replaceLines(want, 10)
			}
		}
		require.Equal(t, want, s.Read(name), name)
	}
	require.Equal(t, "made\n", s.Read("dir/new.txt"))
	require.NoFileExists(t, s.Path("old.txt"))
	require.NoFileExists(t, s.Path("gone.txt"))
}

// ST-03, TX-04: the refusal of a set names its stale files, shows them and offers a token. The call with the token makes
// all changes once; hooks, policy, the approver and the recording see the whole patch.
func TestRetryOfASet(t *testing.T) {
	t.Parallel()
	var hooked []string
	s := newSession(t, func(p *config.Parameters) {
		p.Calls.Before = append(p.Calls.Before, func(_ context.Context, c scheduler.Proposal) (scheduler.Advice, error) {
			if c.Spec.Name == file.ApplyPatch {
				hooked = append(hooked, string(c.Args))
			}
			return scheduler.Advice{}, nil
		})
	})
	readFive(t, s, "b.txt", "old.txt")
	before := tree(t, s.Dir)
	r := s.Call(file.ApplyPatch, args{"input": fiveFiles})
	requireError(t, r, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, before, tree(t, s.Dir))
	require.Empty(t, s.Confirmations())
	require.Equal(t, "retry-1", r.Result.Error.Retry)
	require.Contains(t, r.Result.Error.Message, "operation 2 of 5, update of b.txt")
	require.Contains(t, r.Result.Error.Message, "old.txt")
	require.NotContains(t, r.Result.Error.Text(), "a.txt")
	report := configtest.Decode[file.SetReport](t, r)
	require.True(t, strings.HasPrefix(report.Message, filestate.StateMismatch), report.Message)
	require.True(t, strings.HasSuffix(report.Message, "Call apply_patch with input retry-1, or make a new patch for the current state."), report.Message)
	require.Len(t, report.LatestFileStates, 2)
	for i, name := range []string{"b.txt", "old.txt"} {
		require.Equal(t, s.Path(name), report.LatestFileStates[i].FilePath)
		requireShown(t, report.LatestFileStates[i])
	}
	requireOrder(t, r)

	requireError(t, s.Call(file.ApplyPatch, args{"input": "retry-1", "bases": args{"b.txt": sum(numbered(100))}}), fault.InvalidDiff, fault.NothingToRetry)
	r = s.Call(file.ApplyPatch, args{"input": " retry-1\n", "bases": args{"b.txt": sum(replaceLines(numbered(100), 10))[:12]}})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	requireFive(t, s, "b.txt", "old.txt")
	questions := s.Confirmations()
	require.Len(t, questions, 1)
	require.JSONEq(t, string(r.Params), string(questions[0].ToolCall.Args))
	require.Equal(t, 3, strings.Count(questions[0].Details.Prompt, "+LINE 60 OF THE TEXT"))
	require.NotContains(t, questions[0].Details.Prompt, "+LINE 10")
	require.Equal(t, []string{string(r.Params)}, hooked[1:])
	var params file.ApplyPatchParams
	require.NoError(t, json.Unmarshal(r.Params, &params))
	require.Equal(t, 3, strings.Count(params.Input, "+LINE 60 OF THE TEXT"))
	require.Len(t, params.Bases, 4)
	require.Equal(t, sum(replaceLines(numbered(100), 10)), params.Bases[s.Path("b.txt")])

	for _, token := range []string{"retry-1", "retry-2"} {
		requireError(t, s.Call(file.ApplyPatch, args{"input": token}), fault.InvalidDiff, fault.NothingToRetry)
	}
}

// ST-03: a patch of one file is offered in the same way, and its token is not valid for safe_patch, as that of safe_patch
// is not for apply_patch.
func TestRetryOfOneFileOfAPatch(t *testing.T) {
	t.Parallel()
	base, theirs := numbered(100), replaceLines(numbered(100), 10)
	s := newSession(t)
	offered(t, stale(t, s, base, theirs, replaceLines(base, 60)), "retry-1", theirs)
	requireError(t, s.Call(file.ApplyPatch, args{"input": "retry-1"}), fault.InvalidDiff, fault.NothingToRetry)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	s.Write("a.txt", theirs)
	r := patchAll(s, line60("a.txt"))
	offered(t, r, "retry-2", theirs)
	require.Contains(t, r.Result.Error.Remedy, "apply_patch")
	requireError(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-2", sum(theirs))), fault.InvalidDiff, fault.NothingToRetry)
	s.Write("a.txt", replaceLines(theirs, 90))
	r = s.Call(file.ApplyPatch, args{"input": "retry-2"})
	offered(t, r, "retry-3", replaceLines(theirs, 90))
	succeed(t, s.Call(file.ApplyPatch, args{"input": "retry-3"}))
	require.Equal(t, replaceLines(base, 10, 60, 90), s.Read("a.txt"))
}

// ST-02, ST-03: there is no token for a set, and no rebase, if one of its changes does not carry over. A refusal for
// another reason names the stale files too.
func TestSetNotCarriedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(s *configtest.Session)
		input  string
		code   fault.Code
		states []string
	}{
		"a conflict":   {func(s *configtest.Session) { s.Write("a.txt", replaceLines(numbered(100), 61)) }, fiveFiles, fault.FileChangedSinceRead, []string{"a.txt", "b.txt"}},
		"a deletion":   {func(s *configtest.Session) { s.Write("gone.txt", "theirs\n") }, fiveFiles, fault.FileChangedSinceRead, []string{"b.txt", "gone.txt"}},
		"a wrong hunk": {nil, strings.Replace(fiveFiles, "*** Delete File: gone.txt", "*** Update File: gone.txt\n@@\n-nothing\n+x", 1), fault.InvalidDiff, []string{"gone.txt", "b.txt"}},
	} {
		for mode, set := range map[string]func(*config.Parameters){"refuse": func(*config.Parameters) {}, "rebase": rebasing} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, set)
				readFive(t, s, "b.txt")
				if c.before != nil {
					c.before(s)
				}
				before := tree(t, s.Dir)
				r := s.Call(file.ApplyPatch, args{"input": c.input})
				require.NotNil(t, r.Result.Error)
				require.Equal(t, c.code, r.Result.Error.Code)
				require.Empty(t, r.Result.Error.Retry)
				require.Equal(t, before, tree(t, s.Dir))
				want := c.states
				if mode == "rebase" {
					want = slices.DeleteFunc(slices.Clone(want), func(name string) bool { return name == "b.txt" })
				}
				var states []filestate.State
				if len(want) == 1 {
					states = append(states, configtest.Decode[file.Report](t, r).LatestFileState)
				} else {
					states = configtest.Decode[file.SetReport](t, r).LatestFileStates
				}
				require.Len(t, states, len(want))
				for i, name := range want {
					require.Equal(t, s.Path(name), states[i].FilePath)
					requireShown(t, states[i])
					require.Contains(t, r.Result.Error.Message, name)
				}
			})
		}
	}
}

// ST-04: with rebase the set lands at once. Each carried-over file reports both bases and the change of the other program,
// and the conversation knows all files.
func TestRebaseOfASet(t *testing.T) {
	t.Parallel()
	for _, above := range []int{0, 1000} {
		t.Run(fmt.Sprint(above), func(t *testing.T) {
			t.Parallel()
			s := newSession(t, rebasing, regionsAbove(above))
			readFive(t, s, "b.txt", "old.txt")
			r := s.Call(file.ApplyPatch, args{"input": fiveFiles})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
			requireFive(t, s, "b.txt", "old.txt")
			require.Len(t, s.Confirmations(), 1)
			was, now := sum(numbered(100)), sum(replaceLines(numbered(100), 10))
			report := configtest.Decode[file.SetReport](t, r)
			require.Contains(t, report.Message, "b.txt was carried over from base "+was[:12]+" to "+now[:12])
			for i, st := range report.LatestFileStates {
				carried := i == 1 || i == 2
				require.Equal(t, carried, strings.Contains(st.Notice, was) && strings.Contains(st.Notice, now), st.Notice)
				require.Equal(t, carried, strings.Contains(st.Notice, "-line 10 of the text\n+LINE 10 OF THE TEXT\n"), st.Notice)
			}
			line80 := "*** Update File: %\n@@\n-line 80 of the text\n+LINE 80 OF THE TEXT\n"
			r = patchAll(s, strings.ReplaceAll(line80, "%", "b.txt"), strings.ReplaceAll(line80, "%", "moved to.txt"))
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
		})
	}
}

// ST-05: if files change after the approval, the question is asked again with the diffs that will be applied.
func TestRebaseOfASetAsksAgain(t *testing.T) {
	t.Parallel()
	for _, window := range []string{"prompt", "read-confirm", "confirm-write", "check-commit"} {
		for _, again := range []bus.Outcome{bus.ProceedOnce, bus.Cancel} {
			t.Run(window+" "+string(again), func(t *testing.T) {
				t.Parallel()
				var s *configtest.Session
				armed := false
				at := func(name string) {
					if armed && name == window {
						armed = false
						for _, name := range []string{"b.txt", "old.txt"} {
							s.Write(name, replaceLines(numbered(100), 10))
						}
					}
				}
				s = newSession(t, rebasing, seam("new.txt", at))
				s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
					if len(s.Confirmations()) > 1 {
						return again
					}
					at("prompt")
					return bus.ProceedOnce
				}
				readFive(t, s)
				armed = true
				r := s.Call(file.ApplyPatch, args{"input": fiveFiles})
				questions := s.Confirmations()
				require.Len(t, questions, 2, "%s", r.Result.LLMContent.String())
				require.Equal(t, sum(replaceLines(numbered(100), 10)), questions[1].Details.Bases[1].SHA256)
				require.Equal(t, sum(replaceLines(numbered(100), 10)), questions[1].Details.Bases[2].SHA256)
				if again == bus.Cancel {
					require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
					require.NoFileExists(t, s.Path("dir/new.txt"))
					return
				}
				require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
				requireFive(t, s, "b.txt", "old.txt")
			})
		}
	}
}

// ST-03: files that change after the approval are refused with one token for the set.
func TestRetryOfASetAfterTheApproval(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	readFive(t, s)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		s.Answer = nil
		for _, name := range []string{"b.txt", "old.txt"} {
			s.Write(name, replaceLines(numbered(100), 10))
		}
		return bus.ProceedOnce
	}
	r := s.Call(file.ApplyPatch, args{"input": fiveFiles})
	require.Equal(t, "retry-1", r.Result.Error.Retry, "%s", r.Result.Error.Text())
	require.Len(t, configtest.Decode[file.SetReport](t, r).LatestFileStates, 2)
	r = s.Call(file.ApplyPatch, args{"input": "retry-1"})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	requireFive(t, s, "b.txt", "old.txt")
}

// ST-03, ST-08: the states of several stale files fit one result. Without room for all there is no token, because the
// conversation does not receive every base.
func TestStaleSetFitsResults(t *testing.T) {
	t.Parallel()
	for size, token := range map[int]string{9000: "retry-1", 6000: ""} {
		s := newSession(t, bounded(size))
		readFive(t, s, "b.txt", "old.txt")
		r := s.Call(file.ApplyPatch, args{"input": fiveFiles})
		requireFits(t, r, size)
		require.Equal(t, token, r.Result.Error.Retry)
		states := configtest.Decode[file.SetReport](t, r).LatestFileStates
		require.NotNil(t, states[0].Content)
		require.Equal(t, token == "", states[1].Content == nil)
	}
}

// ST-03: a token carries every form of text over: line endings, a missing final newline, a byte-order mark, lines that
// occur several times.
func TestRetryOfEveryText(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{
		"CRLF":             strings.ReplaceAll(numbered(100), "\n", "\r\n"),
		"no final newline": strings.TrimSuffix(numbered(100), "\n"),
		"byte-order mark":  "\ufeff" + numbered(100),
		"repeated lines":   strings.Repeat("x\n", 40) + numbered(100)[strings.Index(numbered(100), "line 41 "):],
	} {
		for _, tool := range []string{file.SafePatch, file.ApplyPatch} {
			t.Run(name+" "+tool, func(t *testing.T) {
				t.Parallel()
				s := newSession(t)
				s.Write("a.txt", base)
				read(t, s, "a.txt")
				lines := strings.SplitAfter(base, "\n")
				lines[9] = "THEIRS" + lines[9]
				theirs := strings.Join(lines, "")
				s.Write("a.txt", theirs)
				r := patchAll(s, line60("a.txt"))
				again := args{"input": "retry-1"}
				if tool == file.SafePatch {
					r = s.Call(tool, patchArgs("a.txt", "@@ @@\n line 59 of the text\n-line 60 of the text\n+LINE 60 OF THE TEXT\n", sum(base)))
					again = patchArgs("a.txt", "retry-1", sum(theirs))
					require.Equal(t, "retry-2", r.Result.Error.Retry, "%s", r.Result.Error.Text())
					again["unified_diff"] = "retry-2"
				}
				require.NotEmpty(t, r.Result.Error.Retry, "%s", r.Result.Error.Text())
				succeed(t, s.Call(tool, again))
				require.Equal(t, strings.Replace(theirs, "line 60 of the text", "LINE 60 OF THE TEXT", 1), s.Read("a.txt"))
			})
		}
	}
}

// ED-01, TX-04: the result of a set has the repairs of the patch, with their files.
func TestCorrectionsOfASet(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	readTwo(t, s)
	r := s.Call(file.ApplyPatch, args{"input": "Here it is:\n```\n" + envelope(two("a.txt"), strings.Replace(two("b.txt"), " one\n", " one \n", 1)) + "```\n"})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	var kinds []string
	for _, c := range configtest.Decode[file.SetReport](t, r).Corrections {
		kinds = append(kinds, strings.TrimPrefix(c.FilePath, s.Dir+string(os.PathSeparator))+" "+c.Kind)
	}
	require.Contains(t, kinds, " prose")
	require.Contains(t, kinds, "b.txt trailing_whitespace")
	r = s.Call(file.ApplyPatch, args{"input": "Here it is:\n" + envelope("*** Update File: a.txt\n@@\n-TWO\n+two\n")})
	require.Contains(t, r.Result.LLMContent.String(), `"prose"`)
}

// seam calls at for each window of a change of the file last.
func seam(last string, at func(window string)) func(*config.Parameters) {
	return func(p *config.Parameters) {
		p.Calls.Seam = func(name string, path workspace.Path) error {
			if path.Base() == last {
				at(name)
			}
			return nil
		}
	}
}

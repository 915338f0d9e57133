package file_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/file"
)

func rebasing(p *config.Parameters) { p.Session.StaleEdits = "rebase" }

// between returns the diff from one text to another, for safe_patch.
func between(before, after string) string {
	return patch.Between(before, after).Unified("a/a.txt", "b/a.txt")
}

// stale reads base as a.txt, lets another program write theirs, and patches base to ours.
func stale(t testing.TB, s *configtest.Session, base, theirs, ours string) scheduler.Response {
	t.Helper()
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	s.Write("a.txt", theirs)
	return s.Call(file.SafePatch, patchArgs("a.txt", between(base, ours), sum(base)))
}

// offered requires a refusal because of the other program's text that offers token.
func offered(t testing.TB, r scheduler.Response, token, theirs string) {
	t.Helper()
	report := refuse(t, r, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, token, r.Result.Error.Retry)
	require.True(t, strings.HasPrefix(report.Message, filestate.StateMismatch+" "))
	sent := configtest.Decode[file.Report](t, r)
	require.Contains(t, sent.Message, token)
	require.NotContains(t, sent.Message, "…", "nothing is cut to make room for the hash")
	require.Equal(t, sum(theirs), *report.LatestFileState.SHA256)
	require.Contains(t, string(r.Result.FunctionResponse()), `"retry":"`+token+`"`)
}

// ST-03: the refusal of a stale patch offers a token. The call with the token applies the carried-over change once;
// hooks, policy, the approver and the recording see its whole diff.
func TestRetry(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	theirs, ours, both := replaceLines(base, 10), replaceLines(base, 60), replaceLines(base, 10, 60)
	var hooked []string
	s := newSession(t, func(p *config.Parameters) {
		p.Calls.Before = append(p.Calls.Before, func(_ context.Context, c scheduler.Proposal) (scheduler.Advice, error) {
			if c.Spec.Name == file.SafePatch {
				hooked = append(hooked, string(c.Args))
			}
			return scheduler.Advice{}, nil
		})
	})
	offered(t, stale(t, s, base, theirs, ours), "retry-1", theirs)
	require.Equal(t, theirs, s.Read("a.txt"))
	require.Empty(t, s.Confirmations())

	r := s.Call(file.SafePatch, patchArgs("a.txt", "retry-1", sum(theirs)))
	report := succeed(t, r)
	require.Equal(t, both, s.Read("a.txt"))
	require.Equal(t, both, *report.LatestFileState.Content)
	var params file.SafePatchParams
	require.NoError(t, json.Unmarshal(r.Params, &params))
	require.Equal(t, between(theirs, both), params.UnifiedDiff)
	require.Equal(t, []string{string(r.Params)}, hooked[1:])
	questions := s.Confirmations()
	require.Len(t, questions, 1)
	require.Equal(t, between(theirs, both), questions[0].Details.EditDetails.FileDiff)
	require.JSONEq(t, string(r.Params), string(questions[0].ToolCall.Args))

	report = refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-1", sum(both))), fault.InvalidDiff, fault.NothingToRetry)
	require.Equal(t, both, *report.LatestFileState.Content)

	// A retry that comes too late is offered again, under another token.
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	offered(t, stale(t, s, base, theirs, ours), "retry-2", theirs)
	later := replaceLines(theirs, 90)
	s.Write("a.txt", later)
	offered(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-2", sum(theirs))), "retry-3", later)
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", " retry-3\n", sum(later))))
	require.Equal(t, replaceLines(base, 10, 60, 90), s.Read("a.txt"))
}

// ST-03: a file that changes after the approval is refused with a token too.
func TestRetryAfterTheApproval(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	theirs := replaceLines(base, 10)
	for _, window := range changeWindows {
		t.Run(window, func(t *testing.T) {
			s, arm := stagedSession(t, window, func(s *configtest.Session) { s.Write("a.txt", theirs) })
			s.Write("a.txt", base)
			read(t, s, "a.txt")
			arm()
			offered(t, s.Call(file.SafePatch, patchArgs("a.txt", between(base, replaceLines(base, 60)), sum(base))), "retry-1", theirs)
			succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-1", sum(theirs))))
			require.Equal(t, replaceLines(base, 10, 60), s.Read("a.txt"))
		})
	}
}

// ST-03: a token is valid for its file, the state of it in the refusal, and the conversation.
func TestRetryElsewhere(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	theirs, ours := replaceLines(base, 10), replaceLines(base, 60)
	nothing := func(t testing.TB, r scheduler.Response) { refuse(t, r, fault.InvalidDiff, fault.NothingToRetry) }
	for name, use := range map[string]func(t *testing.T, s *configtest.Session){
		"another file": func(t *testing.T, s *configtest.Session) {
			s.Write("b.txt", theirs)
			read(t, s, "b.txt")
			nothing(t, s.Call(file.SafePatch, patchArgs("b.txt", "retry-1", sum(theirs))))
			succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-1", sum(theirs))))
		},
		"another state": func(t *testing.T, s *configtest.Session) {
			s.Write("a.txt", base)
			read(t, s, "a.txt")
			nothing(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-1", sum(base))))
		},
		"another conversation": func(t *testing.T, s *configtest.Session) {
			child, err := s.Derive(config.DeriveParameters{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, child.Close()) })
			configtest.Call(t.Context(), t, child, file.ReadFile, args{"file_path": "a.txt"})
			nothing(t, configtest.Call(t.Context(), t, child, file.SafePatch, patchArgs("a.txt", "retry-1", sum(theirs))))
		},
		"another number": func(t *testing.T, s *configtest.Session) {
			nothing(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-2", sum(theirs))))
		},
		"after a compaction": func(t *testing.T, s *configtest.Session) {
			require.NoError(t, s.Compacted())
			nothing(t, s.Call(file.SafePatch, patchArgs("a.txt", "retry-1", sum(theirs))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			offered(t, stale(t, s, base, theirs, ours), "retry-1", theirs)
			use(t, s)
		})
	}
}

// ST-02, ST-03, ST-04: without a safe way to carry the change over there is no token and no rebase, and write_file is
// never carried over.
func TestNotCarriedOver(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	ours := replaceLines(base, 60)
	withheld := func(p *config.Parameters) { p.Tools.Exclude = []string{file.ReadFile} }
	for name, tt := range map[string]struct {
		theirs string
		change func(*config.Parameters) // nil: none
		call   func(s *configtest.Session) scheduler.Response
	}{
		"near":            {replaceLines(base, 62), nil, nil},
		"byte-order mark": {"\ufeff" + replaceLines(base, 10), nil, nil},
		"encoding":        {string([]byte{0xff, 0xfe}) + strings.ReplaceAll(replaceLines(base, 10), "", "\x00")[1:], nil, nil},
		"a wrong patch": {replaceLines(base, 10), nil, func(s *configtest.Session) scheduler.Response {
			return s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-nowhere\n+x\n", sum(base)))
		}},
		"an unknown hash": {replaceLines(base, 10), nil, func(s *configtest.Session) scheduler.Response {
			return s.Call(file.SafePatch, patchArgs("a.txt", between(base, ours), wrong))
		}},
		"write_file": {replaceLines(base, 10), nil, func(s *configtest.Session) scheduler.Response {
			return s.Call(file.WriteFile, writeArgs("a.txt", ours, sum(base)))
		}},
		"cache disabled": {replaceLines(base, 10), func(p *config.Parameters) {
			p.Session.FileReadCacheDisabled = new(bool)
			*p.Session.FileReadCacheDisabled = true
		}, nil},
		"may not be shown": {replaceLines(base, 10), withheld, nil},
	} {
		for mode, set := range map[string]func(*config.Parameters){"refuse": func(*config.Parameters) {}, "rebase": rebasing} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, set, func(p *config.Parameters) {
					if tt.change != nil {
						tt.change(p)
					}
				})
				s.Write("a.txt", base)
				s.Call(file.ReadFile, args{"file_path": "a.txt"})
				s.Write("a.txt", tt.theirs)
				var r scheduler.Response
				if tt.call != nil {
					r = tt.call(s)
				} else {
					r = s.Call(file.SafePatch, patchArgs("a.txt", between(base, ours), sum(base)))
				}
				require.NotNil(t, r.Result.Error)
				require.Empty(t, r.Result.Error.Retry)
				require.Equal(t, tt.theirs, s.Read("a.txt"))
			})
		}
	}
}

// ST-04: with rebase the carried-over change is made at once. The result names both bases and shows the change of the
// other program, or its line ranges, and the conversation knows the file.
func TestRebase(t *testing.T) {
	t.Parallel()
	base := numbered(3000)
	for name, tt := range map[string]struct {
		base, theirs string
		above        int // ChangedRegionsAbove
		shown        string
	}{
		"a short file": {numbered(100), replaceLines(numbered(100), 10), 0, "-line 10 of the text\n+LINE 10 OF THE TEXT\n"},
		"regions":      {numbered(1000), replaceLines(numbered(1000), 10), 0, "-line 10 of the text\n+LINE 10 OF THE TEXT\n"},
		"no content":   {base, replaceLines(base, 10), -1, "-line 10 of the text\n+LINE 10 OF THE TEXT\n"},
		"long change":  {numbered(1000), strings.Replace(numbered(1000), "line 10 of", strings.Repeat("new\n", 1500), 1), 0, "lines 10-10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, rebasing, regionsAbove(tt.above))
			ours := replaceLines(tt.base, 60)
			s.Write("a.txt", tt.base)
			for offset := 0; offset < strings.Count(tt.base, "\n"); offset += 2000 {
				read(t, s, "a.txt", args{"offset": offset})
			}
			s.Write("a.txt", tt.theirs)
			r := s.Call(file.SafePatch, patchArgs("a.txt", between(tt.base, ours), sum(tt.base)))
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
			report := configtest.Decode[file.Report](t, r)
			now := s.Read("a.txt")
			require.Equal(t, strings.Replace(tt.theirs, "line 60 of the text", "LINE 60 OF THE TEXT", 1), now)
			require.Contains(t, report.Message, sum(tt.base)[:12])
			require.Contains(t, report.Message, sum(tt.theirs)[:12])
			st := report.LatestFileState
			require.Contains(t, st.Notice, sum(tt.base))
			require.Contains(t, st.Notice, sum(tt.theirs))
			require.Contains(t, st.Notice, tt.shown)
			require.Equal(t, sum(now), *st.SHA256)
			require.Less(t, strings.Index(r.Result.LLMContent.String(), *st.SHA256), 300-64)
			questions := s.Confirmations()
			require.Len(t, questions, 1)
			require.Equal(t, tt.theirs, *questions[0].Details.EditDetails.OriginalContent)
			r = s.Call(file.Edit, editArgs("a.txt", "line 80 of", "LINE 80 OF"))
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
		})
	}
}

// ST-04: a version is known only if the base was and the change of the other program was shown completely.
func TestRebaseThatIsNotKnown(t *testing.T) {
	t.Parallel()
	base := numbered(3000)
	s := newSession(t, rebasing, regionsAbove(-1))
	s.Write("a.txt", base)
	read(t, s, "a.txt", args{"offset": 0})
	read(t, s, "a.txt", args{"offset": 2000})
	s.Write("a.txt", strings.Replace(base, "line 10 of", strings.Repeat("new\n", 1500), 1))
	r := s.Call(file.SafePatch, patchArgs("a.txt", between(base, replaceLines(base, 60)), sum(base)))
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Nil(t, configtest.Decode[file.Report](t, r).LatestFileState.Content)
	requireError(t, s.Call(file.Edit, editArgs("a.txt", "line 80 of", "LINE 80 OF")), fault.FileChangedSinceRead, fault.Changed)
}

// ST-04: the version is known if and only if the result has room for the change of the other program.
func TestRebaseKnowsWhatItShows(t *testing.T) {
	t.Parallel()
	base := numbered(1000)
	theirs := strings.Replace(base, "line 10 of", strings.Repeat("new ", 500), 1)
	results := make(map[bool]int)
	for most := 3200; most <= 4600; most += 40 {
		s := newSession(t, rebasing, regionsAbove(-1))
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		s.Write("a.txt", theirs)
		state, err := s.FileState()
		require.NoError(t, err)
		state.SetResultBytes(most)
		r := s.Call(file.SafePatch, patchArgs("a.txt", between(base, replaceLines(base, 60)), sum(base)))
		require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
		st := configtest.Decode[file.Report](t, r).LatestFileState
		require.Nil(t, st.Content)
		shown := strings.Contains(st.Notice, "\n+new new ")
		results[shown]++
		r = s.Call(file.Edit, editArgs("a.txt", "line 80 of", "LINE 80 OF"))
		require.Equal(t, shown, r.Status == scheduler.StatusSuccess, "a result of %d bytes: %v", most, r.Result.Error)
	}
	require.Len(t, results, 2, "%v", results)
}

// ST-05: if the file changes after the approval, the question is asked again, with the diff that will be applied.
func TestRebaseAsksAgain(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	ours, both := replaceLines(base, 60), replaceLines(base, 10, 60)
	theirs := replaceLines(base, 10)
	for _, window := range changeWindows[1:] {
		for _, again := range []bus.Outcome{bus.ProceedOnce, bus.Cancel} {
			t.Run(window+" "+string(again), func(t *testing.T) {
				t.Parallel()
				var s *configtest.Session
				armed := false
				at := func(name string) {
					if armed && name == window {
						armed = false
						s.Write("a.txt", theirs)
					}
				}
				s = newSession(t, rebasing, func(p *config.Parameters) {
					p.Calls.Seam = func(name string, _ workspace.Path) error { at(name); return nil }
				})
				s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
					if len(s.Confirmations()) > 1 {
						return again
					}
					at("prompt")
					return bus.ProceedOnce
				}
				s.Write("a.txt", base)
				read(t, s, "a.txt")
				armed = true
				r := s.Call(file.SafePatch, patchArgs("a.txt", between(base, ours), sum(base)))
				questions := s.Confirmations()
				require.Len(t, questions, 2)
				require.Equal(t, between(base, ours), questions[0].Details.EditDetails.FileDiff)
				require.Equal(t, between(theirs, both), questions[1].Details.EditDetails.FileDiff)
				require.Equal(t, sum(theirs), questions[1].Details.Bases[0].SHA256)
				if again == bus.Cancel {
					require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
					require.Equal(t, theirs, s.Read("a.txt"))
					return
				}
				require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
				require.Equal(t, both, s.Read("a.txt"))
			})
		}
	}
}

// ST-04, ST-05: a file that keeps changing is refused in the end, with a token.
func TestRebaseEnds(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	s := newSession(t, rebasing)
	theirs := base
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		theirs = replaceLines(base, 10) + strings.Repeat("more\n", len(s.Confirmations()))
		s.Write("a.txt", theirs)
		return bus.ProceedOnce
	}
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	r := s.Call(file.SafePatch, patchArgs("a.txt", between(base, replaceLines(base, 60)), sum(base)))
	offered(t, r, "retry-1", theirs)
	require.Len(t, s.Confirmations(), 6)
	require.Equal(t, theirs, s.Read("a.txt"))
}

package file_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// ST-05, ST-04: restore undoes a change that was carried over during its call, and nothing else. It finds the call by
// the model's id, also if the user was asked again. The change of the other program belongs to no call.
func TestRestoreOfARebase(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	theirs, both := replaceLines(base, 10), replaceLines(base, 10, 60)
	for name, approval := range map[string]policy.ApprovalMode{"approved": policy.ModeDefault, "not asked": policy.ModeYolo} {
		for _, denied := range []bool{false, true} {
			for _, window := range []string{"confirm-write", "check-commit"} {
				if denied && approval == policy.ModeYolo {
					continue
				}
				t.Run(fmt.Sprintln(name, denied, window), func(t *testing.T) {
					t.Parallel()
					var s *configtest.Session
					armed := false
					s = newSession(t, rebasing, func(p *config.Parameters) {
						p.Policy.ApprovalMode = approval
						p.Session.Checkpoints = new(bool)
						*p.Session.Checkpoints = true
						p.Calls.Seam = func(at string, _ workspace.Path) error {
							if armed && at == window {
								armed = false
								s.Write("a.txt", theirs)
							}
							return nil
						}
					})
					s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
						if denied && len(s.Confirmations()) > 1 {
							return bus.Cancel
						}
						return bus.ProceedOnce
					}
					s.Write("a.txt", base)
					read(t, s, "a.txt")
					armed = true
					calls, err := s.Scheduler()
					require.NoError(t, err)
					r := calls.Run(t.Context(), scheduler.Request{
						CallID: "the call", Tool: file.SafePatch, Args: jsonOf(t, patchArgs("a.txt", between(base, replaceLines(base, 60)), sum(base))),
					})
					kept, err := s.Checkpoints()
					require.NoError(t, err)
					history, err := kept.History(t.Context(), "")
					require.NoError(t, err)
					var kinds []checkpoint.EntryKind
					for _, e := range history.Turns[0].Entries {
						kinds = append(kinds, e.Kind)
						require.Len(t, e.Files, 1)
					}
					if denied {
						require.Equal(t, scheduler.StatusDenied, r.Status)
						require.Equal(t, []checkpoint.EntryKind{checkpoint.KindBetween}, kinds)
						return
					}
					require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
					require.Equal(t, both, s.Read("a.txt"))
					require.Equal(t, []checkpoint.EntryKind{checkpoint.KindBetween, checkpoint.KindCall}, kinds)
					restore(t, s, checkpoint.Selection{Call: "the call"})
					require.Equal(t, theirs, s.Read("a.txt"))
				})
			}
		}
	}
}

// ST-05, TX-04: the same for a set, of which one file changes after the approval.
func TestRestoreOfASetWithARebase(t *testing.T) {
	t.Parallel()
	base := numbered(100)
	theirs := replaceLines(base, 10)
	var s *configtest.Session
	armed := false
	s = newSession(t, rebasing, func(p *config.Parameters) {
		p.Session.Checkpoints = new(true)
		p.Calls.Seam = func(at string, _ workspace.Path) error {
			if armed && at == "confirm-write" {
				armed = false
				s.Write("b.txt", theirs)
			}
			return nil
		}
	})
	patches := ""
	for _, name := range []string{"a.txt", "b.txt"} {
		s.Write(name, base)
		read(t, s, name)
		patches += "*** Update File: " + name + "\n@@\n-line 60 of the text\n+LINE 60 OF THE TEXT\n"
	}
	armed = true
	calls, err := s.Scheduler()
	require.NoError(t, err)
	r := calls.Run(t.Context(), scheduler.Request{CallID: "the set", Tool: file.ApplyPatch, Args: jsonOf(t, args{"input": envelope(patches)})})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	require.Len(t, s.Confirmations(), 2)
	require.Equal(t, replaceLines(base, 10, 60), s.Read("b.txt"))
	restore(t, s, checkpoint.Selection{Call: "the set"})
	require.Equal(t, base, s.Read("a.txt"))
	require.Equal(t, theirs, s.Read("b.txt"))
}

// restore undoes the selected changes.
func restore(t *testing.T, s *configtest.Session, selection checkpoint.Selection) {
	t.Helper()
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	plan, err := kept.Plan(t.Context(), selection)
	require.NoError(t, err)
	_, err = kept.Restore(t.Context(), plan)
	require.NoError(t, err)
}

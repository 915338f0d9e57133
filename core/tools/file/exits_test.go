package file_test

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// The ends of a change that no other test reaches (FS-11, FS-27, TE-04). Every test of this package decodes reports
// strictly.

// A call that is cancelled during its commit still returns all three keys.
func TestCancelledCommit(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSession(t, func(p *config.Parameters) {
			p.Calls.Seam = func(at string, _ workspace.Path) error {
				if at == "commit:"+string(commit.StepTempWritten) {
					cancel()
				}
				return nil
			}
		})
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		before := listing(t, s.Dir)
		r := s.CallContext(ctx, m.tool, m.change("a.txt"))
		require.Equal(t, scheduler.StatusCancelled, r.Status)
		require.Equal(t, fault.Cancelled, r.Result.Error.Code)
		requireWithheld(t, reportOf(t, r).LatestFileState, s.Path("a.txt"))
		require.Equal(t, base, s.Read("a.txt"))
		require.Equal(t, before, listing(t, s.Dir))
	})
}

// FS-59: another program has the file open for writing. Remedy: after it has closed the file, the same call succeeds.
func TestOpenElsewhere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports open files")
	}
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		path := s.Write("a.txt", base)
		read(t, s, "a.txt")
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer f.Close()
		r := s.Call(m.tool, m.change("a.txt"))
		report := refuse(t, r, fault.FileChangedSinceRead, fault.OpenElsewhere)
		requireShown(t, report.LatestFileState)
		require.Contains(t, r.Result.Error.Remedy, "closed")
		require.Equal(t, base, s.Read("a.txt"))
		require.NoError(t, f.Close())
		succeed(t, s.Call(m.tool, m.change("a.txt")))
	})
}

// keeper commits and then returns err, with a kept file of another process.
type keeper struct {
	*mutation.Service
	err *fault.Error
}

func (k keeper) Commit(ctx context.Context, p *mutation.Plan) mutation.Outcome {
	out := k.Service.Commit(ctx, p)
	out.Err = k.err
	out.KeptFiles = []string{"/dir/kept"}
	return out
}

// FS-60: files kept next to the target are reported for a success and for a failure.
func TestKeptFilesAreReported(t *testing.T) {
	for _, err := range []*fault.Error{nil, fault.New(fault.NoSpaceLeft, "test", "Full.", "Free some.")} {
		b := newBench(t)
		b.write(t, "a.txt", base)
		b.services.Mutator = keeper{b.services.Mutator.(*mutation.Service), err}
		result, report := b.call(t, file.SafePatch, patchArgs("a.txt", baseDiff, sum(base)))
		require.Equal(t, err, result.Error)
		require.Equal(t, []string{"/dir/kept"}, report.KeptFiles)
		var keys map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(result.LLMContent.String()), &keys))
		require.Len(t, keys, 4)
		require.Contains(t, keys, "kept_files")
	}
}

// FS-45: if the base changes while the user is asked, the call fails with the current state. The approval of the first
// change does not cover a second.
func TestApprovalIsForOneChange(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		s.Write("a.txt", "zero\n"+base)
		return bus.ProceedOnce
	}
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, sum(base))), fault.FileChangedSinceRead, fault.Changed)
	s.Answer = nil
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, *report.LatestFileState.SHA256)))
	require.Len(t, s.Confirmations(), 2)
	require.Equal(t, "zero\n"+base, *s.Confirmations()[1].Details.OriginalContent)
}

// Plan mode previews a change without making it, and refuses a change that would fail.
func TestPlanMode(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModePlan })
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		before := tree(t, s.Dir)
		r := s.Call(m.tool, m.change("a.txt"))
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.Contains(t, r.Result.LLMContent.String(), "Nothing was changed")
		require.Equal(t, changed, r.Result.ReturnDisplay.Diff.NewContent)
		s.Call(m.tool, m.create("new/tree.txt"))
		require.Equal(t, before, tree(t, s.Dir))
		s.Write("a.txt", "other\n")
		before = tree(t, s.Dir)
		requireError(t, s.Call(m.tool, m.change("a.txt")), fault.FileChangedSinceRead, fault.Changed)
		require.Equal(t, before, tree(t, s.Dir))
		require.Empty(t, s.Confirmations())
	})
}

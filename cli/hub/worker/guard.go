package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/hub/ledger"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// seam checks the lease at the last step of a commit from which it can go back. It is called on
// the goroutine of the call.
func (r *run) seam(at string, _ workspace.Path) error {
	step, ok := strings.CutPrefix(at, "commit:")
	if !ok {
		return nil
	}
	switch commit.Step(step) {
	case commit.StepLocked, commit.StepChecked, commit.StepTempLinked:
		if r.lease.Left() <= 0 {
			return lost()
		}
	case commit.StepTempWritten, commit.StepRechecked, commit.StepRecoverySaved: // the exchange, or the creation, follows
		if r.lease.Check(context.Background()) != nil {
			return lost()
		}
		r.mu.Lock()
		r.checked = time.Now()
		r.mu.Unlock()
	case commit.StepExchanged:
		r.mu.Lock()
		r.window = max(r.window, time.Since(r.checked))
		r.mu.Unlock()
	}
	return nil
}

func lost() error {
	return fault.New(fault.ExecutionFailed, "hub.lease", "Another worker may own the workspace now; nothing was changed.", "")
}

// executing runs before each call that may change something. It checks the lease, asks about a
// command that may have run already, and records the begin of the call before the call runs.
func (r *run) executing(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
	if !p.Spec.Mutates() {
		return nil, nil
	}
	if err := r.lease.Check(ctx); err != nil {
		return nil, lost()
	}
	one := store.Unfinished{CallID: p.CallID, Tool: p.Spec.Name, Text: display.Line(inv.Description()), Digest: digest(p), File: !isCommand(p.Spec.Kind)}
	if slices.ContainsFunc(r.doubtful, func(u store.Unfinished) bool { return u.Digest == one.Digest }) && isCommand(p.Spec.Kind) &&
		!r.agreed(ctx, "This command had started before, and its result is unknown:\n"+one.Text+"\nRun it again?") {
		return nil, fault.New(fault.ExecutionFailed, "hub.repeat", "The command had started before, its result is unknown, and no approver allowed to run it again.", "Check its effects with other commands.")
	}
	e := ledger.Entry{Workspace: r.o.Workspace, Job: r.job.ID, Event: ledger.Begin, CallID: p.CallID, Tool: p.Spec.Name, Arguments: one.Digest, Actor: "policy"}
	r.answers.mu.Lock()
	if a, ok := r.answers.made[p.CallID]; ok {
		e.Actor, e.Approval = a.Actor, a.Approval
	}
	r.answers.mu.Unlock()
	for _, l := range inv.Locations() {
		e.Files = append(e.Files, ledger.File{Path: l.Path, Base: hashOf(l.Path)})
	}
	if err := r.note(ctx, func(all []store.Unfinished) []store.Unfinished { return append(all, one) }); err != nil {
		return nil, unrecorded(err)
	}
	short, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	if err := r.ledger.Record(short, e); err != nil {
		return nil, unrecorded(err)
	}
	return func(ctx context.Context, _ bool) []string { return r.ended(ctx, e, one) }, nil
}

// recordTime is the time by which the begin of a call must be recorded.
const recordTime = 10 * time.Second

func unrecorded(err error) error {
	return fault.Wrap(fault.ExecutionFailed, "hub.record", "The hub did not record the call, so it was not run: "+err.Error()+".", "Retry once the hub is reachable.", err)
}

// ended records the end of a call. A call whose end is not recorded counts as unfinished.
func (r *run) ended(ctx context.Context, e ledger.Entry, one store.Unfinished) []string {
	err := r.endedFiles(ctx, e)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.lease.Left(), 0))
		defer cancel()
		err = r.note(ctx, func(all []store.Unfinished) []store.Unfinished {
			return slices.DeleteFunc(all, func(u store.Unfinished) bool { return u.CallID == one.CallID || u.Digest == one.Digest })
		})
	}
	if err != nil {
		return []string{"The hub did not record the end of this call."}
	}
	return nil
}

// endedFiles records the end of a call, while the lease lasts.
func (r *run) endedFiles(ctx context.Context, e ledger.Entry) error {
	e.Event, e.Files = ledger.End, slices.Clone(e.Files)
	for i := range e.Files {
		e.Files[i].New = hashOf(e.Files[i].Path)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.lease.Left(), 0))
	defer cancel()
	return r.persist(ctx, func() error { return r.ledger.Record(ctx, e) })
}

// note changes the unfinished calls of the stored state.
func (r *run) note(ctx context.Context, change func([]store.Unfinished) []store.Unfinished) error {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.job.Unfinished
	r.job.Unfinished = change(slices.Clone(before))
	if err := r.saveLocked(ctx); err != nil {
		r.job.Unfinished = before
		return err
	}
	return nil
}

// commandsInDoubt lists the commands that an earlier worker had started, a line each. Changes of
// files need no list: the next read and the hash of the next change settle them.
func (r *run) commandsInDoubt() string {
	var b strings.Builder
	for _, u := range r.doubtful {
		fmt.Fprintf(&b, "- %s\n", u.Text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isCommand reports whether the effect of a call cannot be settled by the hashes of its files.
func isCommand(k tools.Kind) bool {
	return k != tools.KindEdit && k != tools.KindDelete && k != tools.KindMove
}

// digest identifies a call by its tool and arguments.
func digest(p scheduler.Proposal) string {
	sum := sha256.Sum256(slices.Concat([]byte(p.Spec.Name+"\x00"), p.Args))
	return hex.EncodeToString(sum[:])
}

// maxHashed is the size of the largest file that is hashed for the ledger.
const maxHashed = 64 << 20

// hashOf returns the hash of a file; "" if it is no regular file, is larger or cannot be read.
func hashOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxHashed {
		return ""
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

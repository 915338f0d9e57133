package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// SetOutcome is the result of [Service.CommitSet], and of a set that [Service.PlanSet] refuses.
type SetOutcome struct {
	Err *fault.Error // nil: all changes are on disk, unless Carried is set; otherwise none is
	// Failed are the indices of the refused plans: first the one that Err concerns, then those whose
	// files other writers have changed. None: Err concerns the whole set.
	Failed []int
	// Carried are all changes of the set, those of changed files carried over, as in [Outcome]. Nil: not
	// all of them carry over.
	Carried []*Plan
	// States are the latest states: of all plans, or of the refused ones in the order of Failed. Of a
	// deleted file a state has only the path.
	States    []filestate.State
	KeptFiles []string // as in [Outcome]
}

// The bytes reserved in the result of a set: for its message, and for each state without its content
// and path.
const (
	messageBytes = 1200
	stateBytes   = 200
)

// PlanSet plans changes that are committed together. It plans all of them, unless one is refused for
// another reason than a change by another writer. refused is the outcome of such a set; nil: the plans
// are ready. A set is refused too if its result would be too long, and if two changes concern one
// file, with links resolved.
func (s *Service) PlanSet(ctx context.Context, requests []Request) (plans []*Plan, refused *SetOutcome) {
	room := s.room(requests)
	if room < 0 {
		return nil, &SetOutcome{Err: fault.New(fault.InvalidToolParams, "mutation.set",
			fmt.Sprintf("The result of %d changes would be too long.", len(requests)), "Change fewer files at once.")}
	}
	if out := s.checkPlaces(requests); out != nil {
		return nil, out
	}
	var failed []int
	for i, r := range requests {
		p := s.plan(ctx, r, max(room, 1))
		plans = append(plans, p)
		if p.refusal == nil {
			continue
		}
		room -= contentBytes(p.refusal.State)
		if !isStale(p.refusal.Err) {
			return plans, refusedSet(plans, append([]int{i}, failed...))
		}
		failed = append(failed, i)
	}
	if failed != nil {
		return plans, refusedSet(plans, failed)
	}
	return plans, nil
}

// refusedSet returns the outcome of a set with refused plans.
func refusedSet(plans []*Plan, failed []int) *SetOutcome {
	first := plans[failed[0]].refusal
	out := &SetOutcome{Err: first.Err, Failed: failed, KeptFiles: first.KeptFiles}
	for _, i := range failed {
		out.States = append(out.States, plans[i].refusal.State)
	}
	for _, p := range plans {
		if p.refusal != nil && p.refusal.Carried == nil {
			out.Carried = nil
			break
		}
		out.Carried = append(out.Carried, p.again())
	}
	return out
}

// again returns the plan to commit instead of p, which was not committed.
func (p *Plan) again() *Plan {
	if p.refusal != nil {
		return p.refusal.Carried
	}
	next := *p
	next.spent = false
	return &next
}

// checkPlaces returns the outcome of a set of which two changes concern one file.
func (s *Service) checkPlaces(requests []Request) *SetOutcome {
	places := make(map[string]bool)
	for i, r := range requests {
		for _, path := range []workspace.Path{r.Path, r.To} {
			if path == (workspace.Path{}) {
				continue
			}
			place := s.place(path)
			if places[place] {
				return &SetOutcome{Failed: []int{i}, States: []filestate.State{filestate.Withheld(path.String())}, Err: fault.New(fault.InvalidToolParams,
					"mutation.set", fmt.Sprintf("Two operations concern %s.", path.String()), "Combine them into one operation.")}
			}
			places[place] = true
		}
	}
	return nil
}

// place returns the absolute name of a file, with links resolved as far as its directories exist.
func (s *Service) place(p workspace.Path) string {
	place, err := s.files.Place(p)
	if err != nil {
		return p.String()
	}
	return place
}

// room returns the number of bytes for contents in the result of a set.
func (s *Service) room(requests []Request) int {
	room := s.state.ResultBytes() - messageBytes
	for _, r := range requests {
		room -= stateBytes + 2*len(r.Path.String()) + len(r.To.String())
	}
	return room
}

// CommitSet commits the plans of a set: all of them, or none. A plan belongs to one call of Commit or
// CommitSet.
func (s *Service) CommitSet(ctx context.Context, plans []*Plan) *SetOutcome {
	operations, requests := make([]transaction.Operation, len(plans)), make([]Request, len(plans))
	for i, p := range plans {
		if p.spent || p.refusal != nil {
			return &SetOutcome{Err: fault.New(fault.ExecutionFailed, "mutation.set", "These changes were refused, or already committed.", "Plan them again.")}
		}
		p.spent = true
		requests[i] = p.request
	}
	for i, p := range plans {
		s.at(WindowCommit, p.request.Path)
		if refusal := s.state.Decide(p.check()); refusal != nil {
			return s.refuseSet(ctx, plans, i, refusal, nil)
		}
		p.known = p.known && s.state.Knows(p.request.Path, p.info, p.base.SHA256) // as in Commit
		operations[i] = p.operation()
		s.at(WindowRechecked, p.request.Path)
	}
	out, err := s.sets.Commit(ctx, operations)
	s.logKept(plans[0].request.Verb.Component, "", out.KeptFiles)
	if err != nil && out.Failed < 0 {
		return &SetOutcome{Err: asFault(err, "mutation.set"), KeptFiles: out.KeptFiles}
	}
	if err != nil {
		p := plans[out.Failed]
		check := p.check()
		if e := fault.As(err); e != nil && e.Reason == fault.NeverRead && p.moves() {
			check.Path = p.request.To
		}
		return s.refuseSet(ctx, plans, out.Failed, s.late(check, err), out.KeptFiles)
	}
	done := &SetOutcome{KeptFiles: out.KeptFiles}
	room := s.room(requests)
	for i, p := range plans {
		st := s.writtenTogether(ctx, p, out.Files[i], max(room, 1))
		room -= contentBytes(st)
		done.States = append(done.States, st)
	}
	return done
}

// refuseSet refuses a set that was ready because of plan i. If another writer has changed its file,
// the files of the other plans are read too, so that the outcome has all that have changed.
func (s *Service) refuseSet(ctx context.Context, plans []*Plan, i int, refusal *fault.Error, kept []string) *SetOutcome {
	if !isStale(refusal) {
		s.refuseLate(ctx, plans[i], refusal, kept)
		return refusedSet(plans, []int{i})
	}
	s.logLate(plans[i].request, refusal)
	var failed []int
	snaps, carried := make([]*filestate.Snapshot, len(plans)), make([]*Plan, len(plans))
	rebases := len(kept) == 0
	requests := make([]Request, len(plans))
	for j, p := range plans {
		requests[j], carried[j] = p.request, p.again()
		stale := refusal
		if j != i {
			stale = s.state.RefuseMoved(p.check(), fault.Changed)
		}
		snap := s.snapshotLate(ctx, p, stale)
		if j != i && (snap == nil || snap.SHA256 == p.base.SHA256) {
			continue
		}
		failed = append(failed, j)
		if snap != nil {
			snaps[j], carried[j] = snap, s.again(p, stale, snap)
		} else {
			carried[j] = nil
		}
		rebases = rebases && s.rebases(carried[j])
	}
	if rebases {
		return &SetOutcome{Carried: carried}
	}
	room := s.room(requests)
	for _, j := range failed {
		p, state := plans[j], filestate.Withheld(plans[j].request.Path.String())
		stale := s.state.RefuseMoved(p.check(), fault.Changed)
		if j == i {
			stale = refusal
		}
		if snaps[j] == nil {
			p.refuse(stale, state)
			continue
		}
		p.room = max(room, 1)
		state = s.show(ctx, p, snaps[j])
		room -= contentBytes(state)
		s.refuseStale(p, stale, state, snaps[j], carried[j])
	}
	out := refusedSet(plans, failed)
	out.KeptFiles = kept
	return out
}

// contentBytes returns the size of the content, the regions and the notice of a state, as JSON.
func contentBytes(st filestate.State) int {
	b, err := json.Marshal([]any{st.Content, st.ChangedRegions, st.Notice})
	if err != nil {
		return math.MaxInt // there is no other value than texts and numbers
	}
	return len(b)
}

func (p *Plan) operation() transaction.Operation {
	o := transaction.Operation{Kind: transaction.Update, Path: p.request.Path, To: p.request.To, Base: p.base.SHA256, Data: p.data}
	switch {
	case p.request.Remove:
		o.Kind = transaction.Delete
	case p.moves():
		o.Kind = transaction.Move
	case !p.base.Exists:
		o.Kind, o.Base = transaction.Create, ""
	}
	if o.Data == nil && !p.request.Remove && !p.opaque {
		o.Data = []byte{}
	}
	return o
}

// writtenTogether is written for a plan of a set. room is as for [filestate.Service.ShowSince].
func (s *Service) writtenTogether(ctx context.Context, p *Plan, out commit.Outcome, room int) filestate.State {
	path, text := p.path(), p.change.Text
	if p.request.Remove || p.moves() {
		s.state.Cache.Invalidate(p.request.Path.String())
	}
	if p.request.Remove || p.opaque {
		s.state.Cache.Invalidate(path.String())
		st := filestate.Withheld(path.String())
		st.Notice = "The file was deleted."
		if !p.request.Remove {
			st.Notice = "The file was moved. It is not text."
		}
		return st
	}
	defer s.state.KeepBase(ctx, path, out.Info, out.SHA256, p.data)
	if p.origin != nil {
		return s.writtenCarried(ctx, p, out, room)
	}
	if p.known && !p.moves() {
		st, ok := s.state.WrittenRegions(ctx, path, out.Info, text, out.SHA256, p.last.Version, p.regions, 0)
		if ok && contentBytes(st) > room {
			st.ChangedRegions, st.Notice, st.TotalLines = nil, "", nil
		}
		if ok {
			return st
		}
	}
	known := p.known || !p.base.Exists || p.request.Whole
	return s.state.WrittenWithin(ctx, path, out.Info, text, out.SHA256, known, room)
}

// checkTarget refuses to move a file over another one, and to a place where the model could read
// what it may not read now.
func (s *Service) checkTarget(ctx context.Context, p *Plan) *fault.Error {
	to := p.request.To
	if p.hidden {
		return fault.New(fault.PolicyViolation, "mutation.set", p.request.Path.String()+" may not be read, and therefore not be moved.",
			"Tell the user which file is to be moved.")
	}
	if err := s.files.Writable(to); err != nil {
		return asFault(err, "mutation.set")
	}
	if refusal := s.state.Decide(filestate.Check{Path: to, Verb: p.request.Verb}); refusal != nil {
		return refusal
	}
	if _, err := s.state.Snapshot(ctx, to); err == nil {
		return fault.New(fault.AttemptToCreateExist, "mutation.set", to.String()+" already exists, and a file is only moved to a path without one.",
			"Choose another path, or change that file.")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return asFault(err, "mutation.set")
	}
	return nil
}

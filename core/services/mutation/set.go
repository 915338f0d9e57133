package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// SetOutcome is the result of [Service.CommitSet].
type SetOutcome struct {
	Err *fault.Error // nil: all changes are on disk; otherwise none is
	// Failed is the index of the refused plan; -1 without an error, and for one that concerns the whole
	// set.
	Failed int
	// States are the latest states: of all plans, or of the refused one. Of a deleted file and without
	// a refused plan, a state has only the path.
	States    []filestate.State
	KeptFiles []string // as in [Outcome]
}

// The bytes reserved in the result of a set: for its message, and for each state without its content
// and path.
const (
	messageBytes = 1200
	stateBytes   = 200
)

// CheckSet returns the reason why plans cannot be committed together, and the index of the refused
// one or -1: the result would be too long, or two of them concern one file, with links resolved.
func (s *Service) CheckSet(plans []*Plan) (failed int, err *fault.Error) {
	if s.room(plans) < 0 {
		return -1, fault.New(fault.InvalidToolParams, "mutation.set", fmt.Sprintf("The result of %d changes would be too long.", len(plans)),
			"Change fewer files at once.")
	}
	places := make(map[string]bool)
	for i, p := range plans {
		for _, path := range []workspace.Path{p.request.Path, p.request.To} {
			if path == (workspace.Path{}) {
				continue
			}
			place := s.place(path)
			if places[place] {
				return i, fault.New(fault.InvalidToolParams, "mutation.set", fmt.Sprintf("Two operations concern %s.", path.String()),
					"Combine them into one operation.")
			}
			places[place] = true
		}
	}
	return -1, nil
}

// place returns the absolute name of a file, with links resolved as far as its directories exist.
func (s *Service) place(p workspace.Path) string {
	loc, err := s.files.Locate(p)
	if err != nil {
		return p.String()
	}
	defer loc.Close()
	return filepath.Join(commit.DirPath(loc.Dir), loc.Name)
}

// room returns the number of bytes for contents in the result of a set.
func (s *Service) room(plans []*Plan) int {
	room := s.state.ResultBytes() - messageBytes
	for _, p := range plans {
		room -= stateBytes + 2*len(p.request.Path.String()) + len(p.request.To.String())
	}
	return room
}

// CommitSet commits plans together: all of them, or none. The plans are for different files, and a
// plan belongs to one call of Commit or CommitSet.
func (s *Service) CommitSet(ctx context.Context, plans []*Plan) SetOutcome {
	operations := make([]transaction.Operation, len(plans))
	for i, p := range plans {
		if p.refusal == nil && p.spent {
			return SetOutcome{Failed: -1, Err: fault.New(fault.ExecutionFailed, "mutation.set", "These changes were already committed.", "Plan them again.")}
		}
		p.spent = true
		if p.refusal != nil {
			return refusedAt(i, *p.refusal)
		}
	}
	for i, p := range plans {
		s.at(WindowCommit, p.request.Path)
		if refusal := s.state.Decide(p.check()); refusal != nil {
			return refusedAt(i, s.refuseLate(ctx, p, refusal, nil))
		}
		p.known = p.known && s.state.Knows(p.request.Path, p.info, p.base.SHA256) // as in Commit
		operations[i] = p.operation()
		s.at(WindowRechecked, p.request.Path)
	}
	out, err := s.sets.Commit(ctx, operations)
	s.logKept(plans[0].request.Verb.Component, "", out.KeptFiles)
	if err != nil && out.Failed < 0 {
		return SetOutcome{Failed: -1, Err: asFault(err, "mutation.set"), KeptFiles: out.KeptFiles}
	}
	if err != nil {
		p := plans[out.Failed]
		check := p.check()
		if e := fault.As(err); e != nil && e.Reason == fault.NeverRead && p.moves() {
			check.Path = p.request.To
		}
		return refusedAt(out.Failed, s.refuseLate(ctx, p, s.late(check, err), out.KeptFiles))
	}
	done := SetOutcome{Failed: -1, KeptFiles: out.KeptFiles}
	room := s.room(plans)
	for i, p := range plans {
		st := s.writtenTogether(ctx, p, out.Files[i], room)
		room -= contentBytes(st)
		done.States = append(done.States, st)
	}
	return done
}

// contentBytes returns the size of the content, the regions and the notice of a state, as JSON.
func contentBytes(st filestate.State) int {
	b, err := json.Marshal([]any{st.Content, st.ChangedRegions, st.Notice})
	if err != nil {
		return math.MaxInt // there is no other value than texts and numbers
	}
	return len(b)
}

func refusedAt(i int, out Outcome) SetOutcome {
	return SetOutcome{Err: out.Err, Failed: i, States: []filestate.State{out.State}, KeptFiles: out.KeptFiles}
}

func (p *Plan) moves() bool { return p.request.To != (workspace.Path{}) }

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
	if o.Data == nil && !p.request.Remove {
		o.Data = []byte{}
	}
	return o
}

// writtenTogether is written for a plan of a set, whose state has at most room bytes of content.
func (s *Service) writtenTogether(ctx context.Context, p *Plan, out commit.Outcome, room int) filestate.State {
	path, text := p.request.Path, p.change.Text
	if p.request.Remove {
		s.state.Cache.Invalidate(path.String())
		st := filestate.Withheld(path.String())
		st.Notice = "The file was deleted."
		return st
	}
	known := p.known || !p.base.Exists || p.request.Whole
	if p.moves() {
		s.state.Cache.Invalidate(path.String())
		path = p.request.To
	}
	defer s.state.KeepBase(ctx, path, out.Info, out.SHA256, p.data)
	if p.known && !p.moves() && s.state.WantsRegions(path, text) {
		st, ok := s.state.WrittenRegions(ctx, path, out.Info, text, out.SHA256, p.last.Version, regionsOf(p.Diff()))
		if ok && contentBytes(st) > room {
			st.ChangedRegions, st.Notice, st.TotalLines = nil, "", nil
		}
		if ok {
			return st
		}
	}
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

package mutation

import (
	"context"
	"log/slog"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Commit writes the bytes of a plan if the file still matches the base of the plan, and records the
// write. For a refused plan it returns the same refusal each time. A plan can be committed once.
func (s *Service) Commit(ctx context.Context, p *Plan) Outcome {
	if p.refusal != nil {
		return *p.refusal
	}
	if p.spent {
		return Outcome{State: filestate.Withheld(p.request.Path.String()), Err: fault.New(fault.ExecutionFailed, "mutation.commit",
			"This change was already committed.", "Plan it again.")}
	}
	p.spent = true
	s.at(WindowCommit, p.request.Path)
	check := p.check()
	if refusal := s.state.Decide(check); refusal != nil {
		return s.refuseLate(ctx, p, refusal, nil)
	}
	p.known = p.known && s.state.Knows(p.request.Path, p.info, p.base.SHA256) // a compaction may have emptied the cache meanwhile
	s.at(WindowRechecked, p.request.Path)
	out, err := s.put(ctx, p)
	s.logKept(p.request.Verb.Component, p.request.Path.String(), out.KeptFiles)
	if err != nil {
		return s.refuseLate(ctx, p, s.late(check, err), out.KeptFiles)
	}
	state := s.written(ctx, p, out)
	s.state.KeepBase(ctx, p.request.Path, out.Info, out.SHA256, p.data)
	return Outcome{State: state, Corrections: p.change.Corrections, KeptFiles: out.KeptFiles}
}

// late converts the error of a commit to the refusal of a change that was ready.
func (s *Service) late(check filestate.Check, err error) *fault.Error {
	refusal := asFault(err, "mutation.commit")
	switch {
	case refusal.Code == fault.FileChangedSinceRead && refusal.Reason != fault.OpenElsewhere:
		cause := refusal
		refusal = s.state.RefuseMoved(check, cause.Reason)
		refusal.Err = cause
	case refusal.Code == fault.EditRequiresPriorRead && refusal.Reason == fault.NeverRead:
		refusal = s.state.RefuseMoved(check, fault.NeverRead)
	}
	return refusal
}

// logKept logs the files with bytes of another program; path is their target, "" for those of a set.
func (s *Service) logKept(component, path string, kept []string) {
	for _, name := range kept {
		s.log.Warn("preserved bytes of another program next to the target", slog.String("component", component),
			slog.String("path", path), slog.String("kept", name))
	}
}

// written records a write and returns the state to show: the changed regions if that is requested
// and the conversation knew the whole base, otherwise the whole text.
func (s *Service) written(ctx context.Context, p *Plan, out commit.Outcome) filestate.State {
	path, text := p.request.Path, p.change.Text
	if p.origin != nil {
		return s.writtenCarried(ctx, p, out, 0)
	}
	if p.known {
		if st, ok := s.state.WrittenRegions(ctx, path, out.Info, text, out.SHA256, p.last.Version, p.regions, 0); ok {
			return st
		}
	}
	if byHash := p.base.Exists && !p.known && !p.request.Whole; byHash || p.request.Edited {
		return s.state.WrittenUnseen(ctx, path, out.Info, text, out.SHA256, !p.request.Edited)
	}
	return s.state.Written(ctx, path, out.Info, text, out.SHA256)
}

func (p *Plan) regions() []patch.Region { return regionsOf(p.Diff()) }

// regionsOf returns the regions of a change; never nil. Decoded text does not contain the byte order
// mark that a change may add to the file.
func regionsOf(c *patch.Change) []patch.Region {
	regions := c.Regions()
	if len(regions) > 0 && regions[0].Lines[0] <= 1 {
		regions[0].Content = strings.TrimPrefix(regions[0].Content, byteOrderMark)
	}
	return regions
}

func (p *Plan) check() filestate.Check {
	c := filestate.Check{Path: p.request.Path, Verb: p.request.Verb, Proof: p.request.Proof, Expect: filestate.ExpectAbsent}
	if p.base.Exists {
		c.Expect = filestate.ExpectExisting
	}
	return c
}

// put creates the parents of a new file and passes the bytes to commit. If the commit fails it
// removes the directories that it created.
func (s *Service) put(ctx context.Context, p *Plan) (commit.Outcome, error) {
	r := commit.Request{Path: p.request.Path.String(), Data: p.data}
	if p.base.Exists {
		r.Base, r.BaseSize, r.BaseData, r.BaseInfo = p.base.SHA256, int64(len(p.raw)), p.raw, p.info
		return s.putAt(ctx, p.request.Path, r)
	}
	undo, err := s.files.MakeParents(p.request.Path)
	if err != nil {
		return commit.Outcome{}, err
	}
	out, err := s.putAt(ctx, p.request.Path, r)
	if err != nil {
		undo()
	}
	return out, err
}

func (s *Service) putAt(ctx context.Context, path workspace.Path, r commit.Request) (commit.Outcome, error) {
	loc, err := s.files.Locate(path)
	if err != nil {
		return commit.Outcome{}, err
	}
	defer loc.Close()
	r.Dir, r.Name, r.Layer = loc.Dir, loc.Name, loc.Layer
	return s.commit.Commit(ctx, r)
}

// refuseLate refuses a plan that was ready. If the conversation knew the whole base, the refusal
// shows the current state. It shows nothing of a file that was created meanwhile. It shows nothing
// either if the conversation knew the base only by the hash of empty content, which needs no read.
func (s *Service) refuseLate(ctx context.Context, p *Plan, refusal *fault.Error, kept []string) Outcome {
	s.logLate(p.request, refusal)
	if snap := s.snapshotLate(ctx, p, refusal); snap != nil {
		next := s.again(p, refusal, snap)
		if s.rebases(next) && len(kept) == 0 {
			return Outcome{Carried: next, State: filestate.Withheld(p.request.Path.String())}
		}
		s.refuseStale(p, refusal, s.show(ctx, p, snap), snap, next)
	} else {
		p.refuse(refusal, filestate.Withheld(p.request.Path.String()))
	}
	p.refusal.KeptFiles = kept
	return *p.refusal
}

// snapshotLate returns the content of the file of a plan that was ready and is refused, if the
// conversation may receive it.
func (s *Service) snapshotLate(ctx context.Context, p *Plan, refusal *fault.Error) *filestate.Snapshot {
	knew := p.base.Exists && (p.seen || p.request.Proof != filestate.EmptySHA256)
	if !knew || refusal.Code == fault.Cancelled || refusal.Reason == fault.Disappeared {
		return nil
	}
	snap, err := s.state.Snapshot(ctx, p.request.Path)
	if err != nil {
		return nil
	}
	return snap
}

// logLate logs a refusal after the first check.
func (s *Service) logLate(r Request, refusal *fault.Error) {
	s.log.Warn(refusal.Message, slog.String("component", r.Verb.Component), slog.String("path", r.Path.String()),
		slog.String("code", string(refusal.Code)), slog.String("reason", string(refusal.Reason)))
}

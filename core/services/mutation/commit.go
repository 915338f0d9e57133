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

// Commit puts a plan's bytes in place if the file is still what the plan was
// computed from, and records the write. A refused plan gives
// its refusal again; a plan can be committed once.
func (s *Service) Commit(ctx context.Context, p *Plan) Outcome {
	if p.refusal != nil {
		return *p.refusal
	}
	if p.spent {
		return Outcome{State: filestate.Withheld(p.request.Path.String()), Err: fault.New(fault.ExecutionFailed, "mutation.commit",
			"This change was committed already.", "Plan it again.")}
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
	for _, name := range out.Kept {
		s.log.Warn("foreign bytes were kept beside the target", slog.String("component", p.request.Verb.Component),
			slog.String("path", p.request.Path.String()), slog.String("kept", name))
	}
	if err != nil {
		refusal := asFault(err, "mutation.commit")
		switch {
		case refusal.Code == fault.FileChangedSinceRead && refusal.Reason != fault.OpenElsewhere:
			cause := refusal
			refusal = s.state.RefuseMoved(check, cause.Reason)
			refusal.Err = cause
		case refusal.Code == fault.EditRequiresPriorRead && refusal.Reason == fault.NeverRead:
			refusal = s.state.RefuseMoved(check, fault.NeverRead)
		}
		return s.refuseLate(ctx, p, refusal, out.Kept)
	}
	state := s.written(ctx, p, out)
	s.state.KeepBase(ctx, p.request.Path, out.Info, out.SHA256, p.data)
	return Outcome{State: state, Corrections: p.change.Corrections, Kept: out.Kept}
}

// written records a write and returns the state to show: the changed regions
// where that is wanted and the conversation knew the whole base, else the whole.
func (s *Service) written(ctx context.Context, p *Plan, out commit.Outcome) filestate.State {
	path, text := p.request.Path, p.change.Text
	if p.known && s.state.WantsRegions(path, text) {
		if st, ok := s.state.WrittenRegions(ctx, path, out.Info, text, out.SHA256, p.last.Version, regionsOf(p.Diff())); ok {
			return st
		}
	}
	switch {
	case p.request.Edited:
		return s.state.WrittenUnseen(ctx, path, out.Info, text, out.SHA256)
	case p.base.Exists && !p.known && !p.request.Whole:
		return s.state.WrittenByHash(ctx, path, out.Info, text, out.SHA256)
	}
	return s.state.Written(ctx, path, out.Info, text, out.SHA256)
}

// regionsOf returns the regions that a change is about; never nil.
func regionsOf(c *patch.Change) []filestate.ChangedRegion {
	regions := []filestate.ChangedRegion{}
	for _, r := range c.Regions() {
		// Decoded text is without the mark that a change may add to the file.
		content := strings.TrimPrefix(r.Text, byteOrderMark)
		if r.New[0] > 1 {
			content = r.Text
		}
		regions = append(regions, filestate.ChangedRegion{Lines: r.New, BaseLines: r.Old, Content: content})
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

// put makes the parents of a new file and hands the bytes to commit. Folders
// that it made for nothing go again.
func (s *Service) put(ctx context.Context, p *Plan) (commit.Outcome, error) {
	r := commit.Request{Path: p.request.Path.String(), Data: p.data}
	if p.base.Exists {
		r.Base, r.BaseSize = p.base.SHA256, p.size
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
	r.Dir, r.Name = loc.Dir, loc.Name
	return s.commit.Commit(ctx, r)
}

// refuseLate ends a plan that was ready when it was made. Its conversation
// knew the whole base, so it is shown what became of it; of a file
// that came to be meanwhile it is shown nothing, nor of one whose base it knew
// only as empty, the hash of which anybody can quote.
func (s *Service) refuseLate(ctx context.Context, p *Plan, refusal *fault.Error, kept []string) Outcome {
	s.logLate(p.request, refusal)
	state := filestate.Withheld(p.request.Path.String())
	knew := p.base.Exists && (p.seen || p.request.Proof != filestate.EmptySHA256)
	if knew && refusal.Code != fault.Cancelled && refusal.Reason != fault.Disappeared {
		if snap, err := s.state.Snapshot(ctx, p.request.Path); err == nil {
			state = s.show(ctx, p, snap)
		}
	}
	if state.Shown() {
		refusal = p.check().BesideState(refusal)
	}
	p.refusal = &Outcome{Err: refusal, State: state, Kept: kept}
	return *p.refusal
}

// logLate logs a refusal after the first check.
func (s *Service) logLate(r Request, refusal *fault.Error) {
	s.log.Warn(refusal.Message, slog.String("component", r.Verb.Component), slog.String("path", r.Path.String()),
		slog.String("code", string(refusal.Code)), slog.String("reason", string(refusal.Reason)))
}

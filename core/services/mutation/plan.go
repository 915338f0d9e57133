package mutation

import (
	"context"
	"errors"
	"io/fs"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Request describes a mutation.
type Request struct {
	Path workspace.Path
	Verb filestate.Verb
	// Proof is the base hash that the model supplied, lower-case hex; "" for
	// none.
	Proof string
	// From is the base that the change was made for already. The plan is
	// refused where the file is another by now; nil: any that the conversation
	// knows.
	From *Base
	// Edited says that a person changed the text that the model proposed: the
	// conversation knows what is written only once it is shown.
	Edited bool
	// Whole says that what Compute returns is all the conversation's own, whatever
	// the base holds. Where it is not, who had nothing but the hash of the base does
	// not know what is written.
	Whole bool
	// NeedsProof refuses to change an existing file without Proof, however
	// well it was read.
	NeedsProof bool
	// Compute makes the new text from the base. It is called at most once,
	// after the conversation has proved to know the base. What it returns as
	// an error refuses the change.
	Compute func(Base) (Change, *fault.Error)
}

// Base is what a change is computed from.
type Base struct {
	Exists bool   // false: the file is absent and the other fields are empty
	Text   string // decoded, line endings as in the file
	SHA256 string // of the raw bytes; that of empty input for an absent file
	Format textfile.Format
}

// Change is what Compute wants of the file.
type Change struct {
	Text        string             // the whole new text
	Diff        *patch.Change      // from the first text of [Plan.Texts] to the second, if known already; nil: found when asked for
	BOM         *bool              // whether the file is to begin with a byte-order mark; nil: as it does, a new one without
	Corrections []patch.Correction // what was mended in the model's input
}

// Plan is a mutation computed in memory. It is either ready for
// [Service.Commit] or refused for good: a refused plan never writes, even if
// the file comes to match again. A Plan is not for concurrent use.
type Plan struct {
	request Request
	base    Base
	change  Change
	size    int64           // of the base, in bytes
	data    []byte          // Text encoded as the base is
	seen    bool            // the conversation had been shown the file when it was planned
	last    filestate.Known // what it had been given every byte of then
	known   bool            // that is the base
	info    workspace.Info  // of the base
	hidden  bool            // the model may not see the base
	refusal *Outcome
	spent   bool
}

// Outcome is how a mutation ended.
type Outcome struct {
	Err         *fault.Error       // nil: the change is on disk
	State       filestate.State    // latest state, withheld if the content must not be shown
	Corrections []patch.Correction // of the committed change
	Kept        []string           // absolute paths of copies beside the target, of versions that other programs wrote during the commit
}

// Refused returns the refusal that the plan ended in, nil if it is ready.
func (p *Plan) Refused() *fault.Error {
	if p.refusal == nil {
		return nil
	}
	return p.refusal.Err
}

// Hidden reports whether the model may not see the base, nor what shows parts
// of it, as a diff does. A person may.
func (p *Plan) Hidden() bool { return p.hidden }

// Base returns what the change was computed from.
func (p *Plan) Base() Base { return p.base }

// NewText returns the whole new text.
func (p *Plan) NewText() string { return p.change.Text }

// Diff returns how the new text differs from the base: for a patch the
// corrected diff that will be applied.
func (p *Plan) Diff() *patch.Change {
	if p.change.Diff == nil {
		p.change.Diff = patch.Between(p.Texts())
	}
	return p.change.Diff
}

// Texts returns the text of the base and the new one. Both have their byte-order
// mark if the change adds or removes it.
func (p *Plan) Texts() (before, after string) {
	before, after = p.base.Text, p.change.Text
	if p.BOM() == nil {
		return before, after
	}
	if p.base.Format.BOM {
		return byteOrderMark + before, after
	}
	return before, byteOrderMark + after
}

// BOM returns whether the new file begins with a byte-order mark, if the old one
// does not, or the other way round; else nil.
func (p *Plan) BOM() *bool {
	if p.change.BOM == nil || *p.change.BOM == p.base.Format.BOM {
		return nil
	}
	return p.change.BOM
}

// Plan proves, reads and computes a mutation; it writes nothing. It never
// fails: what stands in the way is the plan's refusal.
func (s *Service) Plan(ctx context.Context, r Request) *Plan {
	p := &Plan{request: r}
	if err := s.files.Writable(r.Path); err != nil { // before anybody is asked about it
		return p.refuse(asFault(err, "mutation.plan"), filestate.Withheld(r.Path.String()))
	}
	check := filestate.Check{Path: r.Path, Verb: r.Verb, Proof: r.Proof, Expect: r.expect()}
	if refusal := s.state.Decide(check); refusal != nil {
		return p.refuse(refusal, filestate.Withheld(r.Path.String()))
	}
	s.at(WindowDecided, r.Path)
	p.seen, p.last = s.state.Seen(r.Path), s.state.Known(r.Path)
	snap, err := s.state.Snapshot(ctx, r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if refusal := s.state.Decide(check); refusal != nil {
			return p.refuse(refusal, filestate.Withheld(r.Path.String()))
		}
		p.base = Base{SHA256: filestate.EmptySHA256}
	case err != nil:
		return p.refuse(asFault(err, "mutation.plan"), filestate.Withheld(r.Path.String()))
	default:
		if refusal := s.proveBase(ctx, p, check, snap); refusal != nil {
			return p
		}
	}
	if s.compute(ctx, p, snap) {
		s.at(WindowPlanned, r.Path)
	}
	return p
}

// expect says what has to be found at the path.
func (r Request) expect() filestate.Expect {
	switch {
	case r.From == nil:
		return filestate.ExpectAny
	case r.From.Exists:
		return filestate.ExpectExisting
	}
	return filestate.ExpectAbsent
}

// proveBase holds the bytes just read against what the conversation knows
// , and decodes them.
func (s *Service) proveBase(ctx context.Context, p *Plan, check filestate.Check, snap *filestate.Snapshot) *fault.Error {
	r := p.request
	check.Current = snap
	refusal := s.state.Decide(check)
	if refusal == nil && r.From != nil && snap.SHA256 != r.From.SHA256 {
		refusal = s.state.RefuseMoved(check, fault.Changed)
	}
	if refusal != nil {
		s.logLate(r, refusal)
		state := filestate.Withheld(r.Path.String())
		if p.seen && refusal.Code == fault.FileChangedSinceRead {
			state = s.show(ctx, p, snap)
		}
		if state.Shown() {
			refusal = check.BesideState(refusal)
		}
		p.refuse(refusal, state)
		return refusal
	}
	doc := textfile.Decode(snap.Data)
	if !s.state.ShowsAsText(r.Path, snap.Data) || !doc.Lossless {
		refusal := filestate.RefuseNonText(r.Path, r.Verb)
		p.refuse(refusal, filestate.Withheld(r.Path.String()))
		return refusal
	}
	if r.NeedsProof && r.Proof == "" {
		refusal := refuseWithoutProof(r)
		p.refuse(refusal, s.show(ctx, p, snap))
		return refusal
	}
	p.info = snap.Info
	p.known = p.last.SHA256 == snap.SHA256 && s.state.Knows(r.Path, snap.Info, snap.SHA256)
	p.size = int64(len(snap.Data))
	p.base = Base{Exists: true, Text: doc.Text, SHA256: snap.SHA256, Format: doc.Format}
	return nil
}

// compute fills in the change and its bytes, or the refusal.
func (s *Service) compute(ctx context.Context, p *Plan, snap *filestate.Snapshot) bool {
	p.hidden = p.base.Exists && (!s.state.MayShow(p.request.Path) || s.state.Dropped(p.request.Path, p.base.SHA256))
	change, refusal := p.request.Compute(p.base)
	if refusal != nil && p.hidden {
		refusal = withoutContent(p.request, refusal)
	}
	if refusal == nil {
		p.change = change
		refusal = s.encode(p)
	}
	if refusal == nil && int64(len(p.data)) > s.state.Limits().FileBytes {
		refusal = fault.New(fault.FileTooLarge, "mutation.plan",
			p.request.Path.String()+" would become larger than the files that can be changed.",
			"Write less at once, or use a shell command.")
	}
	if refusal == nil {
		return true
	}
	state := filestate.Withheld(p.request.Path.String())
	if snap != nil {
		state = s.show(ctx, p, snap)
	}
	p.refuse(refusal, state)
	return false
}

// show returns the state that the target is in now, of a plan that is refused.
func (s *Service) show(ctx context.Context, p *Plan, snap *filestate.Snapshot) filestate.State {
	return s.state.ShowSince(ctx, p.request.Path, snap, p.last, func(base, text string) []filestate.ChangedRegion {
		return regionsOf(patch.Between(base, text))
	})
}

// withoutContent is a refusal of Compute's that says nothing of the file.
func withoutContent(r Request, refusal *fault.Error) *fault.Error {
	return &fault.Error{
		Code: refusal.Code, Reason: refusal.Reason, Op: refusal.Op,
		Message: "The change does not fit " + r.Path.String() + ". What does not fit is not said, as the file may not be shown.",
		Short:   "The change does not fit.",
		Remedy:  "Read the file with read_file if that is allowed; else tell the user what is needed.",
	}
}

func (p *Plan) refuse(err *fault.Error, state filestate.State) *Plan {
	p.refusal = &Outcome{Err: err, State: state}
	return p
}

func refuseWithoutProof(r Request) *fault.Error {
	return &fault.Error{
		Code: fault.BaseHashRequired, Op: "mutation.plan",
		Message: "An existing file may not be overwritten without declaring the state that it is in.",
		Short:   "Overwriting needs base_content_sha256.",
		Remedy:  "To replace it, give the sha256 of latest_file_state as base_content_sha256.",
	}
}

// asFault gives an error a class; nil stays nil.
func asFault(err error, op string) *fault.Error {
	if err == nil {
		return nil
	}
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.ExecutionFailed, op, err.Error(), "", err)
}

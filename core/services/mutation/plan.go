package mutation

import (
	"context"
	"errors"
	"io/fs"
	"strings"

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
	// Proof is the base hash from the model, in lower-case hex; "" for none.
	Proof string
	// Latest uses the last content that the conversation has received completely as the base, if there
	// is no Proof.
	Latest bool
	// From is the base for which the change was already computed. The plan is refused if the file
	// has changed since; nil: any base that the conversation knows.
	From *Base
	// Edited reports that the user changed the proposed text. The conversation knows the written
	// text only after it is shown.
	Edited bool
	// Whole reports that the text from Compute is entirely the conversation's own, whatever the
	// base contains. Otherwise a conversation that had only the hash of the base does not know the
	// written text.
	Whole bool
	// Carry reports that the change may be carried over to content of another writer, see package
	// rebase: see [Outcome.Carried]. With [Options.Rebase] the plan is for the carried-over change.
	Carry bool
	// AsIs reports that the change does not concern the text: the file is removed, or moved with its
	// bytes, and may have any content.
	AsIs bool
	// Remove removes the file. Only [Service.CommitSet] does.
	Remove bool
	// To is the path that the file is moved to, by [Service.CommitSet]; zero: it stays.
	To workspace.Path
	// NeedsProof refuses to change an existing file without Proof, even after a complete read.
	NeedsProof bool
	// Compute computes the new text from the base. It is called at most once, after the
	// conversation has proved that it knows the base. An error refuses the change.
	Compute func(Base) (Change, *fault.Error)
}

// Base is the content on which a change is based.
type Base struct {
	Exists bool   // false: the file does not exist and the other fields are empty
	Text   string // decoded, with the line endings of the file
	SHA256 string // of the raw bytes; that of empty content for a missing file
	Format textfile.Format
}

// Change is the result of Compute.
type Change struct {
	Text        string             // the whole new text
	Diff        *patch.Change      // from the first text of [Plan.Texts] to the second; nil: computed on demand
	BOM         *bool              // whether the file begins with a byte order mark; nil: unchanged, none in a new file
	Corrections []patch.Correction // repairs of the model's input
}

// Plan is a mutation computed in memory. It is either ready for [Service.Commit] or permanently
// refused: a refused plan never writes, even if the file matches again later. A Plan is not safe
// for concurrent use.
type Plan struct {
	request Request
	base    Base
	change  Change
	raw     []byte          // of the base
	data    []byte          // Text in the encoding of the base
	seen    bool            // the conversation had been shown the file before the plan
	last    filestate.Known // the last content that the conversation knew completely
	known   bool            // last is the base
	info    workspace.Info  // of the base
	hidden  bool            // the model must not see the base
	opaque  bool            // the base is not text, and stays as it is
	room    int             // for the state of a refusal; see [filestate.Service.ShowSince]
	origin  *origin         // the change as computed, if it was carried over to base; nil: it was computed from base
	refusal *Outcome
	spent   bool
}

// Outcome is the result of a mutation.
type Outcome struct {
	Err *fault.Error // nil: the change is on disk, unless Carried is set
	// Carried is the change carried over to content that another writer has written since; nil: it does
	// not carry over. Nothing was written. Without Err it is to be approved and committed; with Err it is
	// for the content in State, and may be offered to the model.
	Carried     *Plan
	State       filestate.State    // latest state, withheld if the content must not be shown
	Corrections []patch.Correction // of the committed change
	KeptFiles   []string           // absolute paths of copies next to the target, with versions that other programs wrote during the commit
}

// Refused returns the refusal of the plan, nil if it is ready.
func (p *Plan) Refused() *fault.Error {
	if p.refusal == nil {
		return nil
	}
	return p.refusal.Err
}

// Hidden reports whether the model must not see the base or excerpts of it, such as a diff. The
// user may see them.
func (p *Plan) Hidden() bool { return p.hidden }

// Base returns the base of the change.
func (p *Plan) Base() Base { return p.base }

// NewText returns the whole new text.
func (p *Plan) NewText() string { return p.change.Text }

// Diff returns the difference from the base to the new text. For a patch it is the repaired diff to
// apply.
func (p *Plan) Diff() *patch.Change {
	if p.change.Diff == nil {
		p.change.Diff = patch.Between(p.Texts())
	}
	return p.change.Diff
}

// Texts returns the base text and the new text. Both include their byte order mark if the change
// adds or removes one.
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

// Corrections returns the repairs of the model's input.
func (p *Plan) Corrections() []patch.Correction { return p.change.Corrections }

// Text reports whether the base is text, or there is none.
func (p *Plan) Text() bool { return !p.opaque }

// path returns the path that the file has after the change.
func (p *Plan) path() workspace.Path {
	if p.moves() {
		return p.request.To
	}
	return p.request.Path
}

func (p *Plan) moves() bool { return p.request.To != (workspace.Path{}) }

// BOM returns whether the new file begins with a byte order mark if the change adds or removes one;
// otherwise nil.
func (p *Plan) BOM() *bool {
	if p.change.BOM == nil || *p.change.BOM == p.base.Format.BOM {
		return nil
	}
	return p.change.BOM
}

// Plan checks, reads and computes a mutation; it writes nothing. It does not fail: an error becomes
// the refusal of the plan.
func (s *Service) Plan(ctx context.Context, r Request) *Plan { return s.plan(ctx, r, 0) }

func (s *Service) plan(ctx context.Context, r Request, room int) *Plan {
	if r.Latest = r.Latest && r.Proof == ""; r.Latest {
		r.Proof = s.state.Known(r.Path).SHA256
	}
	p := &Plan{request: r, room: room}
	if err := s.files.Writable(r.Path); err != nil { // before an approver is asked
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

// expect returns the required state of the path.
func (r Request) expect() filestate.Expect {
	switch {
	case r.From == nil:
		return filestate.ExpectAny
	case r.From.Exists:
		return filestate.ExpectExisting
	}
	return filestate.ExpectAbsent
}

// proveBase compares the bytes just read with the content that the conversation knows, and decodes
// them.
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
		var next *Plan
		if p.seen && refusal.Code == fault.FileChangedSinceRead {
			s.originate(p, refusal)
			if next = s.carried(p, snap); s.rebases(next) {
				*p = *next
				return nil
			}
			state = s.show(ctx, p, snap)
		}
		s.refuseStale(p, refusal, state, snap, next)
		return refusal
	}
	doc := textfile.DecodeShared(snap.Data)
	p.opaque = !s.state.ShowsAsText(r.Path, snap.Data) || !doc.Lossless
	if p.opaque && !r.AsIs {
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
	p.raw = snap.Data
	p.base = Base{Exists: true, SHA256: snap.SHA256}
	if !p.opaque {
		p.base.Text, p.base.Format = doc.Text, doc.Format
	}
	return nil
}

// compute sets the change and its bytes, or the refusal.
func (s *Service) compute(ctx context.Context, p *Plan, snap *filestate.Snapshot) bool {
	p.hidden = p.base.Exists && (!s.state.MayShow(p.request.Path) || s.state.Dropped(p.request.Path, p.base.SHA256))
	var refusal *fault.Error
	if p.origin == nil {
		p.change, refusal = p.request.Compute(p.base)
	}
	if refusal != nil && p.hidden {
		refusal = withoutContent(p.request, refusal)
	}
	if refusal == nil && !p.request.Remove && !p.opaque {
		refusal = s.encode(p)
	}
	if refusal == nil && p.moves() {
		refusal = s.checkTarget(ctx, p)
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

// show returns the current state of the target of a refused plan.
func (s *Service) show(ctx context.Context, p *Plan, snap *filestate.Snapshot) filestate.State {
	return s.state.ShowSince(ctx, p.request.Path, snap, p.last, p.room, func(base, text string) []patch.Region {
		return regionsOf(patch.Between(base, text))
	})
}

// withoutContent returns a refusal of Compute without details of the file.
func withoutContent(r Request, refusal *fault.Error) *fault.Error {
	return &fault.Error{
		Code: refusal.Code, Reason: refusal.Reason, Op: refusal.Op,
		Message: "The change does not match " + r.Path.String() + ". Details are omitted, because the file may not be shown.",
		Short:   "The change does not match.",
		Remedy:  "Read the file with read_file if that is permitted; otherwise tell the user which change is needed.",
	}
}

func (p *Plan) refuse(err *fault.Error, state filestate.State) *Plan {
	if p.request.Latest && isStale(err) { // the call had no hash, and the next one needs none
		plain := *err
		plain.Remedy = strings.Replace(err.Remedy, ", with its sha256.", ".", 1)
		err = &plain
	}
	p.refusal = &Outcome{Err: err, State: state}
	return p
}

func refuseWithoutProof(r Request) *fault.Error {
	return &fault.Error{
		Code: fault.BaseHashRequired, Op: "mutation.plan",
		Message: "An existing file may not be overwritten without declaring its current state.",
		Short:   "Overwriting needs base_content_sha256.",
		Remedy:  "To replace it, pass the sha256 of latest_file_state as base_content_sha256.",
	}
}

// asFault converts an error to a fault; nil stays nil.
func asFault(err error, op string) *fault.Error {
	if err == nil {
		return nil
	}
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.ExecutionFailed, op, err.Error(), "", err)
}

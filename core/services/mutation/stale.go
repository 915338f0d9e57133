package mutation

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/rebase"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxRebases is the number of times that one change is carried over. Beyond it the change is
// refused.
const maxRebases = 5

// origin is a change and the base from which it was computed, which another writer has replaced.
type origin struct {
	base    Base
	change  Change
	known   bool  // the conversation has received every byte of base
	version int64 // the version under which it was shown last; 0: unknown
	rebases int   // number of times that it was carried over
}

// originate sets the origin of a plan for which the file is not in the state of the supplied hash, if
// the conversation has received that state completely and the change is valid for it.
func (s *Service) originate(p *Plan, refusal *fault.Error) {
	r := p.request
	if !carries(r, refusal) {
		return
	}
	data, ok := s.state.Base(r.Proof)
	if !ok {
		return
	}
	doc := textfile.DecodeShared(data)
	o := &origin{base: Base{Exists: true, Text: doc.Text, SHA256: r.Proof, Format: doc.Format}, known: true}
	if p.last.SHA256 == r.Proof {
		o.version = p.last.Version
	}
	var failed *fault.Error
	if o.change, failed = r.Compute(o.base); failed == nil && doc.Lossless {
		p.origin = o
	}
}

// carries reports whether a change that was refused may be carried over.
func carries(r Request, refusal *fault.Error) bool {
	return r.Carry && r.Proof != "" && r.From == nil && isStale(refusal)
}

// isStale reports whether a change is refused because another writer has changed the file.
func isStale(refusal *fault.Error) bool {
	return refusal.Code == fault.FileChangedSinceRead && refusal.Reason == fault.Changed
}

// carried returns the plan of p's change for the content of snap; nil if it does not carry over to
// that.
func (s *Service) carried(p *Plan, snap *filestate.Snapshot) *Plan {
	o, path := p.origin, p.request.Path
	if o == nil || !snap.Stable || !s.state.MayShow(path) || s.state.Dropped(path, snap.SHA256) ||
		!s.state.ShowsAsText(path, snap.Data) {
		return nil
	}
	doc := textfile.DecodeShared(snap.Data)
	was, now := o.base.Format, doc.Format
	marked := o.change.BOM != nil && *o.change.BOM != was.BOM
	if !doc.Lossless || marked || was.Encoding != now.Encoding || was.BOM != now.BOM {
		return nil
	}
	text, conflict := rebase.Carry(o.base.Text, o.change.Text, doc.Text)
	if conflict != nil {
		return nil
	}
	from := *o
	from.rebases++
	next := &Plan{
		request: p.request, seen: p.seen, last: p.last, hidden: p.hidden, room: p.room, origin: &from, info: snap.Info, raw: snap.Data,
		base:   Base{Exists: true, Text: doc.Text, SHA256: snap.SHA256, Format: doc.Format},
		change: Change{Text: text, Corrections: o.change.Corrections},
	}
	if s.encode(next) != nil {
		return nil
	}
	return next
}

// rebases reports whether next, a change carried over, is to be committed without another call.
func (s *Service) rebases(next *Plan) bool {
	return s.rebase && next != nil && next.origin.rebases <= maxRebases
}

// again returns the plan of p's change, which was ready, after another writer has changed the file to
// snap; nil if it does not carry over.
func (s *Service) again(p *Plan, refusal *fault.Error, snap *filestate.Snapshot) *Plan {
	if !carries(p.request, refusal) || !p.base.Exists {
		return nil
	}
	if p.origin == nil {
		p.origin = &origin{base: p.base, change: p.change, known: p.known, version: p.last.Version}
	}
	return s.carried(p, snap)
}

// refuseStale refuses p because another writer has changed its file to snap. With next, to which the
// change was carried over, the outcome has that if it also shows the content of snap.
func (s *Service) refuseStale(p *Plan, refusal *fault.Error, state filestate.State, snap *filestate.Snapshot, next *Plan) {
	if state.Shown() {
		refusal = p.check().WithState(refusal)
	}
	p.refuse(refusal, state)
	if state.SHA256 != nil && *state.SHA256 == snap.SHA256 {
		p.refusal.Carried = next
	}
}

// Rebased returns the hash of the base from which the change was computed, if it was carried over
// to a later one.
func (p *Plan) Rebased() (from string, ok bool) {
	if p.origin == nil {
		return "", false
	}
	return p.origin.base.SHA256, true
}

// maxForeign is the size in bytes of the largest change of another writer that a result shows.
const maxForeign = 4 << 10

// writtenCarried records the write of a carried-over change and returns the state to show, with the
// change of the other writer. The conversation knows the written text if it knew the base of the
// change, and the state shows the whole change of the other writer. room is as for
// [filestate.Service.ShowSince].
func (s *Service) writtenCarried(ctx context.Context, p *Plan, out commit.Outcome, room int) filestate.State {
	path, text, o := p.path(), p.change.Text, p.origin
	_, stored := s.state.Base(o.base.SHA256) // a compaction may have emptied the cache meanwhile
	known := o.known && stored
	foreign := patch.Between(o.base.Text, p.base.Text)
	intro := fmt.Sprintf("Another writer had changed the file from base %s to %s.", o.base.SHA256, p.base.SHA256)
	hunks := hunksOf(foreign, path)
	notices := []string{intro + " Its change:\n" + hunks, intro + " Its change replaced " + rangesOf(foreign) + "."}
	if len(hunks) > maxForeign {
		notices = notices[1:]
	}
	longest := int64(math.MaxInt64)
	bare := filestate.State{Version: &longest, SHA256: &out.SHA256, FilePath: path.String()}
	var st filestate.State
	regions := false
	if known && o.version != 0 && !p.moves() {
		between := func() []patch.Region { return regionsOf(patch.Between(o.base.Text, text)) }
		st, regions = s.state.WrittenRegions(ctx, path, out.Info, text, out.SHA256, o.version, between, room)
	}
	switch {
	case regions:
	case known && len(hunks) <= maxForeign && s.state.FitsNotice(path, bare, notices[0], room):
		st = s.state.WrittenWithin(ctx, path, out.Info, text, out.SHA256, true, room)
	default:
		st = s.state.WrittenWithin(ctx, path, out.Info, text, out.SHA256, false, room)
	}
	for _, notice := range notices {
		if st.Notice != "" {
			notice = st.Notice + "\n" + notice
		}
		if s.state.FitsNotice(path, st, notice, room) {
			st.Notice = notice
			break
		}
	}
	return st
}

// hunksOf returns a change as a unified diff without its header.
func hunksOf(c *patch.Change, p workspace.Path) string {
	diff := c.Unified("a/"+p.Rel(), "b/"+p.Rel())
	if at := strings.Index(diff, "@@ "); at >= 0 {
		return diff[at:]
	}
	return ""
}

// rangesOf lists the lines that a change replaces; of many ranges the first few.
func rangesOf(c *patch.Change) string {
	const most = 10
	var parts []string
	edits := c.Edits()
	for i, e := range edits {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more ranges", len(edits)-most))
			break
		}
		if e.Start == e.End {
			parts = append(parts, fmt.Sprintf("none before line %d", e.Start+1))
			continue
		}
		parts = append(parts, fmt.Sprintf("lines %d-%d", e.Start+1, e.End))
	}
	return strings.Join(parts, ", ")
}

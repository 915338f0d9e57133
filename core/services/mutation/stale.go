package mutation

import (
	"context"
	"fmt"
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
	doc := textfile.Decode(data)
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
	return r.Carry && r.Proof != "" && r.From == nil && refusal.Code == fault.FileChangedSinceRead && refusal.Reason == fault.Changed
}

// carry makes p a plan for the content of snap, if its origin carries over to that.
func (s *Service) carry(p *Plan, snap *filestate.Snapshot) bool {
	base, text, ok := s.carried(p, snap)
	if !ok || p.origin.rebases == maxRebases {
		return false
	}
	p.base, p.info, p.size = base, snap.Info, int64(len(snap.Data))
	p.change = Change{Text: text, Corrections: p.origin.change.Corrections}
	p.origin.rebases++
	return true
}

// carried returns the content of snap as a base, and that with the change of p's origin.
func (s *Service) carried(p *Plan, snap *filestate.Snapshot) (base Base, text string, ok bool) {
	o, path := p.origin, p.request.Path
	if o == nil || !snap.Stable || !s.state.MayShow(path) || s.state.Dropped(path, snap.SHA256) ||
		!s.state.ShowsAsText(path, snap.Data) {
		return Base{}, "", false
	}
	doc := textfile.Decode(snap.Data)
	was, now := o.base.Format, doc.Format
	marked := o.change.BOM != nil && *o.change.BOM != was.BOM
	if !doc.Lossless || marked || was.Encoding != now.Encoding || was.BOM != now.BOM {
		return Base{}, "", false
	}
	text, conflict := rebase.Carry(o.base.Text, o.change.Text, doc.Text)
	return Base{Exists: true, Text: doc.Text, SHA256: snap.SHA256, Format: doc.Format}, text, conflict == nil
}

// again returns a plan for the change of p, which was ready, after another writer has changed the
// file to snap; nil if the change is to be refused.
func (s *Service) again(p *Plan, refusal *fault.Error, snap *filestate.Snapshot) *Plan {
	if p.origin == nil && carries(p.request, refusal) && p.base.Exists {
		p.origin = &origin{base: p.base, change: p.change, known: p.known, version: p.last.Version}
	}
	if !s.rebase {
		return nil
	}
	next := &Plan{request: p.request, seen: p.seen, last: p.last, origin: p.origin, hidden: p.hidden}
	if !s.carry(next, snap) || s.encode(next) != nil {
		return nil
	}
	return next
}

// offer adds a token for the change of p to its refusal, whose result shows state, if the change
// carries over to snap.
func (s *Service) offer(ctx context.Context, p *Plan, snap *filestate.Snapshot, state filestate.State, refusal *fault.Error) *fault.Error {
	base, text, ok := s.carried(p, snap)
	if !ok || state.SHA256 == nil || *state.SHA256 != snap.SHA256 {
		return refusal
	}
	name := p.request.Path.Rel()
	diff := patch.Between(base.Text, text).Unified("a/"+name, "b/"+name)
	if !makes(base.Text, diff, text) {
		return refusal
	}
	offered := *refusal
	offered.Retry = s.state.OfferRetry(ctx, p.request.Path, snap.SHA256, diff)
	offered.Remedy = fmt.Sprintf("Call again with its sha256 and unified_diff %s, or make a new diff for latest_file_state.", offered.Retry)
	return &offered
}

// makes reports whether diff makes result of base.
func makes(base, diff, result string) bool {
	parsed, err := patch.Parse(diff)
	if err != nil {
		return false
	}
	change, err := patch.Correct(base, parsed)
	if err != nil {
		return false
	}
	text, err := patch.ApplyStrict(base, change)
	return err == nil && text == result
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
// change, and the state shows the whole change of the other writer.
func (s *Service) writtenCarried(ctx context.Context, p *Plan, out commit.Outcome) filestate.State {
	path, text, o := p.request.Path, p.change.Text, p.origin
	_, stored := s.state.Base(o.base.SHA256) // a compaction may have emptied the cache meanwhile
	known := o.known && stored
	foreign := patch.Between(o.base.Text, p.base.Text)
	intro := fmt.Sprintf("Another writer had changed the file from base %s to %s.", o.base.SHA256, p.base.SHA256)
	hunks := hunksOf(foreign, path)
	notices := []string{intro + " Its change:\n" + hunks, intro + " Its change replaced " + rangesOf(foreign) + "."}
	if len(hunks) > maxForeign {
		notices = notices[1:]
	}
	var st filestate.State
	regions := false
	if known && o.version != 0 && s.state.WantsRegions(path, text) {
		st, regions = s.state.WrittenRegions(ctx, path, out.Info, text, out.SHA256, o.version, regionsOf(patch.Between(o.base.Text, text)))
	}
	switch {
	case regions:
	case known && len(hunks) <= maxForeign && s.state.FitsNotice(path, filestate.State{}, notices[0]):
		st = s.state.Written(ctx, path, out.Info, text, out.SHA256)
	default:
		st = s.state.WrittenUnseen(ctx, path, out.Info, text, out.SHA256, true)
	}
	for _, notice := range notices {
		if st.Notice != "" {
			notice = st.Notice + "\n" + notice
		}
		if s.state.FitsNotice(path, st, notice) {
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

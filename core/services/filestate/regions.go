package filestate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// regionsNotice explains the regions to the model, given the version of the base.
func regionsNotice(base int64, regions []patch.Region) string {
	text := fmt.Sprintf("Each of changed_regions stands in place of its base_lines in version %d; all other lines are as there.", base)
	if len(regions) == 0 {
		text = fmt.Sprintf("The content is as in version %d.", base)
	}
	return text + " If you no longer have it, call read_file with offset 0."
}

// wantsRegions reports whether a conversation that knows the previous content of the file at p
// should be shown the changed regions of text, its current content, if they are shorter than text.
func (s *Service) wantsRegions(p workspace.Path, text string) bool {
	above := s.limits.ChangedRegionsAbove
	return above > 0 && s.MayShow(p) && !s.Dropped(p, "") && (len(text) > above || !s.fits(p, text, textfile.Lines(text), 0))
}

// WrittenRegions is [Service.Written] for a conversation that knew every byte of the file before
// its change, under the version base. By the regions it knows every byte of text, including edits
// of the user. It returns false and records nothing if the file may not be shown or was dropped, if
// [Limits.ChangedRegionsAbove] does not apply, and if the regions would be as long as the content, or
// longer than a read may show. It calls regions only to decide the last two. room is as for
// [Service.ShowSince].
func (s *Service) WrittenRegions(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string, base int64, regions func() []patch.Region, room int) (State, bool) {
	if !s.wantsRegions(p, text) {
		return State{}, false
	}
	short, ok := s.inRegions(p, text, base, regions(), room)
	if !ok {
		return State{}, false
	}
	st := s.Written(ctx, p, info, text, sha)
	short.Version, short.SHA256, short.FilePath = st.Version, st.SHA256, st.FilePath
	return short, true
}

// ShowSince returns the state of a file from bytes that were already read, and records that the
// conversation was shown them. The caller has verified that it may be shown: by a matching hash, or
// [Service.Seen]. The state is withheld if read_file would not show the whole file: text above the
// limits, other kinds. Content that was dropped from an earlier result is withheld; see
// [Service.Dropped]. With a [Recording] in ctx the state counts as shown once that is committed; the
// same applies to the other methods that return a State.
//
// Of a file to which [Limits.ChangedRegionsAbove] applies, and of which the conversation has received
// every byte of the earlier state base, the state contains the differences from that, as found by
// diff, so that the conversation knows the bytes of snap too. It contains the whole content if base
// is zero, if the conversation no longer has it, if its bytes are not stored any more, and if the
// differences would be as long. A full read afterwards shows content, because the conversation may
// lack the base.
//
// The content has at most room bytes, as JSON, for one of several states of a result; 0: it may fill
// the result. A state without room is withheld.
func (s *Service) ShowSince(ctx context.Context, p workspace.Path, snap *Snapshot, base Known, room int, diff func(base, text string) []patch.Region) State {
	doc, regions, ok := s.regionsSince(p, snap, base, diff)
	if !ok {
		return s.show(ctx, p, snap, room)
	}
	short, ok := s.inRegions(p, doc.Text, base.Version, regions, room)
	if !ok {
		return s.show(ctx, p, snap, room)
	}
	version, lines := s.Versions.NextVersion(), textfile.Lines(doc.Text)
	s.recordRead(ctx, heldRead{p, reading{
		info: snap.Info, local: snap.Local, at: snap.at, sha: snap.SHA256,
		end: lines, totalLines: lines, cacheable: true,
	}, version, snap.Data})
	short.Version, short.SHA256, short.FilePath = &version, &snap.SHA256, p.String()
	return short
}

// regionsSince compares snap with base if the differences should be shown.
func (s *Service) regionsSince(p workspace.Path, snap *Snapshot, base Known, diff func(base, text string) []patch.Region) (textfile.Document, []patch.Region, bool) {
	none := textfile.Document{}
	if base.SHA256 == "" || s.Dropped(p, snap.SHA256) || !snap.Stable || !s.ShowsAsText(p, snap.Data) || s.ApplyKillSwitch() {
		return none, nil, false
	}
	doc := textfile.DecodeShared(snap.Data)
	if !doc.Lossless || !s.wantsRegions(p, doc.Text) {
		return none, nil, false
	}
	if base.SHA256 == snap.SHA256 {
		return doc, []patch.Region{}, s.Knows(p, snap.Info, snap.SHA256)
	}
	data, ok := s.Base(base.SHA256)
	if !ok {
		return none, nil, false
	}
	before := textfile.DecodeShared(data)
	if !before.Lossless || before.Format.Encoding != doc.Format.Encoding || before.Format.BOM != doc.Format.BOM {
		return none, nil, false // the text alone does not show the change
	}
	return doc, diff(before.Text, doc.Text), true
}

// inRegions returns the state with regions instead of the content of a file with this text, if that
// is shorter, or, if the text exceeds a read, if it does not exceed one.
func (s *Service) inRegions(p workspace.Path, text string, base int64, regions []patch.Region, room int) (State, bool) {
	lines := textfile.Lines(text)
	short := State{ChangedRegions: regions, Notice: regionsNotice(base, regions), TotalLines: &lines}
	switch {
	case !s.fitsRegions(p, regions, room):
		return State{}, false
	case !s.fits(p, text, lines, room):
		return short, s.fit(regions)
	}
	return short, wireLength(short) < wireLength(State{Content: &text})
}

// fit reports whether all regions together do not exceed one read.
func (s *Service) fit(regions []patch.Region) bool {
	size, lines := 0, 0
	for _, r := range regions {
		size += len(r.Content)
		lines += r.Lines[1] - r.Lines[0] + 1
	}
	return lines <= s.limits.Lines && size <= s.limits.Bytes
}

// wireLength returns the length of a state in the form that a model receives: as JSON in a JSON
// string, without HTML escapes.
func wireLength(st State) int {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(st); err != nil {
		return 0 // a struct of texts and numbers can always be encoded
	}
	return b.Len() + strings.Count(b.String(), `"`) + strings.Count(b.String(), `\`)
}

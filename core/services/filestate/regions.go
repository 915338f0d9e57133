package filestate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// ChangedRegion is a run of lines of a file as it is now, and the lines of an
// earlier state that the conversation knows, the base, in whose place they stand. All
// lines outside of regions are those of the base, in their order. Lines are counted
// from 1, first and last inclusive; where there are none, last is one less than
// first.
type ChangedRegion struct {
	Lines     [2]int `json:"lines"`
	BaseLines [2]int `json:"base_lines"`
	Content   string `json:"content"` // the lines, each with its ending
}

// regionsNotice tells the model what it sees, given the version of the base.
func regionsNotice(base int64, regions []ChangedRegion) string {
	says := fmt.Sprintf("Each of changed_regions stands in place of its base_lines in version %d; all other lines are as there.", base)
	if len(regions) == 0 {
		says = fmt.Sprintf("The content is as in version %d.", base)
	}
	return says + " If you no longer have it, call read_file with offset 0."
}

// WantsRegions reports whether a conversation that knows what a file at p held
// before is to be shown the changed regions of text, which it holds now, if they
// take less than text.
func (s *Service) WantsRegions(p workspace.Path, text string) bool {
	above := s.limits.ChangedRegionsAbove
	return above > 0 && s.MayShow(p) && !s.Dropped(p, "") && (len(text) > above || !s.fits(p, text, textfile.Lines(text)))
}

// WrittenRegions is [Service.Written] for a conversation that knew every byte of
// the file, given to it under the version base, before its change: it knows every
// byte of text by the regions, also of what a user changed in it. It is
// false, and nothing is recorded, where the regions would take as much as the
// content, or more than a read may show.
func (s *Service) WrittenRegions(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string, base int64, regions []ChangedRegion) (State, bool) {
	short, ok := s.inRegions(p, text, base, regions)
	if !ok {
		return State{}, false
	}
	st := s.Written(ctx, p, info, text, sha)
	short.Version, short.SHA256, short.FilePath = st.Version, st.SHA256, st.FilePath
	return short, true
}

// ShowSince is [Service.Show] for a conversation that was given every byte of an
// earlier state of the file: of a file that [Limits.ChangedRegionsAbove] is about it
// shows what differs from that state, as diff finds it, by which the conversation
// knows the bytes of snap as well. It shows the whole as Show does if base is zero, if
// the conversation has been made to forget it, if its bytes are kept no more, and if
// the differences would take as much.
//
// A full read afterwards emits content, as it may be what the conversation lacks.
func (s *Service) ShowSince(ctx context.Context, p workspace.Path, snap *Snapshot, base Known, diff func(base, text string) []ChangedRegion) State {
	doc, regions, ok := s.regionsSince(p, snap, base, diff)
	if !ok {
		return s.Show(ctx, p, snap)
	}
	short, ok := s.inRegions(p, doc.Text, base.Version, regions)
	if !ok {
		return s.Show(ctx, p, snap)
	}
	version, lines := s.Versions.NextVersion(), textfile.Lines(doc.Text)
	s.recordRead(ctx, heldRead{p, Reading{
		Info: snap.Info, Local: snap.Local, At: snap.At, SHA256: snap.SHA256,
		End: lines, TotalLines: lines, Cacheable: true,
	}, version, snap.Data})
	short.Version, short.SHA256, short.FilePath = &version, &snap.SHA256, p.String()
	return short
}

// regionsSince compares snap with base, if that is what is to be shown of it.
func (s *Service) regionsSince(p workspace.Path, snap *Snapshot, base Known, diff func(base, text string) []ChangedRegion) (textfile.Document, []ChangedRegion, bool) {
	none := textfile.Document{}
	if base.SHA256 == "" || s.Dropped(p, snap.SHA256) || !snap.Stable || !s.ShowsAsText(p, snap.Data) || s.HeedHatch() {
		return none, nil, false
	}
	doc := textfile.Decode(snap.Data)
	if !doc.Lossless || !s.WantsRegions(p, doc.Text) {
		return none, nil, false
	}
	if base.SHA256 == snap.SHA256 {
		return doc, []ChangedRegion{}, s.Knows(p, snap.Info, snap.SHA256)
	}
	data, ok := s.base(base.SHA256)
	if !ok {
		return none, nil, false
	}
	before := textfile.Decode(data)
	if !before.Lossless || before.Format.Encoding != doc.Format.Encoding || before.Format.BOM != doc.Format.BOM {
		return none, nil, false // the text alone does not say what has changed
	}
	return doc, diff(before.Text, doc.Text), true
}

// inRegions returns what the state of a file that holds text has in place of the
// content, if it takes less, or, where the text is more than a read may show, if it
// is not.
func (s *Service) inRegions(p workspace.Path, text string, base int64, regions []ChangedRegion) (State, bool) {
	lines := textfile.Lines(text)
	short := State{ChangedRegions: regions, Notice: regionsNotice(base, regions), Range: Range{TotalLines: &lines}}
	switch {
	case !s.fitsRegions(p, regions):
		return State{}, false
	case !s.fits(p, text, lines):
		return short, s.fit(regions)
	}
	return short, wireLength(short) < wireLength(State{Content: &text})
}

// fit reports whether all regions together are no more than one read shows.
func (s *Service) fit(regions []ChangedRegion) bool {
	size, lines := 0, 0
	for _, r := range regions {
		size += len(r.Content)
		lines += r.Lines[1] - r.Lines[0] + 1
	}
	return lines <= s.limits.Lines && size <= s.limits.Bytes
}

// wireLength is how long a state is where a model receives it: as JSON in a JSON
// string, without HTML escapes.
func wireLength(st State) int {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(st); err != nil {
		return 0 // a struct of texts and numbers can be written
	}
	return b.Len() + strings.Count(b.String(), `"`) + strings.Count(b.String(), `\`)
}

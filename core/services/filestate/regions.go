package filestate

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// ChangedRegion is a run of lines of a file as it is after a change, and the
// lines of its state before, the base, in whose place they stand. All lines
// outside of regions are those of the base, in their order. Lines are counted
// from 1, first and last inclusive; where there are none, last is one less than
// first.
type ChangedRegion struct {
	Lines     [2]int `json:"lines"`
	BaseLines [2]int `json:"base_lines"`
	Content   string `json:"content"` // the lines, each with its ending
}

// regionsNotice tells the model what it sees.
const regionsNotice = "Of the new content only changed_regions are shown: the lines of the file as it is now, each in place of base_lines of the state that you changed. " +
	"Every other line is as it was there. This sha256 is the base of your next change. If you no longer have the rest, call read_file."

// WantsRegions reports whether a conversation that knows what a file at p held
// before is to be shown the changed regions of text, which it holds now, if they
// take less than text.
func (s *Service) WantsRegions(p workspace.Path, text string) bool {
	above := s.limits.ChangedRegionsAbove
	return above > 0 && s.MayShow(p) && (len(text) > above || !s.fits(text, textfile.Lines(text)))
}

// WrittenRegions is [Service.Written] for a conversation that knew every byte of
// the file before its change: it knows every byte of text by the regions, whoever
// made the change what it is (PR-30). It is false, and nothing is recorded, where
// the regions would take as much as the content, or more than a read may show.
func (s *Service) WrittenRegions(p workspace.Path, info workspace.Info, text, sha string, regions []ChangedRegion) (State, bool) {
	lines := textfile.Lines(text)
	short := State{ChangedRegions: regions, Notice: regionsNotice, Range: Range{TotalLines: &lines}}
	if s.fits(text, lines) {
		if wireLength(short) >= wireLength(State{Content: &text}) {
			return State{}, false
		}
	} else if !s.fit(regions) {
		return State{}, false
	}
	st := s.Written(p, info, text, sha)
	st.Content = nil
	st.ChangedRegions, st.Notice, st.Range = short.ChangedRegions, short.Notice, short.Range
	return st, true
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

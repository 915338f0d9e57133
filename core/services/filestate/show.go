package filestate

import (
	"context"

	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Show returns the state of a file from bytes in hand, and records that the
// conversation was shown them (FS-08, FS-29). The caller has made sure that
// it may be: a matching hash, or [Service.Seen]. The state is withheld where
// read_file would not show the whole: text above the limits, other kinds
// (CR-29, PR-29).
//
// What was dropped from an earlier result is withheld; see [Service.Dropped]. With a
// [Recording] in ctx the state counts as shown once that is committed; so it is with
// all methods of this kind.
func (s *Service) Show(ctx context.Context, p workspace.Path, snap *Snapshot) State {
	if !s.MayShow(p) || s.Dropped(p, snap.SHA256) {
		return Withheld(p.String())
	}
	if !s.ShowsAsText(p, snap.Data) {
		return Withheld(p.String())
	}
	doc := textfile.Decode(snap.Data)
	lines := textfile.Lines(doc.Text)
	if !doc.Lossless || !snap.Stable || !s.fits(p, doc.Text, lines) {
		return Withheld(p.String())
	}
	version := s.Versions.NextVersion()
	s.recordRead(ctx, heldRead{p, Reading{
		Info: snap.Info, Local: snap.Local, At: snap.At, SHA256: snap.SHA256,
		End: lines, TotalLines: lines, Full: true, Cacheable: true,
	}, version, snap.Data})
	return State{FilePath: p.String(), Version: &version, SHA256: &snap.SHA256, Content: &doc.Text}
}

// Written returns the state of a file that the conversation just wrote, from
// the bytes in hand (FS-08), and records the write. Text above the limits is
// left out: the model has it (CR-29). A zero info, of a file whose stat
// failed after the write, only removes what was known (RC-32).
func (s *Service) Written(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string) State {
	lines := textfile.Lines(text)
	version := s.Versions.NextVersion()
	s.recordWrite(ctx, p, info, sha, lines, version)
	st := State{FilePath: p.String(), Version: &version, SHA256: &sha}
	if s.mayShowText(p, text, lines) {
		st.Content = &text
	}
	return st
}

// WrittenUnseen is Written for a text that is not all the conversation's own,
// as a person has changed it. One that may not be shown is withheld with its
// hash, and the file has to be read before it is changed again (PR-30).
func (s *Service) WrittenUnseen(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string) State {
	lines := textfile.Lines(text)
	if s.mayShowText(p, text, lines) {
		return s.Written(ctx, p, info, text, sha)
	}
	s.recordWrite(ctx, p, info, sha, lines, 0)
	return Withheld(p.String())
}

// WrittenByHash is Written for a change of a file that the conversation has not
// been shown, or not any more: it had the hash alone (PR-04). One that may not be
// shown now gives version and hash all the same (CR-29), and is not known by that:
// the file has to be read before it is changed without a hash (PR-03).
func (s *Service) WrittenByHash(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string) State {
	lines := textfile.Lines(text)
	if s.mayShowText(p, text, lines) {
		return s.Written(ctx, p, info, text, sha)
	}
	s.recordWrite(ctx, p, info, sha, lines, 0)
	version := s.Versions.NextVersion()
	return State{FilePath: p.String(), Version: &version, SHA256: &sha}
}

// recordWrite records a write of bytes that the conversation knows under version; 0:
// it does not know all of them.
func (s *Service) recordWrite(ctx context.Context, p workspace.Path, info workspace.Info, sha string, lines int, version int64) {
	path := p.String()
	e := event{path: path, sha: sha}
	switch {
	case s.HeedHatch():
	case info == workspace.Info{}:
		s.Cache.Invalidate(path)
	default:
		written := s.Cache.RecordUnseenWrite(path, info, sha, lines, s.now())
		e.shown = func() { s.Cache.knowWrite(path, written, version) }
	}
	if version == 0 {
		e.shown = nil
		if s.Dropped(p, "") {
			s.dropped.add(path, sha)
		}
	}
	s.hold(ctx, e)
}

func (s *Service) mayShowText(p workspace.Path, text string, lines int) bool {
	return s.fits(p, text, lines) && s.MayShow(p) && !s.Dropped(p, "")
}

// MayShow reports whether the model may see bytes of the file at p: whether
// read_file would show it to this agent (PR-29).
func (s *Service) MayShow(p workspace.Path) bool { return s.mayShow == nil || s.mayShow(p) }

// ShowsAsText reports whether a file at p that holds data is of a kind that a
// read shows as text, whatever its length in lines: text, or SVG up to the
// limit SVGBytes. Only such a file may be changed (PR-08).
func (s *Service) ShowsAsText(p workspace.Path, data []byte) bool {
	size := int64(len(data))
	class := textfile.Classify(p.Base(), data[:min(size, textfile.HeadSize)], size)
	return class.Kind == textfile.KindText || class.Kind == textfile.KindSVG && size <= s.limits.SVGBytes
}

func (s *Service) fits(p workspace.Path, text string, lines int) bool {
	return lines <= s.limits.Lines && len(text) <= s.limits.Bytes && s.fitsResult(p, text)
}

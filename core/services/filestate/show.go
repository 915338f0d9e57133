package filestate

import (
	"context"

	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// show is [Service.ShowSince] without an earlier state.
func (s *Service) show(ctx context.Context, p workspace.Path, snap *Snapshot, room int) State {
	if !s.MayShow(p) || s.Dropped(p, snap.SHA256) {
		return Withheld(p.String())
	}
	if !s.ShowsAsText(p, snap.Data) {
		return Withheld(p.String())
	}
	doc := textfile.DecodeShared(snap.Data)
	lines := textfile.Lines(doc.Text)
	if !doc.Lossless || !snap.Stable || !s.fits(p, doc.Text, lines, room) {
		return Withheld(p.String())
	}
	version := s.Versions.NextVersion()
	s.recordRead(ctx, heldRead{p, snap.whole(lines), version, snap.Data})
	return State{FilePath: p.String(), Version: &version, SHA256: &snap.SHA256, Content: &doc.Text}
}

// Written returns the state of a file that the conversation has just written, from the written
// bytes, and records the write. Text above the limits is omitted, because the model has it. A zero
// info, for a file whose stat failed after the write, only removes the previous record.
func (s *Service) Written(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string) State {
	lines := textfile.Lines(text)
	version := s.Versions.NextVersion()
	s.recordWrite(ctx, p, info, sha, lines, version)
	s.give(ctx, p, sha)
	st := State{FilePath: p.String(), Version: &version, SHA256: &sha}
	if s.mayShowText(p, text, lines) {
		st.Content = &text
	}
	return st
}

// WrittenUnseen is Written for a text that the conversation does not know completely: because the
// user has edited it, or, if byHash is true, because it changed a file of which it had only the hash.
// If the text may not be shown now, the file must be read before it is changed again without a hash:
// the state has only the version and the hash, or is withheld unless byHash is true.
func (s *Service) WrittenUnseen(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string, byHash bool) State {
	lines := textfile.Lines(text)
	if s.mayShowText(p, text, lines) {
		return s.Written(ctx, p, info, text, sha)
	}
	if !byHash {
		s.recordWrite(ctx, p, info, sha, lines, 0)
		return Withheld(p.String())
	}
	return s.writtenUnknown(ctx, p, info, sha, lines)
}

// writtenUnknown returns the state of a written text of which the conversation has only the hash.
func (s *Service) writtenUnknown(ctx context.Context, p workspace.Path, info workspace.Info, sha string, lines int) State {
	s.recordWrite(ctx, p, info, sha, lines, 0)
	s.give(ctx, p, sha)
	version := s.Versions.NextVersion()
	return State{FilePath: p.String(), Version: &version, SHA256: &sha}
}

// WrittenWithin is [Service.Written], or [Service.WrittenUnseen] by hash unless the conversation knows
// the text. room is as for [Service.ShowSince].
func (s *Service) WrittenWithin(ctx context.Context, p workspace.Path, info workspace.Info, text, sha string, known bool, room int) State {
	fits := s.fitsResult(p, text, room)
	switch {
	case known:
		st := s.Written(ctx, p, info, text, sha)
		if !fits {
			st.Content = nil
		}
		return st
	case fits:
		return s.WrittenUnseen(ctx, p, info, text, sha, true)
	}
	return s.writtenUnknown(ctx, p, info, sha, textfile.Lines(text))
}

// recordWrite records a write of bytes that the conversation knows under version; 0: it does not
// know all of them.
func (s *Service) recordWrite(ctx context.Context, p workspace.Path, info workspace.Info, sha string, lines int, version int64) {
	path := p.String()
	e := event{path: path, sha: sha}
	switch {
	case s.ApplyKillSwitch():
	case info == workspace.Info{}:
		s.Cache.Invalidate(path)
	default:
		written := s.Cache.recordUnseenWrite(path, info, sha, lines, s.now())
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
	return s.fits(p, text, lines, 0) && s.MayShow(p) && !s.Dropped(p, "")
}

// MayShow reports whether the model may see bytes of the file at p: whether read_file would show it
// to this agent.
func (s *Service) MayShow(p workspace.Path) bool { return s.mayShow == nil || s.mayShow(p) }

// ShowsAsText reports whether a read shows a file at p with this data as text, whatever its number
// of lines: text, or SVG up to 1 MiB. Only such a file may be changed.
func (s *Service) ShowsAsText(p workspace.Path, data []byte) bool {
	size := int64(len(data))
	class := textfile.Classify(p.Base(), data[:min(size, textfile.HeadSize)], size)
	return class.Kind == textfile.KindText || class.Kind == textfile.KindSVG && size <= s.limits.svgBytes
}

func (s *Service) fits(p workspace.Path, text string, lines, room int) bool {
	return lines <= s.limits.Lines && len(text) <= s.limits.Bytes && s.fitsResult(p, text, room)
}

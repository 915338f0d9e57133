package filestate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// ResultBytes returns the limit of the text of one result; see [Limits.ResultBytes]. Without a
// limit it exceeds any result.
func (s *Service) ResultBytes() int { return int(s.result.Load()) }

// SetResultBytes changes the limit ResultBytes for later results, for example when the client that
// receives them becomes known. Values are as in [Limits].
func (s *Service) SetResultBytes(n int) {
	s.result.Store(int64(Limits{ResultBytes: n}.withDefaults().ResultBytes))
}

// reportBytes is the space reserved in the result of a change for the message and the remedy, twice
// because a failure contains them again as text. The path, which these repeat, is counted
// separately.
const reportBytes = 1200

// fitsResult reports whether the result of a change of the file at p has room for text; see roomFor.
func (s *Service) fitsResult(p workspace.Path, text string, room int) bool {
	room = s.roomFor(p, room)
	return len(text) <= room && textBytes(text) <= room
}

// fitsRegions is fitsResult for the regions that replace a text.
func (s *Service) fitsRegions(p workspace.Path, regions []patch.Region, room int) bool {
	return jsonBytes(regions)+len(regionsNotice(math.MaxInt32, regions)) <= s.roomFor(p, room)
}

// FitsNotice reports whether the result of a change of the file at p has room for st with notice.
// room is as for [Service.ShowSince].
func (s *Service) FitsNotice(p workspace.Path, st State, notice string, room int) bool {
	st.Notice = notice
	return jsonBytes(st) <= s.roomFor(p, room)+textBytes(p.String())
}

// roomFor returns the number of bytes for content in the result of a change of the file at p: at most
// room, unless that is 0.
func (s *Service) roomFor(p workspace.Path, room int) int {
	whole := s.ResultBytes() - reportBytes - 3*textBytes(p.String())
	if room == 0 {
		return whole
	}
	return min(room, whole)
}

// page returns cut, or as many of its lines as fit in the result of r. The error is of code
// file_too_large, for a request that does not accept such a page, and for a path that leaves no
// room.
func (s *Service) page(r ReadRequest, cut slice) (slice, error) {
	room := s.ResultBytes()
	if r.ResultBytes > 0 {
		room = min(room, r.ResultBytes)
	}
	const most = 6 // bytes of an escape
	if most*(len(cut.text)+len(r.Path.String()))+1000 <= room {
		return cut, nil
	}
	if s.frameBytes(r.Path, cut)+textBytes(cut.text) <= room {
		return cut, nil
	}
	if r.Uncut {
		return slice{}, fault.New(fault.FileTooLarge, "filestate.read",
			"The text of "+r.Path.String()+" is longer than what is left of this result.", "Call read_file on it.")
	}
	longest := slice{first: cut.total, end: cut.total, total: cut.total + 1, cut: true}
	plain := s.frameBytes(r.Path, longest)
	longest.inside = true
	inside := s.frameBytes(r.Path, longest)
	const least = 64 // bytes of content
	if room-inside < least {
		return slice{}, fault.New(fault.FileTooLarge, "filestate.read",
			fmt.Sprintf("A result of %d bytes has no room for the content of %s.", room, r.Path.String()),
			"Read it with a shell command, or raise tools.maxResultBytes.")
	}
	return cut.within(room-plain, room-inside), nil
}

// frameBytes returns the size of the state of a read of cut without its content.
func (s *Service) frameBytes(p workspace.Path, cut slice) int {
	const hash = EmptySHA256 // as long as any hash
	version, sha, content := int64(1e12), hash, ""
	st := State{FilePath: p.String(), Version: &version, SHA256: &sha, Content: &content}
	s.describe(&st, cut)
	return jsonBytes(st)
}

// describe adds the fields about the shown part to the state of a read.
func (s *Service) describe(st *State, cut slice) {
	if cut.first > 0 || cut.end < cut.total || cut.inside {
		st.setRange(cut)
	}
	if cut.cut {
		st.Notice = truncationNotice(cut.first+1, cut.end, cut.total, nextAction(cut))
	}
	if s.isInstructions(st.FilePath) {
		st.Notice = joinNotices(st.Notice, instructionsNotice)
	}
}

// within returns as many lines of s as fit in room bytes of a JSON string, or, if the first line
// alone is longer, the part of it that fits in roomInside.
func (s slice) within(room, roomInside int) slice {
	at, used := 0, 0
	end := s.first
	for at < len(s.text) && !s.inside {
		next := len(s.text)
		if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if used += textBytes(s.text[at:next]); used > room {
			break
		}
		at = next
		end++
	}
	s.cut = true
	if at == 0 {
		at = textPrefix(s.text, roomInside)
		end++
		s.inside = true
	}
	s.text, s.end = strings.Clone(s.text[:at]), end
	return s
}

// textBytes returns the length of text inside a JSON string, without HTML escapes.
func textBytes(text string) int {
	n := len(text)
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size, bytes := escaped(text[i:])
		i += size
		n += bytes - size
	}
	return n
}

// textPrefix returns the length of the longest prefix of text, in whole characters and at least
// one, that fits in room bytes.
func textPrefix(text string, room int) int {
	at := 0
	for at < len(text) {
		size, bytes := escaped(text[at:])
		if room -= bytes; room < 0 && at > 0 {
			break
		}
		at += size
	}
	return at
}

// escaped returns the size of the first character of text, which is not empty, and the number of
// bytes that encoding/json writes for it.
func escaped(text string) (size, bytes int) {
	switch c := text[0]; {
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
		return 1, 2
	case c < ' ':
		return 1, 6
	case c < utf8.RuneSelf:
		return 1, 1
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
		return size, 6
	}
	return size, size
}

// jsonBytes returns the length of the JSON text of a struct of texts and numbers, without HTML
// escapes.
func jsonBytes(v any) int {
	var n counter
	e := json.NewEncoder(&n)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return 0 // every field can be encoded
	}
	return int(n) - len("\n")
}

// counter counts the bytes written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

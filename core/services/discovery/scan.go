package discovery

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Line is a matching line of a file, or a line of its context.
type Line struct {
	Number  int    // 1-based
	Text    string // valid UTF-8 without its line ending; a long line is clipped around the match
	Match   bool   // false: a line of context
	Clipped bool
}

const (
	// binaryHead is the number of bytes of a file that are checked for a NUL.
	binaryHead = 8 << 10
	// window is the number of bytes of a file that are searched at a time.
	window = 4 << 20
	// longestLine is the number of bytes of a line that are searched together. A longer one is
	// searched in pieces that overlap.
	longestLine = 16 << 20
	overlap     = 64 << 10
	firstBuffer = 64 << 10
)

// scanner searches files one after another. It is not safe for concurrent use.
type scanner struct {
	pattern  matcher
	context  int // number of lines before and after
	most     int // matches to report for a file
	width    int // bytes of a line to report
	nameOnly bool
	budget   int         // remaining bytes of text to collect
	mayShow  func() bool // called at the first match of a file; nil: yes

	buf []byte
	got fileLines
	// State of the current file.
	last    int  // number of the last line collected
	trailer int  // remaining lines to collect after the last match
	matched int  // number of the last line that matched
	piece   bool // the data continues the last line of the previous data
}

// fileLines is the result for one file.
type fileLines struct {
	lines   []Line
	matches int
	more    bool // there are matches beyond the limits
	binary  bool
	// withheld: there is a match, but the file may not be shown
	withheld bool
}

var errDone = errors.New("discovery: enough was found")

// scan searches an open file up to its current size.
func (s *scanner) scan(f *os.File) (fileLines, error) {
	info, err := workspace.InfoOf(f)
	if err != nil {
		return fileLines{}, err
	}
	s.got, s.last, s.trailer, s.matched, s.piece = fileLines{}, 0, 0, 0, false
	if !info.Mode.IsRegular() || info.Size == 0 {
		return s.got, nil
	}
	if err := s.search(f, info.Size); err != nil && !errors.Is(err, errDone) {
		return fileLines{}, err
	}
	return s.got, nil
}

// search reads size bytes of r, window by window, and searches complete lines.
func (s *scanner) search(r io.Reader, size int64) error {
	r = io.LimitReader(r, size)
	need := int(min(size, window)) + 1
	if cap(s.buf) < need || cap(s.buf) > 2*window {
		s.buf = make([]byte, max(need, firstBuffer))
	}
	buf := s.buf[:cap(s.buf)]
	filled, err := fill(r, buf)
	if filled == 0 {
		if errors.Is(err, io.EOF) {
			return nil // the file has shrunk
		}
		return err
	}
	if order := byteOrderMark(buf[:filled]); order != nil {
		r = &utf16Reader{order: order, r: io.MultiReader(bytes.NewReader(bytes.Clone(buf[2:filled])), r)}
		filled, err = fill(r, buf)
	} else if bytes.IndexByte(buf[:min(filled, binaryHead)], 0) >= 0 {
		s.got.binary = true
		return nil
	}
	if bytes.HasPrefix(buf[:filled], []byte("\uFEFF")) {
		copy(buf, buf[3:filled])
		filled -= 3
	}
	kept := 0   // bytes at the beginning that were searched already, kept for context
	number := 1 // of the line at kept
	for {
		if s.pattern.ended() {
			return errDone
		}
		final := errors.Is(err, io.EOF)
		if err != nil && !final {
			return err
		}
		end := filled
		if !final {
			end = bytes.LastIndexByte(buf[:filled], '\n') + 1
			switch {
			case end > kept:
			case filled == len(buf) && len(buf) < longestLine:
				buf = append(buf, make([]byte, len(buf))...)
				s.buf = buf
				end = kept
			case filled == len(buf):
				end = filled
			default:
				end = kept
			}
		}
		if end > kept {
			if number, err = s.lines(buf[:end], kept, number); err != nil || final {
				return err
			}
			from := s.contextStart(buf[:end])
			if s.piece = buf[end-1] != '\n'; s.piece {
				from, end = end-overlap, end-overlap
			}
			copy(buf, buf[from:filled])
			filled, kept = filled-from, end-from
		} else if final {
			return nil
		}
		var n int
		n, err = fill(r, buf[filled:])
		filled += n
	}
}

// contextStart returns the start of the lines that may be context of a match after data.
func (s *scanner) contextStart(data []byte) int {
	from := len(data)
	for range s.context {
		at := bytes.LastIndexByte(data[:max(from-1, 0)], '\n') + 1
		if len(data)-at > window/4 {
			break
		}
		from = at
	}
	return from
}

// fill reads until buf is full; the error is io.EOF at the end.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// lines searches the lines of data starting at from, the first of which has the given number;
// earlier ones are context. It returns the number of the line after data.
func (s *scanner) lines(data []byte, from, number int) (int, error) {
	at := from
	if s.piece && s.matched == number { // the rest of a line that was reported already
		i := bytes.IndexByte(data[from:], '\n')
		if i < 0 {
			return number, nil
		}
		at += i + 1
		from = at
		number++
	}
	hits := newCursor(s.pattern.literals, data, from)
	for at < len(data) {
		start, end := at, 0
		if s.pattern.literals != nil {
			hit := hits.next(at)
			if hit < 0 {
				break
			}
			start = at + bytes.LastIndexByte(data[at:hit], '\n') + 1
			number = s.pass(data, at, start, number)
		}
		end = len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := trimLineEnd(data[start:end])
		at = min(end+1, len(data))
		if s.pattern.match(line) {
			if err := s.match(data, start, line, number); err != nil {
				return 0, err
			}
		} else {
			s.after(line, number)
		}
		if end < len(data) {
			number++
		}
	}
	return s.pass(data, at, len(data), number), nil
}

func trimLineEnd(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\r")) }

// pass counts the lines of data[from:to], none of which matches, and collects those that follow a
// match.
func (s *scanner) pass(data []byte, from, to, number int) int {
	for s.trailer > 0 && from < to {
		end := to
		if i := bytes.IndexByte(data[from:to], '\n'); i >= 0 {
			end = from + i
		}
		s.after(trimLineEnd(data[from:end]), number)
		if end < to {
			number++
		}
		from = min(end+1, to)
	}
	return number + bytes.Count(data[from:to], []byte{'\n'})
}

// after collects a line that follows a match, if it is close enough.
func (s *scanner) after(line []byte, number int) {
	if s.trailer > 0 && number > s.last {
		s.trailer--
		s.collect(line, number, false)
	}
}

// match collects a matching line and those before it.
func (s *scanner) match(data []byte, start int, line []byte, number int) error {
	if s.got.matches == 0 && s.mayShow != nil && !s.mayShow() {
		s.got = fileLines{withheld: true}
		return errDone
	}
	if s.got.matches >= s.most || s.budget <= 0 {
		s.got.more = true
		return errDone
	}
	s.got.matches++
	s.matched = number
	if s.nameOnly {
		return errDone
	}
	before := len(s.got.lines)
	for from, n, shown := start, number-1, s.last; n > shown && n >= number-s.context && from > 0; n-- {
		end := from - 1
		from = bytes.LastIndexByte(data[:end], '\n') + 1
		s.collect(trimLineEnd(data[from:end]), n, false)
	}
	slices.Reverse(s.got.lines[before:])
	s.collect(line, number, true)
	s.trailer = s.context
	return nil
}

func (s *scanner) collect(line []byte, number int, match bool) {
	first, last := 0, 0
	if match && len(line) > s.width {
		first, last = s.pattern.find(line)
	}
	text, clipped := clip(line, first, last, s.width)
	s.got.lines = append(s.got.lines, Line{number, text, match, clipped})
	s.last = max(s.last, number)
	s.budget -= len(text)
}

// clip returns a line, or at most width bytes of a long one around the match data[first:last].
func clip(line []byte, first, last, width int) (text string, clipped bool) {
	if len(line) <= width {
		return strings.ToValidUTF8(string(line), "\ufffd"), false
	}
	from := 0
	if last > width {
		from = max(0, min(first-width/4, last-width/2))
		from = min(from, len(line)-width, first)
	}
	to := min(from+width, len(line))
	for i := 0; i < utf8.UTFMax && from > 0 && from < first && !utf8.RuneStart(line[from]); i++ {
		from++
	}
	for i := 0; i < utf8.UTFMax && to > from && to < len(line) && !utf8.RuneStart(line[to]); i++ {
		to--
	}
	text = strings.ToValidUTF8(string(line[from:to]), "\ufffd")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text, true
}

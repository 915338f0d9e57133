package pager

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
)

// Limits of the memory for a saved output.
const (
	maxPiece   = 1 << 10 // bytes of a line that are read as one
	markEvery  = 256     // pieces between two marks
	maxVisible = 1 << 20 // rows that one key moves at most
)

// savedOutput shows the file of a whole output by window. A piece is a line, or a part
// of a long one. Only the positions of some pieces are kept; the file is opened for each
// window, so that nothing has to be closed.
type savedOutput struct {
	path   string
	marks  []mark // of each markEvery-th piece
	pieces int
	lines  int

	top, row int // first visible piece, and its row
	rows     int // of the window, as last displayed
	columns  int
	found    int // piece of the last match
}

// mark is the position of a piece.
type mark struct {
	offset int64
	line   int  // 1-based
	begins bool // the piece begins its line
}

// piece is a piece of the file.
type piece struct {
	text string
	mark
}

// openSaved indexes a regular file.
func openSaved(path string) (*savedOutput, error) {
	if path == "" {
		return nil, errors.New("no output is saved")
	}
	s := &savedOutput{path: path, columns: 80, found: -1}
	err := s.scan(0, func(n int, p piece) bool {
		if n%markEvery == 0 {
			s.marks = append(s.marks, p.mark)
		}
		s.pieces, s.lines = n+1, p.line
		return true
	})
	if err == nil && s.pieces == 0 {
		err = errors.New("the saved output is empty")
	}
	return s, err
}

// scan yields the pieces from the n-th on, until use returns false.
func (s *savedOutput) scan(n int, use func(n int, p piece) bool) error {
	info, err := os.Lstat(s.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", s.path)
	}
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	at, i := mark{line: 1, begins: true}, 0
	if n/markEvery < len(s.marks) {
		i = n / markEvery * markEvery
		at = s.marks[n/markEvery]
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, at.offset, math.MaxInt64-at.offset), 1<<16)
	for ; ; i++ {
		data, err := r.Peek(maxPiece + utf8.UTFMax)
		if len(data) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		size := pieceOf(data)
		if i >= n && !use(i, piece{string(data[:size]), at}) {
			return nil
		}
		ends := data[size-1] == '\n'
		_, _ = r.Discard(size) // these bytes are in the buffer
		at.offset += int64(size)
		at.begins = ends
		if ends {
			at.line++
		}
	}
}

// pieceOf returns the size of the first piece of data: up to the end of the line, or of
// the last whole character within maxPiece bytes.
func pieceOf(data []byte) int {
	if i := bytes.IndexByte(data[:min(len(data), maxPiece)], '\n'); i >= 0 {
		return i + 1
	}
	if len(data) <= maxPiece {
		return len(data)
	}
	size := maxPiece
	for size > maxPiece-utf8.UTFMax && !utf8.RuneStart(data[size]) {
		size--
	}
	return size
}

// rowsOf returns the rows of pieces from the n-th on, until there are enough: for each
// row its piece and its text.
func (s *savedOutput) rowsOf(v blocks.Style, n, enough int) (rows []string, of []int) {
	width := len(fmt.Sprint(s.lines))
	err := s.scan(n, func(i int, p piece) bool {
		number := strings.Repeat(" ", width)
		if p.begins {
			number = fmt.Sprintf("%*d", width, p.line)
		}
		for _, row := range pieceRows(p.text, s.columns-width-2) {
			rows, of = append(rows, v.Theme.Dim.Render(number)+"  "+row), append(of, i)
			number = strings.Repeat(" ", width)
		}
		return len(rows) < enough
	})
	if err != nil {
		return []string{display.Cut(display.Line(err.Error()), s.columns, "…")}, []int{n}
	}
	return rows, of
}

// pieceRows returns the rows of a piece, at least one.
func pieceRows(text string, columns int) (rows []string) {
	for _, line := range blocks.Lines(text) {
		rows = append(rows, display.Break(line, max(columns, 1))...)
	}
	if len(rows) == 0 {
		return []string{""}
	}
	return rows
}

// view returns the visible rows, and describes their position.
func (s *savedOutput) view(v blocks.Style, rows int) (shown []string, where string) {
	if s.columns != v.Columns {
		s.columns, s.row = v.Columns, 0
	}
	s.rows = max(rows, 1)
	shown, of := s.rowsOf(v, s.top, s.row+s.rows)
	first := min(s.row, len(shown))
	last := min(first+s.rows, len(shown))
	if first == last {
		return nil, ""
	}
	return shown[first:last], fmt.Sprintf("%d %% of %s lines", 100*(of[last-1]+1)/s.pieces, display.Thousands(s.lines))
}

// do performs an action that scrolls.
func (s *savedOutput) do(action keymap.Action) {
	move := frame.Scroller{Total: 2 * maxVisible, Rows: s.rows, Offset: maxVisible / 2}
	if !move.Do(action) {
		return
	}
	switch action {
	case keymap.ToStart:
		s.top, s.row = 0, 0
	case keymap.ToEnd:
		s.top, s.row = s.pieces, 0
		s.up(s.rows)
	default:
		s.scroll(move.Offset - maxVisible/2)
	}
}

// scroll moves the window by n rows, down if n > 0.
func (s *savedOutput) scroll(n int) {
	if n < 0 {
		s.up(-n)
	} else {
		s.down(n)
	}
}

// up moves the window up.
func (s *savedOutput) up(rows int) {
	for rows > s.row && s.top > 0 {
		rows -= s.row
		s.top--
		s.row = s.height(s.top)
	}
	s.row = max(s.row-rows, 0)
}

// down moves the window down, at most until the last row is visible.
func (s *savedOutput) down(rows int) {
	all, of := s.rowsOf(blocks.Style{Theme: new(theme.Theme)}, s.top, s.row+rows+s.rows)
	to := max(min(s.row+rows, len(all)-s.rows), s.row)
	to = min(to, len(all)-1)
	first := to
	for first > 0 && of[first-1] == of[to] {
		first--
	}
	s.top, s.row = of[to], to-first
}

// height returns the number of rows of a piece.
func (s *savedOutput) height(n int) (rows int) {
	width := len(fmt.Sprint(s.lines))
	_ = s.scan(n, func(_ int, p piece) bool { // an error is shown by view
		rows = len(pieceRows(p.text, s.columns-width-2))
		return false
	})
	return rows
}

// find moves to the next piece that contains the query, in a direction, and around the
// end. The query is in lower case.
func (s *savedOutput) find(query string, direction int) bool {
	from := s.top
	if s.found >= s.top && s.found < s.top+s.rows {
		from = s.found
	} else {
		from -= direction
	}
	before, after := -1, -1 // the nearest match before and after from, or around the end
	first, last := -1, -1
	_ = s.scan(0, func(n int, p piece) bool { // an error is shown by view
		if !strings.Contains(strings.ToLower(strings.Join(blocks.Lines(p.text), " ")), query) {
			return true
		}
		if first < 0 {
			first = n
		}
		last = n
		if n < from {
			before = n
		}
		if n > from && after < 0 {
			after = n
		}
		return direction < 0 || after < 0
	})
	at := after
	if direction < 0 {
		at = before
		first = last
	}
	if at < 0 {
		at = first
	}
	if at < 0 {
		return false
	}
	s.found, s.top, s.row = at, at, 0
	return true
}

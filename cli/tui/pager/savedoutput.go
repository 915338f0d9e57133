package pager

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
)

// maxVisible is the number of rows that one key moves at most.
const maxVisible = 1 << 20

// savedOutput shows the file of a whole output by window. The file is opened for each
// window, so that nothing has to be closed. All that takes long is a job, which another
// goroutine performs.
type savedOutput struct {
	index

	top, row int // first visible piece, and its row
	rows     int // of the window, as last displayed
	columns  int
	found    int   // piece of the last match
	seeking  *seek // after the file is indexed; nil: none
}

// seek is a place to find: a text, or the end of the file.
type seek struct {
	text            string // in lower case; "": the end
	from, direction int
	stopped         atomic.Bool
}

// openSaved opens a regular file, and indexes its beginning.
func openSaved(path string) (*savedOutput, error) {
	x, err := newIndex(path)
	return &savedOutput{index: x, columns: 80, found: -1}, err
}

// job returns the next work that takes long, nil for none. It runs on another goroutine, one
// at a time, and returns a function that the goroutine of the page calls; that one reports
// whether a text was found.
func (s *savedOutput) job() func(context.Context) func() bool {
	x, wanted := s.index, s.seeking
	switch {
	case !x.whole:
		return func(ctx context.Context) func() bool {
			x, err := x.extended(ctx)
			return func() bool {
				s.index = x
				s.whole = x.whole || err != nil // an error is shown by view
				return true
			}
		}
	case wanted != nil:
		return func(ctx context.Context) func() bool {
			at := wanted.in(x, func() bool { return wanted.stopped.Load() || ctx.Err() != nil })
			return func() bool { return s.arrive(wanted, at) }
		}
	}
	return nil
}

// in returns the piece of the place, -1 for none. A search continues around the end.
func (w *seek) in(x index, stopped func() bool) int {
	begin, end := w.from+1, math.MaxInt
	if w.direction < 0 {
		begin, end = 0, w.from
	}
	if w.text == "" {
		return x.pieces
	}
	if at := x.search(w.text, begin, end, w.direction < 0, stopped); at >= 0 {
		return at
	}
	if w.direction < 0 {
		return x.search(w.text, end, math.MaxInt, true, stopped)
	}
	return x.search(w.text, 0, begin, false, stopped)
}

// arrive moves the window to a place that was found, unless it is no longer wanted.
func (s *savedOutput) arrive(wanted *seek, at int) bool {
	if s.seeking != wanted {
		return true
	}
	s.seeking = nil
	switch {
	case at < 0:
		return false
	case wanted.text == "":
		s.top, s.row = at, 0
		s.up(s.rows)
	default:
		s.found, s.top, s.row = at, at, 0
	}
	return true
}

// want begins to look for a place instead of the last one; nil ends that.
func (s *savedOutput) want(place *seek) {
	if s.seeking != nil {
		s.seeking.stopped.Store(true)
	}
	s.seeking = place
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
		for _, row := range pieceRows(string(p.data), s.columns-width-2) {
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
	switch {
	case s.seeking != nil && s.seeking.text != "":
		where = "searching…"
	case !s.whole:
		where = fmt.Sprintf("more than %s lines, reading: %d %%", display.Thousands(s.lines), 100*s.next.offset/s.size)
	default:
		where = fmt.Sprintf("%d %% of %s lines", min(100*(of[last-1]+1)/s.pieces, 100), display.Thousands(s.lines))
	}
	return shown[first:last], where
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
		s.want(new(seek))
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
		rows = len(pieceRows(string(p.data), s.columns-width-2))
		return false
	})
	return rows
}

// find looks for the next piece that contains the query, in a direction, and around the
// end. The query is in lower case.
func (s *savedOutput) find(query string, direction int) {
	from := s.top - direction
	if s.found >= s.top && s.found < s.top+s.rows {
		from = s.found
	}
	s.want(&seek{text: query, from: from, direction: direction})
}

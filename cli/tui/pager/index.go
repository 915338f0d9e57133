package pager

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// Limits of the memory and of the time for a saved output.
const (
	maxPiece  = 1 << 10 // bytes of a line that are read as one
	markEvery = 256     // pieces between two marks
	atOnce    = 4 << 20 // bytes that are indexed without interruption
)

// index has the positions of some pieces of a file. A piece is a line, or a part of a long
// one. An index is extended by a copy, which other goroutines may make.
type index struct {
	path   string
	size   int64  // of the file as it was opened; what is added later is not shown
	marks  []mark // of each markEvery-th piece
	pieces int    // so far
	lines  int
	next   mark // after the last piece
	whole  bool // all pieces are counted
}

// mark is the position of a piece.
type mark struct {
	offset int64
	line   int  // 1-based
	begins bool // the piece begins its line
}

// piece is a piece of the file.
type piece struct {
	data []byte // valid until the next piece
	mark
	next mark
}

// newIndex begins the index of a regular file.
func newIndex(path string) (index, error) {
	if path == "" {
		return index{}, errors.New("no output is saved")
	}
	f, size, err := openRegular(path)
	if err != nil {
		return index{}, err
	}
	_ = f.Close() // it was only opened to check it
	if size == 0 {
		return index{}, errors.New("the saved output is empty")
	}
	x := index{path: path, size: size, next: mark{line: 1, begins: true}}
	return x.extended(context.Background())
}

// openRegular opens a regular file, and returns its size. It never waits for the writer of a
// pipe.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	irregular := fmt.Errorf("%s is not a regular file", path)
	if !info.Mode().IsRegular() {
		return nil, 0, irregular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = irregular
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// extended returns the index with the next pieces.
func (x index) extended(ctx context.Context) (index, error) {
	enough := x.next.offset + atOnce
	x.whole = true
	err := x.scanFrom(x.next, x.pieces, func(i int, p piece) bool {
		if i%markEvery == 0 {
			x.marks = append(x.marks, p.mark)
		}
		x.pieces, x.lines, x.next = i+1, p.line, p.next
		x.whole = x.next.offset < enough && ctx.Err() == nil
		return x.whole
	})
	return x, err
}

// scan yields the pieces from the n-th on, until use returns false.
func (x index) scan(n int, use func(n int, p piece) bool) error {
	at, i := mark{line: 1, begins: true}, 0
	if m := min(n/markEvery, len(x.marks)-1); m >= 0 {
		at, i = x.marks[m], m*markEvery
	}
	return x.scanFrom(at, i, func(i int, p piece) bool { return i < n || use(i, p) })
}

// scanFrom yields the pieces from the one at a mark on, which is the i-th.
func (x index) scanFrom(at mark, i int, use func(i int, p piece) bool) error {
	f, _, err := openRegular(x.path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(f, at.offset, x.size-at.offset), 1<<16)
	for ; ; i++ {
		data, err := r.Peek(maxPiece + utf8.UTFMax)
		if len(data) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		size := pieceOf(data)
		next := mark{offset: at.offset + int64(size), line: at.line, begins: data[size-1] == '\n'}
		if next.begins {
			next.line++
		}
		if !use(i, piece{data[:size], at, next}) {
			return nil
		}
		_, _ = r.Discard(size) // these bytes are in the buffer
		at = next
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

// search returns the first piece, or the last one, that contains a text, from a piece up to
// another one, exclusively; -1 for none. The text is in lower case.
func (x index) search(text string, from, to int, last bool, stopped func() bool) int {
	at := -1
	_ = x.scan(max(from, 0), func(n int, p piece) bool { // an error is shown by view
		if n >= to || n%markEvery == 0 && stopped() {
			return false
		}
		if strings.Contains(strings.ToLower(strings.Join(blocks.Lines(string(p.data)), " ")), text) {
			at = n
		}
		return at < 0 || last
	})
	return at
}

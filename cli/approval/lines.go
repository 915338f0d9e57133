package approval

import (
	"bufio"
	"context"
	"io"
	"os"
)

// lineReader reads lines with reads that can be abandoned. It is not safe for
// concurrent use.
type lineReader struct {
	in      *bufio.Reader
	waiting chan readResult // a pending read; nil: none
}

type readResult struct {
	line string
	err  error
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: bufio.NewReader(in)} }

// Read returns the next line with its line ending, or returns early when ctx ends. A
// read of a terminal cannot be cancelled, so an abandoned read continues and its line
// goes to the next call. Its goroutine ends with the line or when the input is
// closed.
func (r *lineReader) Read(ctx context.Context) (string, error) {
	if r.waiting == nil {
		done := make(chan readResult, 1)
		go func() {
			line, err := r.in.ReadString('\n')
			done <- readResult{line, err}
		}()
		r.waiting = done
	}
	select {
	case result := <-r.waiting:
		r.waiting = nil
		return result.line, result.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// discard drops unread input of a terminal; with a nil terminal it keeps the lines.
func (r *lineReader) discard(terminal *os.File) {
	if terminal == nil {
		return
	}
	discardTyped(terminal)
	if r.waiting == nil {
		_, _ = r.in.Discard(r.in.Buffered())
		return
	}
	select {
	case <-r.waiting: // a whole line, typed while no request was shown
		r.waiting = nil
	default:
	}
}

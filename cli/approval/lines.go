package approval

import (
	"bufio"
	"context"
	"io"
	"os"
)

// lineReader reads lines whose wait can be given up. It is not for concurrent
// use.
type lineReader struct {
	in      *bufio.Reader
	waiting chan readResult // a read that was begun and not taken yet; nil: none
}

type readResult struct {
	line string
	err  error
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: bufio.NewReader(in)} }

// Read returns the next line, with its end, or returns early when ctx ends. No
// context stops a read of a terminal, so one that was given up goes on, and
// what it brings is for the next call. The goroutine that waits for it ends
// with the line or when the input is closed.
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

// discard drops what was typed at a terminal and not read yet; nil is none,
// whose lines stay.
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
	case <-r.waiting: // a whole line, typed when nothing was asked
		r.waiting = nil
	default:
	}
}

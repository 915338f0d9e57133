package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"
)

// capture keeps the head and the tail of an output, and saves the whole of
// one that is longer than both. It holds at most head plus twice the tail, and
// what is written at once.
type capture struct {
	o     *Options
	first int // bytes kept of the beginning
	last  int // and of the end
	head  []byte
	tail  []byte // what follows head; of a cut output more than its end
	total int64

	file    *os.File // of a cut output, while it can be saved
	path    string
	saved   int64
	saveErr error
}

// newCapture returns a capture that keeps so many bytes; see Command.KeepBytes.
func newCapture(o *Options, keep int) *capture {
	c := &capture{o: o, first: o.HeadBytes, last: o.TailBytes}
	if keep > 0 && keep < c.first+c.last {
		c.first = keep / 5
		c.last = keep - c.first
	}
	return c
}

func (c *capture) write(p []byte) {
	c.total += int64(len(p))
	if room := c.first - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if c.cut() && c.path == "" && c.saveErr == nil && c.o.SaveDir != "" {
		c.create()
	}
	c.save(p)
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - c.last; over > c.last {
		c.tail = c.tail[:copy(c.tail, c.tail[over:])]
	}
}

// cut reports whether the output is longer than what is kept of it.
func (c *capture) cut() bool { return c.total > int64(c.first+c.last) }

// create opens the file and saves what was kept until now, which is all.
func (c *capture) create() {
	if c.saveErr = os.MkdirAll(c.o.SaveDir, 0o700); c.saveErr != nil {
		return
	}
	tidy(c.o)
	c.file, c.saveErr = os.CreateTemp(c.o.SaveDir, savedPattern) // mode 0600
	if c.saveErr != nil {
		return
	}
	c.path = c.file.Name()
	c.save(c.head)
	c.save(c.tail)
}

func (c *capture) save(p []byte) {
	if c.file == nil {
		return
	}
	if room := c.o.SaveBytes - c.saved; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := c.file.Write(p)
	c.saved += int64(n)
	if err != nil {
		c.discard(err)
	}
}

// discard removes a file that cannot be completed: it may be the disk that is
// full.
func (c *capture) discard(err error) {
	c.saveErr = errors.Join(err, c.file.Close(), os.Remove(c.path))
	c.file, c.path = nil, ""
}

// finish closes the file and puts what was kept into r.
func (c *capture) finish(r *Result) {
	if c.file != nil {
		if err := c.file.Close(); err != nil {
			c.saveErr = errors.Join(err, os.Remove(c.path))
			c.path = ""
		}
	}
	r.Bytes, r.SavedPath, r.SavedBytes = c.total, c.path, c.saved
	if c.path == "" {
		r.SavedBytes = 0
	}
	r.SaveError = c.saveErr
	if !c.cut() {
		all := append(c.head[:len(c.head):len(c.head)], c.tail...)
		r.ANSI, r.Text = string(all), text(all, c.total)
		return
	}
	head, tail := trimEnd(c.head), trimStart(c.tail[len(c.tail)-c.last:])
	r.Omitted = c.total - int64(len(head)) - int64(len(tail))
	mark := fmt.Sprintf("\n... [%d bytes omitted] ...\n", r.Omitted)
	r.ANSI = string(head) + mark + string(tail)
	if binary(head) {
		r.Text = text(head, c.total)
		return
	}
	r.Text = Plain(string(head)) + mark + Plain(string(tail))
}

// trimEnd and trimStart take the part of a line off where text was cut, or
// where the line is long at least the part of a character.
func trimEnd(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i >= len(b)/2 {
		return b[:i]
	}
	return b[:len(b)-unfinished(b)]
}

func trimStart(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)/2 {
		return b[i+1:]
	}
	for n := 0; n < utf8.UTFMax-1 && n < len(b) && !utf8.RuneStart(b[n]); n++ {
		if n+1 < len(b) && utf8.RuneStart(b[n+1]) {
			return b[n+1:]
		}
	}
	return b
}

// unfinished returns how many bytes at the end of b begin a character that
// does not end there.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

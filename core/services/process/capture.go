package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/internal/plaintext"
)

// capture keeps the head and the tail of an output, and saves the whole output to a file if it is
// longer than both. It holds at most the head, twice the tail and the chunk being written.
type capture struct {
	o     *Options
	first int // bytes kept of the beginning
	last  int // bytes kept of the end
	head  []byte
	tail  []byte // output after head; of a cut output, at least its end
	total int64

	file    *os.File // of a cut output, while it can be saved
	path    string
	saved   int64
	saveErr error
}

// newCapture returns a capture that keeps the given number of bytes; see Command.KeepBytes.
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

// cut reports whether the output exceeds the bytes kept.
func (c *capture) cut() bool { return c.total > int64(c.first+c.last) }

// create opens the file and saves the output so far, all of which is still kept.
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

// discard removes a file that cannot be completed, because the disk may be full.
func (c *capture) discard(err error) {
	c.saveErr = errors.Join(err, c.file.Close(), os.Remove(c.path))
	c.file, c.path = nil, ""
}

// finish closes the file and stores the kept output in r.
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
	r.Text = plaintext.Of(string(head)) + mark + plaintext.Of(string(tail))
}

// trimEnd and trimStart remove the partial line where text was cut; of a long line, only the
// partial character.
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

// unfinished returns how many bytes at the end of b start an incomplete character.
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

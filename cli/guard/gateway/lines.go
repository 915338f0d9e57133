package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// errTooLarge reports a message beyond the limit.
var errTooLarge = errors.New("a message is larger than the limit")

// eachLine calls use with each line of r that is not blank, until r ends or use
// returns false. A line beyond the limit is skipped: use receives nil for it.
func eachLine(r io.Reader, limit int, use func(line []byte) bool) {
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(b, limit)
		tooLarge := errors.Is(err, errTooLarge)
		if line = bytes.TrimSpace(line); tooLarge || len(line) > 0 {
			if !use(line) {
				return
			}
		}
		if err != nil && !tooLarge {
			return
		}
	}
}

// readLine reads to the next line break or the end of the input. Of a line with
// more than limit bytes it returns nothing and errTooLarge.
func readLine(b *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	large := false
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > limit {
			line, large = nil, true
		}
		if !large {
			if cap(line)-len(line) < len(part) {
				line = slices.Grow(line, max(len(line), len(part))) // doubled, because a line may have megabytes
			}
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case large && err == nil:
			return nil, errTooLarge
		default:
			return line, err
		}
	}
}

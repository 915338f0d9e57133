package a2a

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLongEvent reports an event above the size limit.
var errLongEvent = errors.New("one event is too long")

// events reads server-sent events and calls each with the data of every event, until each returns
// false or the stream ends. Lines end in CR, LF or both. A truncated last event is passed on too,
// since its reader can tell whether it is complete. The error is that of reading.
func events(from io.Reader, limit int, each func(data []byte) bool) error {
	r := bufio.NewReader(from)
	var line, data []byte
	has := false
	finish := func() bool {
		if !has {
			return true
		}
		event := data
		data, has = nil, false
		return each(event)
	}
	field := func() {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		if string(name) == "data" {
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, value...), true
		}
		line = line[:0]
	}
	afterCR := false
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			field()
			finish()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case b == '\n' && afterCR:
			afterCR = false
			continue
		case b == '\n' || b == '\r':
			afterCR = b == '\r'
			if len(line) > 0 {
				field()
			} else if !finish() {
				return nil
			}
			continue
		}
		afterCR = false
		if line = append(line, b); len(line)+len(data) > limit {
			return errLongEvent
		}
	}
}

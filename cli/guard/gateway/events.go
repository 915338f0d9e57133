package gateway

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// events reads server-sent events.
type events struct {
	lines *lineReader
	id    string        // of the last event
	retry time.Duration // requested by the server; 0: none
}

func newEvents(r io.Reader, limit int) *events { return &events{lines: newLineReader(r, limit)} }

// next returns the data of the next message.
func (e *events) next() ([]byte, error) {
	var data []byte
	name, id, has := "", "", false
	for {
		line, err := e.lines.next(len(data))
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if id != "" {
				e.id = id
			}
			if has && len(data) > 0 && (name == "" || name == "message") {
				return data, nil
			}
			data, name, has = nil, "", false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				data = append(data, '\n')
			}
			has, data = true, append(data, value...)
		case "event":
			name = string(value)
		case "id":
			id = string(value)
		case "retry":
			if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 && n <= 60_000 {
				e.retry = time.Duration(n) * time.Millisecond
			}
		}
	}
}

// lineReader reads lines, which may be empty.
type lineReader struct {
	b     *bufio.Reader
	limit int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 32<<10), limit}
}

// next returns a line without its line break. used counts towards the limit.
func (l *lineReader) next(used int) ([]byte, error) {
	line, err := readLine(l.b, l.limit-used)
	if err != nil {
		return nil, err // an incomplete event is dropped
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

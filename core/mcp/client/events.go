package client

import (
	"bufio"
	"bytes"
	"io"
)

// events reads a stream of server-sent events and returns it with each message as
// processed by the tap. Events that are not messages, such as the endpoint of an
// SSE server, pass unchanged. An event larger than the limit is replaced by a
// failure of the request that the stream answers, and ends the stream.
type events struct {
	in  *bufio.Reader
	max int
	id  string // of the request; "": the stream answers none
	tap *tap

	out bytes.Buffer // not read yet
	err error        // that follows out
}

func newEvents(r io.Reader, limit int, id string, t *tap) *events {
	return &events{in: bufio.NewReaderSize(r, 32<<10), max: limit, id: id, tap: t}
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	return e.out.Read(p)
}

// next reads one event into out.
func (e *events) next() {
	if e.out.Cap() > 1<<20 {
		e.out = bytes.Buffer{} // releases the memory of a large event
	}
	var name, other, data []byte
	var has bool
	for size := 0; ; {
		line, err := readLine(e.in, e.max-size)
		size += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "data":
				if has {
					data = append(data, '\n')
				}
				has, data = true, append(data, value...)
			case "event":
				name = value
			case "id", "retry":
				other = append(append(append(append(other, field...), ": "...), value...), '\n')
			}
		}
		switch {
		case err == errTooLarge: //nolint:errorlint // readLine's own
			if e.err = err; e.id != "" {
				e.err = io.EOF
				e.emit(nil, nil, tooLarge(e.id), true)
			}
			return
		case err != nil:
			if e.err = err; err != io.EOF { //nolint:errorlint // a reader's end
				return // an incomplete event is dropped
			}
		}
		if len(line) == 0 || e.err != nil {
			break
		}
	}
	if has && len(data) > 0 && (len(name) == 0 || string(name) == "message") {
		data = e.tap.received(data)
	}
	if has || len(other) > 0 {
		e.emit(name, other, data, has)
	}
}

func (e *events) emit(name, other, data []byte, has bool) {
	if len(name) > 0 {
		e.out.WriteString("event: ")
		e.out.Write(name)
		e.out.WriteByte('\n')
	}
	e.out.Write(other)
	if has {
		e.out.WriteString("data: ")
		e.out.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
		e.out.WriteByte('\n')
	}
	e.out.WriteByte('\n')
}

package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
)

// Open reads a recording from a file; see [Replay].
func Open(file string, mode Mode) (*Player, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "replay.open", "The recording "+file+" cannot be opened.", "Check its path, or record it first.", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return Replay(file, f, mode)
}

// Replay reads a complete recording and returns its Player; name is the file name in errors. The
// error is of code invalid_config and names the line. A truncated last line, e.g. after a crash, is
// an error too, because its content is missing; a test that does not need it can remove the line.
func Replay(name string, from io.Reader, mode Mode) (*Player, error) {
	p := &Player{name: name, mode: mode}
	lines := bufio.NewReader(from)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		torn := errors.Is(err, io.EOF)
		if err != nil && !torn {
			return nil, fault.Wrap(fault.InvalidConfig, "replay.read", "The recording "+name+" cannot be read.", "Check the file, or record it again.", err)
		}
		if torn && len(bytes.TrimSpace(line)) == 0 {
			if number == 1 {
				return nil, unreadable(name, 1, "the recording is empty", nil)
			}
			break
		}
		if problem, err := p.line(number, line); problem != "" {
			if torn {
				problem = fmt.Sprintf("the last line is cut short; the %d requests before it are complete", len(p.exchanges))
			}
			return nil, unreadable(name, number, problem, err)
		}
		if torn {
			break
		}
	}
	slices.SortStableFunc(p.exchanges, func(a, b exchange) int { return a.Number - b.Number })
	p.used = make([]bool, len(p.exchanges))
	return p, nil
}

// line parses one line. problem describes the error; "" if the line is valid.
func (p *Player) line(number int, line []byte) (problem string, cause error) {
	if number == 1 {
		var h header
		if err := json.Unmarshal(line, &h); err != nil || h.Recording == 0 {
			return "this is not a recording of a model's answers", err
		}
		if h.Recording != version {
			return fmt.Sprintf("the recording is of version %d, and this program reads version %d", h.Recording, version), nil
		}
		return "", nil
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var x exchange
	if err := dec.Decode(&x); err != nil {
		return "this is not a recorded request", err
	}
	if dec.InputOffset() != int64(len(bytes.TrimRight(line, " \t\r\n"))) {
		return "there is extra text after the recorded request", nil
	}
	if problem := x.check(); problem != "" {
		return problem, nil
	}
	p.exchanges = append(p.exchanges, x)
	return "", nil
}

// check returns the problem of an exchange; "" if it is valid.
func (x *exchange) check() string {
	switch {
	case x.Number < 1:
		return "the recorded request has no number"
	case x.Request.Operation != opAnswer && x.Request.Operation != opCount:
		return fmt.Sprintf("the operation %q does not exist", x.Request.Operation)
	case x.Error != nil && x.Error.Kind == "":
		return "the recorded error has no kind"
	}
	return ""
}

func unreadable(name string, line int, problem string, cause error) error {
	return fault.Wrap(fault.InvalidConfig, "replay.read", fmt.Sprintf("The recording %s cannot be played, line %d: %s.", name, line, problem),
		"Record it again, or remove the line.", cause)
}

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// The reasons of an error of code loop_detected.
const (
	RepeatedCalls fault.Reason = "consecutive_identical_tool_calls"
	RepeatedText  fault.Reason = "chanting_identical_sentences"
)

// Calls repeat where the last ones are a cycle of one to longestCycle calls,
// cycleRepeats times in a row.
const (
	longestCycle = 5
	cycleRepeats = 5
)

// loopDetector watches one prompt for a model that repeats itself.
type loopDetector struct {
	calls [][sha256.Size]byte // the last longestCycle × cycleRepeats
	text  chant
}

// call takes the next call, and reports whether it completes a loop. Calls are
// alike if their names and arguments are; how their JSON is set out does not
// matter.
func (d *loopDetector) call(c model.FunctionCall) bool {
	key := sha256.New()
	key.Write([]byte(c.Name + ":"))
	key.Write(compact(c.Args))
	d.calls = append(d.calls, [sha256.Size]byte(key.Sum(nil)))
	if n := len(d.calls) - longestCycle*cycleRepeats; n > 0 {
		d.calls = d.calls[n:]
	}
	for cycle := 1; cycle <= longestCycle; cycle++ {
		if d.repeats(cycle) {
			return true
		}
	}
	return false
}

// repeats reports whether the last calls are a cycle of a length.
func (d *loopDetector) repeats(cycle int) bool {
	first := len(d.calls) - cycle*cycleRepeats
	if first < 0 {
		return false
	}
	for i := first + cycle; i < len(d.calls); i++ {
		if d.calls[i] != d.calls[i-cycle] {
			return false
		}
	}
	return true
}

func compact(args json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return args
	}
	return b.Bytes()
}

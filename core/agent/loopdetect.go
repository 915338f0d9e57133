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
	RepeatedCalls fault.Reason = "consecutive_identical_tool_calls" // it makes the same calls again and again
	RepeatedText  fault.Reason = "chanting_identical_sentences"     // it says the same again and again
)

// Calls repeat where the last ones are a cycle of one to longestCycle calls,
// cycleRepeats times in a row. Of equal calls in one answer, which a model makes
// at once and before it has seen what they give, the first alone counts.
const (
	longestCycle = 5
	cycleRepeats = 5
)

// loopDetector watches one prompt for a model that repeats itself.
type loopDetector struct {
	calls [][sha256.Size]byte // the last longestCycle × cycleRepeats
	text  chant
}

// answer takes the calls of the next answer, and reports whether they complete a
// loop. Calls are equal if their names and arguments are; how their JSON is set
// out does not matter.
func (d *loopDetector) answer(calls []model.FunctionCall) bool {
	seen := make(map[[sha256.Size]byte]bool, len(calls))
	for _, c := range calls {
		key := callKey(c)
		if !seen[key] && d.add(key) {
			return true
		}
		seen[key] = true
	}
	return false
}

// callKey is the same for equal calls.
func callKey(c model.FunctionCall) [sha256.Size]byte {
	key := sha256.New()
	key.Write([]byte(c.Name + ":"))
	key.Write(compact(c.Args))
	return [sha256.Size]byte(key.Sum(nil))
}

// add takes the next call, and reports whether it completes a loop.
func (d *loopDetector) add(key [sha256.Size]byte) bool {
	d.calls = append(d.calls, key)
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

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// The reasons of an error with code loop_detected.
const (
	repeatedCalls fault.Reason = "consecutive_identical_tool_calls" // the model repeats the same calls
	repeatedText  fault.Reason = "chanting_identical_sentences"     // the model repeats the same text
)

// Calls repeat if the last ones are a cycle of one to longestCycle calls that occurs cycleRepeats times in a row. Of
// equal calls in one answer, which the model makes before it sees the results, only the first counts.
const (
	longestCycle = 5
	cycleRepeats = 5
)

// loopDetector detects a model that repeats itself within a prompt.
type loopDetector struct {
	calls [][sha256.Size]byte // the last longestCycle × cycleRepeats
	text  chant
}

// answer adds the calls of an answer, and reports whether they complete a loop. Calls are equal if their names and
// arguments are, regardless of JSON formatting.
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

// callKey returns the same key for equal calls.
func callKey(c model.FunctionCall) [sha256.Size]byte {
	key := sha256.New()
	key.Write([]byte(c.Name + ":"))
	key.Write(compact(c.Args))
	return [sha256.Size]byte(key.Sum(nil))
}

// add adds a call, and reports whether it completes a loop.
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

// repeats reports whether the last calls are a cycle of the given length.
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

package file

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
)

const (
	// hashWithin is the number of bytes of an error result within which the hash of the state ends: clients that cut a
	// long result keep its beginning.
	hashWithin = 300
	// fewKept is the number of kept files that are listed before the message is cut.
	fewKept = 3
	// leastMessage is the minimum number of bytes of a message.
	leastMessage = 60

	// codeBytes is an upper bound for the size of an error's code and reason.
	codeBytes = 80

	mark = "…"
)

// lead returns the message of an error result. It clips the text of the error so that the hash of the first state ends
// within the first hashWithin bytes, and keeps the remedy with a retry token. The error of the result has the whole text.
func lead(refusal *fault.Error, states []filestate.State) string {
	message := refusal.Text()
	if states[0].SHA256 == nil {
		return message
	}
	first := filestate.State{Version: states[0].Version, SHA256: states[0].SHA256}
	text, err := tools.JSON(Report{Message: message, LatestFileState: first})
	if len(states) > 1 {
		text, err = tools.JSON(SetReport{Message: message, LatestFileStates: []filestate.State{first}})
	}
	if err != nil {
		return message
	}
	over := strings.Index(text.String(), `,"file_path":`) - hashWithin
	if over <= 0 {
		return message
	}
	room := tools.JSONBytes(message) - len(`""`) - over
	if short := room - len(" "+refusal.Remedy); refusal.Retry != "" && short >= leastMessage {
		return clipped(refusal.Message, short) + " " + refusal.Remedy
	}
	return clipped(message, room)
}

// fitting is a report that can be shortened to a number of bytes of JSON text.
type fitting interface{ fit(most int) }

// fitted returns the JSON text of a report, which it shortens if it has more than most bytes.
func fitted(r fitting, most int) (tools.Content, error) {
	content, err := tools.JSON(r)
	if err != nil || len(content.String()) <= most {
		return content, err
	}
	r.fit(most)
	return tools.JSON(r)
}

// fit shortens a report whose JSON text exceeds most bytes: first the corrections, then the kept files except for a few,
// then the message, then the other kept files. The message reports the number of omitted files. The state is not cut,
// because the session counts it as shown, except for a path that alone exceeds the limit.
func (r *Report) fit(most int) {
	over := func() int { return tools.JSONBytes(r) - most }
	r.Corrections = fewer(r.Corrections, over(), 0)
	message, all := r.Message, len(r.KeptFiles)
	for _, few := range []int{fewKept, 0} {
		if over() > 0 && len(r.KeptFiles) > few {
			r.Message = message + leftOut(all)
			r.KeptFiles = fewer(r.KeptFiles, over(), few)
			r.Message = message + leftOut(all-len(r.KeptFiles))
		}
		if more := over(); more > 0 {
			message = clipped(message, max(tools.JSONBytes(message)-len(`""`)-more, leastMessage))
			r.Message = message
			if left := all - len(r.KeptFiles); left > 0 {
				r.Message += leftOut(left)
			}
		}
	}
	if more := over(); more > 0 {
		path := r.LatestFileState.FilePath
		r.LatestFileState.FilePath = clipped(path, tools.JSONBytes(path)-len(`""`)-more)
	}
}

// fit shortens a report whose JSON text exceeds most bytes: first the corrections, then the kept files, whose number the
// message then reports, then the message. The states are not cut.
func (r *SetReport) fit(most int) {
	over := func() int { return tools.JSONBytes(r) - most }
	if over() > 0 {
		r.Corrections = fewer(r.Corrections, over(), 0)
	}
	if all := len(r.KeptFiles); over() > 0 && all > 0 {
		r.KeptFiles = fewer(r.KeptFiles, over()+len(leftOut(all)), 0)
		r.Message += leftOut(all - len(r.KeptFiles))
	}
	if more := over(); more > 0 {
		r.Message = clipped(r.Message, max(tools.JSONBytes(r.Message)-len(`""`)-more, leastMessage))
	}
}

// leftOut returns the note about omitted kept files.
func leftOut(files int) string {
	return fmt.Sprintf(" %d more kept files are named in the log.", files)
}

// fewer returns list without as many of its last elements as take bytes of JSON, but with at least few elements.
func fewer[T any](list []T, bytes, few int) []T {
	for len(list) > few && bytes > 0 {
		last := len(list) - 1
		bytes -= tools.JSONBytes(list[last]) + len(",")
		list = list[:last:last]
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// clipped returns the longest prefix of text that, with an ellipsis, takes at most room bytes in a JSON string. It ends
// at a word if one is near.
func clipped(text string, room int) string {
	head := within(text, room-len(mark))
	if at := strings.LastIndexAny(head, " \n"); at > len(head)-30 && at > len(head)/2 {
		head = head[:at]
	}
	return head + mark
}

// within returns the longest prefix of text that takes at most room bytes in a JSON string.
func within(text string, room int) string {
	for i := 0; i < len(text); {
		_, n := utf8.DecodeRuneInString(text[i:])
		if room -= tools.JSONBytes(text[i:i+n]) - len(`""`); room < 0 {
			return text[:i]
		}
		i += n
	}
	return text
}

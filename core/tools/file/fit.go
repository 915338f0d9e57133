package file

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/tools"
)

const (
	// hashWithin is the number of bytes of a refusal in which the hash of the
	// state ends: clients that cut a long result keep its beginning.
	hashWithin = 300
	// fewKept is the number of kept files that are named before the message is cut.
	fewKept = 3
	// leastMessage is the number of bytes of a message that stay.
	leastMessage = 60

	// codeBytes is more than the code and the reason of an error take.
	codeBytes = 80

	mark = "…"
)

// lead clips the message of a refusal so that the hash of the state ends within the
// first hashWithin bytes. The error of the result has the whole message.
func (r *Report) lead() {
	if r.LatestFileState.SHA256 == nil {
		return
	}
	head := Report{Message: r.Message, LatestFileState: r.LatestFileState}
	head.LatestFileState.FilePath, head.LatestFileState.Content = "", nil
	head.LatestFileState.ChangedRegions, head.LatestFileState.Notice = nil, ""
	text, err := tools.JSON(head)
	if err != nil {
		return
	}
	end := strings.Index(text.String(), `,"file_path":`)
	if over := end - hashWithin; over > 0 {
		r.Message = clipped(r.Message, tools.JSONBytes(r.Message)-len(`""`)-over)
	}
}

// fit shortens what a report says beside the state of the file where its JSON text
// has more than so many bytes: the corrections first, then the kept files but for a
// few, then the message, then the other kept files. The message says how many of these
// are left out. Of the state only a path is cut that alone leaves no room, as the
// session counts the state as shown.
func (r *Report) fit(most int) {
	if tools.JSONBytes(r) <= most {
		return
	}
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

// leftOut says that so many kept files are not named.
func leftOut(files int) string {
	return fmt.Sprintf(" %d more kept files are named in the log.", files)
}

// fewer returns list without as many of its last elements as take so many bytes of
// JSON, but with a few.
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

// clipped returns the longest beginning of text that has, with a mark behind it, so
// many bytes inside a JSON string. It ends at a word if one is near.
func clipped(text string, room int) string {
	head := within(text, room-len(mark))
	if at := strings.LastIndexAny(head, " \n"); at > len(head)-30 && at > len(head)/2 {
		head = head[:at]
	}
	return head + mark
}

// within returns the longest beginning of text that has so many bytes inside a JSON
// string.
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

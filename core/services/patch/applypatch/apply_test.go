package applypatch

import (
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
)

// Apply returns the text of the file after the operation, and the repairs of the diff, or what was ignored. old is the
// text before, with its line endings and its byte-order mark, if any; "" if the file is created. The
// text of a deleted file is "".
//
// Either all hunks are applied or none. Errors have code invalid_diff, ambiguous_diff for an anchor
// or a hunk with several places, or patch_apply_failed.
func (o *Operation) Apply(old string) (text string, repairs []patch.Correction, err error) {
	if o.Kind == Create && old != "" {
		return "", nil, o.at(invalid("applypatch.apply", "Use Update File for a file that exists.", "The patch creates a file that exists and is not empty."))
	}
	if o.Diff == nil {
		if o.Kind == Delete {
			old = ""
		}
		return old, o.Ignored, nil
	}
	base, marked := strings.CutPrefix(old, byteOrderMark)
	from, change, err := patch.CorrectMarked(base, marked, o.Diff)
	if err != nil {
		return "", nil, o.at(fault.As(err))
	}
	text, err = patch.ApplyStrict(from, change)
	if err != nil {
		return "", nil, o.at(patch.ApplyFailed(err))
	}
	if o.Kind == Delete && text != "" {
		return "", nil, o.at(invalid("applypatch.apply", "Send the deletion without lines, or with all lines of the file.",
			"The patch deletes a file and removes only some of its lines."))
	}
	if marked && from == base && text != "" {
		text = byteOrderMark + text
	}
	return text, change.Corrections, nil
}

package filestate

import (
	"fmt"

	"github.com/fettle-dev/fettle/core/services/patch"
)

// State is a state object: the description of one file for a model. The first four keys are always
// present. A withheld state, of which nothing may be shown, has only its path; the other three are
// null.
//
// Version and hash come first in its JSON form, so that they survive if a client truncates a long
// result.
type State struct {
	Version  *int64  `json:"version"`
	SHA256   *string `json:"sha256"`    // of the raw bytes on disk, lower-case hex; null until every byte was shown
	FilePath string  `json:"file_path"` // absolute, cleaned, links not resolved
	Content  *string `json:"content"`   // decoded, line endings as in the file

	// The part of the file that Content contains; all zero: the whole.

	Truncated  bool    `json:"truncated,omitempty"`   // truncated by a limit
	LinesShown *[2]int `json:"lines_shown,omitempty"` // first and last, 1-based, inclusive
	TotalLines *int    `json:"total_lines,omitempty"`
	NextOffset *int    `json:"next_offset,omitempty"` // 0-based; absent at the end of the file

	// ChangedRegions replace Content in the result of a change; see Limits.ChangedRegionsAbove.
	// Then TotalLines is set, and Notice explains them. nil: there are none; empty: nothing
	// differs. The conversation knows the base, an earlier state.
	ChangedRegions []patch.Region `json:"changed_regions,omitzero"`
	Notice         string         `json:"notice,omitempty"`
}

// Withheld returns the state of a file that may not be shown.
func Withheld(path string) State { return State{FilePath: path} }

// Shown reports whether the state shows the file's content: as a whole, or by the regions that
// differ from the known state.
func (s State) Shown() bool { return s.Content != nil || s.ChangedRegions != nil }

// Placeholder replaces content that the conversation already has. It repeats the version and hash
// of that content.
type Placeholder struct {
	Version  int64  `json:"version"`
	SHA256   string `json:"sha256"`
	FilePath string `json:"file_path"`
	Status   string `json:"status"` // always "file_unchanged"
	Advice   string `json:"advice"`
}

// StatusUnchanged is the status of a [Placeholder].
const StatusUnchanged = "file_unchanged"

// unchangedAdvice lists the cases in which a placeholder can mislead.
const unchangedAdvice = "The file has not changed since its content was last shown to you under this version, so it is not repeated. " +
	"This can mislead in three cases: the conversation was compacted, or a subagent received an altered transcript, and the content is gone; " +
	"a shell command or an MCP tool changed the file by a route that leaves no trace; another process is changing it right now. " +
	"If you cannot see the content, or doubt it, call read_file again with an explicit offset and limit."

func placeholder(path string, e Entry) *Placeholder {
	return &Placeholder{FilePath: path, Version: e.fullVersion, SHA256: e.SHA256, Status: StatusUnchanged, Advice: unchangedAdvice}
}

// truncationNotice returns the three-line notice of a truncated read.
func truncationNotice(first, last, total int, action string) string {
	return fmt.Sprintf("IMPORTANT: The file content has been truncated.\nStatus: Showing lines %d-%d of %d total lines.\nAction: %s", first, last, total, action)
}

package approval

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// Files returns the changes of a request about several files; nil if the request is not
// about a set, or if its text does not have one change a file.
func Files(q bus.ToolConfirmationRequest) []display.FileChange {
	c := q.Details
	if c.InfoDetails == nil || len(c.Bases) == 0 {
		return nil
	}
	files := display.FileChanges(setText(c.Prompt))
	if len(files) != len(c.Bases) {
		return nil
	}
	return files
}

// setText returns the text of a set without its Markdown fence.
func setText(prompt string) string {
	_, text, _ := strings.Cut(prompt, "\n")
	return strings.TrimRight(text, "`")
}

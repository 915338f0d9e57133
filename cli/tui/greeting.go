package tui

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/policy"
)

// modeMeans describes the approval modes for the start screen.
func modeMeans(mode string) string {
	switch policy.ApprovalMode(mode) {
	case policy.ModeAutoEdit:
		return "edits need no approval, commands do"
	case policy.ModeAuto:
		return "edits and confined commands need no approval"
	case policy.ModePlan:
		return "nothing is changed"
	case policy.ModeYolo:
		return "nothing needs approval"
	}
	return "changes and commands need approval"
}

// onlyNotes reports whether the conversation has not begun: it has no input, no answer
// and no call.
func (m *screen) onlyNotes() bool {
	for _, b := range m.transcript.Blocks {
		switch b.Block.(type) {
		case *blocks.Message, *blocks.Note:
		default:
			return false
		}
	}
	return true
}

// greeting returns the lines of an empty conversation, as many as fit into the rows:
// first the hints, then the state of the session.
func (m *screen) greeting(v blocks.Style, rows int) []string {
	s := m.status
	dir := display.Line(s.Dir)
	if s.Branch != "" {
		dir += " (" + display.Line(s.Branch) + ")"
	}
	trust := display.Line(s.Trust)
	if s.Trust != "trusted" {
		trust += "; /permissions trust trusts the directory"
	}
	sandbox := "off; fettle doctor shows the support of this machine"
	if s.Confined != "" {
		sandbox = "every command, " + confined(display.Line(s.Confined))
	}
	mode := policy.ApprovalMode(s.Mode).Flag()
	hints := []string{
		"@ adds a file, ! runs a shell command, / lists the commands, ? the keys.",
		"Changes are shown for approval first. Esc cancels the work.",
		"Esc twice goes back to a prompt, as /rewind does. Ctrl-D ends the session.",
	}
	var lines []string
	if rows >= 11 {
		lines = append(lines, "", v.Theme.Strong.Render(strings.TrimSpace(display.Line(s.Product)+" "+display.Line(s.Version))), "")
	}
	if rows >= 10 {
		for _, fact := range [][2]string{
			{"model", display.Line(s.Model)}, {"directory", dir}, {"mode", mode + ": " + modeMeans(s.Mode)}, {"sandbox", sandbox}, {"trust", trust},
		} {
			if fact[1] == "" {
				continue
			}
			name := "  " + fact[0] + strings.Repeat(" ", 11-len(fact[0]))
			lines = append(lines, v.Theme.Dim.Render(name)+display.Cut(fact[1], max(v.Columns-13, 1), "…"))
		}
		lines = append(lines, "")
	}
	for _, hint := range hints {
		if rows >= 10 {
			hint = "  " + hint
		}
		lines = append(lines, v.Theme.Dim.Render(display.Cut(hint, v.Columns, "…")))
	}
	return lines[:min(len(lines), rows)]
}

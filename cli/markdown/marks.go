package markdown

import (
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/fettle-dev/fettle/cli/theme"
)

// marks are the characters that replace the marks of the source. Those of one field
// have the same width in each set.
type marks struct {
	bullets    []string // by depth
	open, done string   // tasks
	quote      string
	rule       string
	cell       string // between the cells of a table
	cross      string // below it
	more       string // starts a continuation line of code
	cut        string // at the end of a shortened line
}

// marksOf returns the marks for a theme.
func marksOf(t *theme.Theme) marks {
	if t.ASCII {
		return marks{
			bullets: []string{"* ", "- ", "+ "}, open: "[ ] ", done: "[x] ", quote: "| ", rule: "-", cell: " | ", cross: "-+-", more: "> ", cut: "~",
		}
	}
	m := marks{
		bullets: []string{"• ", "◦ ", "▪ "}, open: "☐ ", done: "☑ ", quote: "│ ", rule: "─", cell: " │ ", cross: "─┼─", more: "↪ ", cut: "…",
	}
	if t.Plain() {
		m.open, m.done = "[ ] ", "[x] "
	}
	return m
}

// task returns the check box that a list item starts with, nil for none.
func task(item ast.Node) *extast.TaskCheckBox {
	if first := item.FirstChild(); first != nil {
		box, _ := first.FirstChild().(*extast.TaskCheckBox)
		return box
	}
	return nil
}

// task returns the mark of a task and its style.
func (r *renderer) task(box *extast.TaskCheckBox) (string, theme.Style) {
	if box.IsChecked {
		return r.marks.done, r.theme.Success
	}
	return r.marks.open, r.theme.Accent
}

// heading returns the style of a heading.
func (r *renderer) heading(level int) theme.Style {
	style := r.theme.Heading
	switch {
	case r.plain:
	case level == 1:
		style.Underline = true
	case level > 2:
		style.Bold, style.Italic = level == 3, level > 3
	}
	return style
}

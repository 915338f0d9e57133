package calls

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// demoJSON reports a demo as JSON, one object per line.
type demoJSON struct{ out io.Writer }

func (r demoJSON) Begin(int) error         { return nil }
func (r demoJSON) Step(s demoStep) error   { return program.PrintJSON(r.out, s) }
func (r demoJSON) End(s demoSummary) error { return program.PrintJSON(r.out, s) }

// demoPrinter reports a demo as text.
type demoPrinter struct {
	out    io.Writer
	dir    string // scratch directory, removed from displayed paths
	colour bool
	step   int // the number of the step that was printed last
}

func (r *demoPrinter) Begin(steps int) error {
	_, err := fmt.Fprintf(r.out, `fettle demo: %d steps on a scratch copy of a small project.
The model is a script; the tools, the files and every hash are real.
`, steps)
	return err
}

// demoColumns is the width of the output; lines of files are not folded.
const demoColumns = 80

// demoLine writes a line with a label in a column of its own.
func demoLine(b *strings.Builder, label, text string) {
	line := "   " + label + strings.Repeat(" ", max(9-display.Width(label), 1)) + text + "\n"
	b.WriteString(display.Fold(line, strings.Repeat(" ", 9), demoColumns))
}

func (r *demoPrinter) Step(s demoStep) error {
	var b strings.Builder
	if s.Step != r.step {
		fmt.Fprintf(&b, "\n%s\n", display.Paint(display.StyleBold, fmt.Sprintf("%d. %s", s.Step, s.Title), r.colour))
	}
	r.step = s.Step
	if s.Outside != "" {
		demoLine(&b, "outside", s.Outside)
	}
	if s.Answer != nil {
		demoLine(&b, "model", display.Paint(display.StyleDim, "(script) "+s.Scripted, r.colour))
		demoLine(&b, "call", s.Answer.Tool+" "+callSummary(s.Args))
		r.answer(&b, s.Answer)
	}
	if !s.Expected {
		b.WriteString("   " + display.Paint(display.StyleRed, "unexpected result", r.colour) + "\n")
	}
	_, err := io.WriteString(r.out, b.String())
	return err
}

// callSummary formats a call's arguments as one line: the files, the quoted hash and
// the retry token.
func callSummary(args map[string]any) string {
	parts := []string{}
	for _, key := range []string{"file_path", "paths"} {
		if v, ok := args[key]; ok {
			parts = append(parts, strings.Trim(fmt.Sprint(v), "[]"))
		}
	}
	input, _ := args["input"].(string)
	for line := range strings.Lines(input) {
		if name, ok := strings.CutPrefix(line, "*** Update File: "); ok {
			parts = append(parts, strings.TrimSpace(name))
		}
	}
	if hash, ok := args["base_content_sha256"].(string); ok {
		parts = append(parts, "based on "+short(hash))
	}
	for _, key := range []string{"unified_diff", "input"} {
		if text, ok := args[key].(string); ok && !strings.Contains(text, "\n") {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

func (r *demoPrinter) answer(b *strings.Builder, a *answer) {
	if a.Error != nil {
		demoLine(b, display.Paint(display.StyleRed, "refused", r.colour),
			fmt.Sprintf("%s: %s", a.Error.Code, display.FirstSentence(strings.ReplaceAll(a.Error.Message, r.dir+string(filepath.Separator), ""))))
		if a.Error.Retry != "" {
			demoLine(b, "offers", a.Error.Retry)
		}
	}
	content, _ := a.Result.(json.RawMessage) // a result that is not JSON has nothing to list
	for _, state := range demoStatesIn(content) {
		demoLine(b, "state", state.String())
	}
	for _, c := range demoCorrectionsIn(content) {
		demoLine(b, "repaired", c)
	}
	if a.Error != nil || a.Display == nil {
		return
	}
	var diff string
	if a.Display.Diff != nil {
		diff = a.Display.Diff.FileDiff
	} else if strings.Contains(a.Display.Text, "\n--- ") { // of several files
		diff = a.Display.Text
	}
	for line := range strings.Lines(display.TerminalDiff(diff, r.colour)) {
		b.WriteString("            " + line)
	}
}

// demoState holds the printed fields of a state object.
type demoState struct {
	FilePath string  `json:"file_path"`
	Version  *int64  `json:"version"`
	SHA256   *string `json:"sha256"`
	Content  *string `json:"content"`
}

func (s demoState) String() string {
	name := filepath.Base(s.FilePath)
	if s.Content == nil || s.Version == nil || s.SHA256 == nil {
		return name + ": withheld"
	}
	return fmt.Sprintf("%s: version %d, sha256 %s, %d lines", name, *s.Version, short(*s.SHA256), strings.Count(*s.Content, "\n"))
}

// demoStatesIn returns the state objects of a result: of a read, of several reads, or
// of a change.
func demoStatesIn(content json.RawMessage) []demoState {
	var many []demoState
	if json.Unmarshal(content, &many) == nil {
		return many
	}
	var change struct {
		demoState
		Latest *demoState  `json:"latest_file_state"`
		All    []demoState `json:"latest_file_states"`
	}
	switch err := json.Unmarshal(content, &change); {
	case err != nil:
		return nil
	case change.All != nil:
		return change.All
	case change.Latest != nil:
		return []demoState{*change.Latest}
	}
	return []demoState{change.demoState}
}

// demoCorrectionsIn lists the corrections in a result by hunk.
func demoCorrectionsIn(content json.RawMessage) []string {
	var change struct {
		Corrections []struct {
			Hunk  int    `json:"hunk"`
			Kind  string `json:"kind"`
			Lines [2]int `json:"lines"`
		} `json:"corrections"`
	}
	if json.Unmarshal(content, &change) != nil {
		return nil
	}
	var lines []string
	for i := 0; i < len(change.Corrections); {
		first := change.Corrections[i]
		var kinds []string
		for ; i < len(change.Corrections) && change.Corrections[i].Hunk == first.Hunk; i++ {
			kinds = append(kinds, strings.ReplaceAll(change.Corrections[i].Kind, "_", " "))
		}
		lines = append(lines, fmt.Sprintf("hunk %d, lines %d to %d: %s", first.Hunk, first.Lines[0], first.Lines[1], strings.Join(kinds, ", ")))
	}
	return lines
}

func (r *demoPrinter) End(s demoSummary) error {
	var b strings.Builder
	table := func(title string, rows []demoRow) {
		fmt.Fprintf(&b, "\n%s\n", display.Paint(display.StyleBold, title, r.colour))
		for _, row := range rows {
			text := fmt.Sprintf("step %d: %s", row.Step, row.What)
			if row.Code != "" {
				text += fmt.Sprintf(" (%s)", row.Code)
			}
			b.WriteString(display.Fold("   "+r.mark(row.Held)+"  "+text+"\n", "     ", demoColumns))
		}
	}
	table("Prevented", s.Prevented)
	table("Mended", s.Mended)
	fmt.Fprintf(&b, "\n%s\n", display.Paint(display.StyleBold, "Files compared with their expected content", r.colour))
	for _, f := range s.Files {
		fmt.Fprintf(&b, "   %s  %-13s %s\n", r.mark(f.Expected), f.File, short(f.SHA256))
	}
	_, err := io.WriteString(r.out, b.String())
	return err
}

func (r *demoPrinter) mark(ok bool) string {
	if ok {
		return display.Paint(display.StyleGreen, "yes", r.colour)
	}
	return display.Paint(display.StyleRed, "NO ", r.colour)
}

// short returns an abbreviated hash.
func short(hash string) string { return hash[:min(12, len(hash))] }

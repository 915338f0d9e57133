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
}

func (r demoPrinter) Begin(turns int) error {
	_, err := fmt.Fprintf(r.out, `fettle demo: %d turns on a scratch copy of a small project.
The model is a script; the tools, the files and every hash are real.
`, turns)
	return err
}

func (r demoPrinter) Step(s demoStep) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", display.Paint(display.StyleBold, fmt.Sprintf("%d. %s", s.Step, s.Title), r.colour))
	if s.Outside != "" {
		fmt.Fprintf(&b, "   outside  %s\n", s.Outside)
	}
	if s.Answer != nil {
		fmt.Fprintf(&b, "   model    %s\n", display.Paint(display.StyleDim, "(script) "+s.Scripted, r.colour))
		fmt.Fprintf(&b, "   call     %s %s\n", s.Answer.Tool, callSummary(s.Args))
		r.answer(&b, s.Answer)
	}
	if !s.Expected {
		b.WriteString("   " + display.Paint(display.StyleRed, "unexpected result", r.colour) + "\n")
	}
	_, err := io.WriteString(r.out, b.String())
	return err
}

// callSummary formats a call's arguments as one line: the file, and the quoted hash.
func callSummary(args map[string]any) string {
	parts := []string{}
	for _, key := range []string{"file_path", "paths"} {
		if v, ok := args[key]; ok {
			parts = append(parts, strings.Trim(fmt.Sprint(v), "[]"))
		}
	}
	if hash, ok := args["base_content_sha256"].(string); ok {
		parts = append(parts, "based on "+short(hash))
	}
	return strings.Join(parts, " ")
}

func (r demoPrinter) answer(b *strings.Builder, a *answer) {
	if a.Error != nil {
		fmt.Fprintf(b, "   %s  %s: %s\n", display.Paint(display.StyleRed, "refused", r.colour), a.Error.Code, display.FirstSentence(strings.ReplaceAll(a.Error.Message, r.dir+string(filepath.Separator), "")))
	}
	content, _ := a.Result.(json.RawMessage) // a result that is not JSON has nothing to list
	for _, state := range demoStatesIn(content) {
		fmt.Fprintf(b, "   state    %s\n", state)
	}
	for _, c := range demoCorrectionsIn(content) {
		fmt.Fprintf(b, "   repaired %s\n", c)
	}
	if a.Error == nil && a.Display != nil && a.Display.Diff != nil {
		for line := range strings.Lines(display.TerminalDiff(a.Display.Diff.FileDiff, r.colour)) {
			b.WriteString("            " + line)
		}
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
		Latest *demoState `json:"latest_file_state"`
	}
	switch err := json.Unmarshal(content, &change); {
	case err != nil:
		return nil
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

func (r demoPrinter) End(s demoSummary) error {
	var b strings.Builder
	table := func(title string, rows []demoRow) {
		fmt.Fprintf(&b, "\n%s\n", display.Paint(display.StyleBold, title, r.colour))
		for _, row := range rows {
			fmt.Fprintf(&b, "   %s  step %d: %s", r.mark(row.Held), row.Step, row.What)
			if row.Code != "" {
				fmt.Fprintf(&b, " (%s)", row.Code)
			}
			b.WriteByte('\n')
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

func (r demoPrinter) mark(ok bool) string {
	if ok {
		return display.Paint(display.StyleGreen, "yes", r.colour)
	}
	return display.Paint(display.StyleRed, "NO ", r.colour)
}

// short returns an abbreviated hash.
func short(hash string) string { return hash[:min(12, len(hash))] }

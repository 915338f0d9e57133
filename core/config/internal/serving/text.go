package serving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// Limits of a question, in displayed bytes. Each part has a limit of its own, so
// that no part displaces another: their sum is less than maxMessage.
const (
	maxMessage   = 40 << 10
	maxCommand   = 20 << 10 // more than the longest command line that policy evaluates, unless much of it is escaped
	maxChange    = 12 << 10 // of a change, or of the arguments if nothing else is shown
	maxArguments = 6 << 10  // next to other parts
	maxPath      = 300
	maxPaths     = 20
	maxNote      = 2_000
	maxReason    = 1_000
	maxName      = 200
)

// confirmationText describes the effects of a call, and why approval is required.
// whole reports whether the description is complete; otherwise the text states
// how much is missing.
func confirmationText(q bus.ToolConfirmationRequest) (text string, whole bool) {
	t := questionText{whole: true}
	d := q.Details
	name := t.name(q.ToolCall.Name)
	if q.Subagent != "" {
		t.line("Requested by the subagent %s.", t.name(q.Subagent))
	}
	switch {
	case d.EditDetails != nil:
		t.change(name, *d.EditDetails)
	case d.ExecDetails != nil:
		t.line("%s wants to run:\n\n%s\n", name, t.excerpt(d.Command, maxCommand))
		if q.Decision.Confined != "" {
			t.line("It runs confined by %s.", t.name(q.Decision.Confined))
		}
		t.arguments(withoutCommand(q.ToolCall.Args), maxArguments)
	case d.MCPDetails != nil:
		t.line("The tool %s of the MCP server %s wants to run.", t.name(d.ToolName), t.name(d.ServerName))
		t.arguments(q.ToolCall.Args, maxChange)
	case d.InfoDetails != nil && len(d.Bases) > 0: // changes of several files, which the arguments repeat
		t.line("%s wants to change files together:\n\n%s", name, t.excerpt(d.Prompt, maxChange))
	case d.InfoDetails != nil:
		t.line("%s", t.excerpt(d.Prompt, maxArguments))
		if len(d.URLs) > 0 {
			t.line("%s", t.excerpt(strings.Join(d.URLs, "\n"), maxArguments))
		}
		t.arguments(q.ToolCall.Args, maxChange)
	default:
		t.line("%s wants to run.", name)
		t.arguments(q.ToolCall.Args, maxChange)
	}
	for i, path := range d.Paths {
		switch {
		case d.EditDetails != nil && path == d.FilePath:
		case i == maxPaths:
			t.whole = false
			t.line("IMPORTANT: it changes %d more, which are not shown here.", len(d.Paths)-i)
		case i < maxPaths:
			t.line("It changes %s.", t.inline(path, maxPath))
		}
	}
	if !t.whole {
		t.line("IMPORTANT: the call is not shown completely, so only this one call can be approved.")
	}
	if d.SystemMessage != "" {
		t.line("Note: %s", escape.ClipBytes(escape.Text(d.SystemMessage), maxNote))
	}
	if q.Decision.Reason != "" {
		t.line("Why it is asked: %s", escape.ClipBytes(escape.Text(q.Decision.Reason), maxReason))
	}
	return strings.TrimSuffix(t.String(), "\n"), t.whole
}

// covered completes a sentence with the calls that a lasting answer would allow,
// one rule per line if there are several. It is "" if that exceeds the limit.
func covered(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	switch rules := q.Stores(o); len(rules) {
	case 0:
		return ""
	case 1:
		return atMost(" "+rules[0], maxArguments)
	default:
		return atMost(":\n- "+strings.Join(rules, "\n- "), maxArguments)
	}
}

// atMost returns a displayable text, or "" if it exceeds the limit.
func atMost(text string, most int) string {
	if text = escape.Text(text); len(text) > most {
		return ""
	}
	return text
}

// questionText is the text of a question under construction.
type questionText struct {
	strings.Builder
	whole bool // nothing was omitted
}

func (t *questionText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// change adds a change of a file.
func (t *questionText) change(name string, d confirmation.EditDetails) {
	verb := "change"
	if d.OriginalContent == nil {
		verb = "create"
	}
	before := t.whole
	diff := t.excerpt(d.FileDiff, maxChange)
	t.line("%s wants to %s %s:\n\n%s", name, verb, t.inline(d.FilePath, maxPath), diff)
	if before && !t.whole {
		t.line("All of the file would have %d bytes.", len(d.NewContent))
	}
}

// arguments adds the arguments of a call, if it has any.
func (t *questionText) arguments(args json.RawMessage, most int) {
	var indented bytes.Buffer
	if json.Indent(&indented, args, "", "  ") != nil || indented.String() == "{}" {
		return
	}
	t.line("Arguments:\n%s", t.excerpt(indented.String(), most))
}

// withoutCommand returns the arguments of a command line's call without the line.
func withoutCommand(args json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(args, &all) != nil {
		return nil
	}
	delete(all, "command")
	delete(all, "description")
	rest, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return rest
}

func (t *questionText) name(s string) string { return t.inline(s, maxName) }

// inline is excerpt for a part of a line.
func (t *questionText) inline(s string, most int) string { return t.cut(s, most, " […%s…] ") }

// excerpt returns a text in displayable form, shortened to its beginning and end
// if it exceeds most bytes, with the number of omitted bytes between them on a
// line of its own.
func (t *questionText) excerpt(s string, most int) string { return t.cut(s, most, "\n[%s]\n") }

func (t *questionText) cut(s string, most int, mark string) string {
	s = escape.Text(s)
	head, tail, omitted := escape.Ends(s, most*2/3, most/3)
	if omitted == 0 {
		return s
	}
	t.whole = false
	missing := s[len(head) : len(head)+omitted]
	note := fmt.Sprintf("IMPORTANT: %d characters are not shown here", utf8.RuneCountInString(missing))
	if lines := strings.Count(missing, "\n"); lines > 0 {
		note += fmt.Sprintf(", with %d ends of lines", lines)
	}
	return head + fmt.Sprintf(mark, note) + tail
}

// instructions returns the instructions for clients on using the tools.
func (s *served) instructions() string {
	dir := s.session.Dir
	text := fmt.Sprintf("These tools work on the files in the directory %q, %s; relative paths start there. ",
		escape.ClipBytes(filepath.Base(dir), 100), escape.ClipBytes(fmt.Sprintf("%q", dir), 1_000))
	if bases := s.bases(); s.offers(file.ReadFile) && bases != "" {
		text += "Read a file with read_file before you change it: the result has the content with a version and a sha256. " +
			"Pass that sha256 " + bases + ". " +
			"A change based on another state than the one on disk is refused, and nothing is written: " +
			"the error names the next step, and has the current content in latest_file_state if it may be shown. " +
			"Continue from that state; never rewrite a file from memory. "
	}
	if s.offers(file.TextEditor) {
		text += file.TextEditor + " relies on the content that you received last, by its command view or another read. "
	}
	text += "If a call requires approval, the user is asked through you. If that is not possible, the error states what would allow the call; only the user can decide that. " +
		"Do not try to do the same in another way. " +
		"The resources include files with instructions for this project."
	if s.options.Stateless {
		text += " There is no session: calls are independent. Every change of an existing file requires its sha256 with all 64 digits, and a tool without that parameter is refused with the reason no_session."
	}
	return text
}

// bases returns how the served tools that change files receive the hash of one; "" if none does.
func (s *served) bases() string {
	var arguments, ways []string
	for _, tool := range [][2]string{{file.SafePatch, file.SafePatch}, {file.WriteFile, file.WriteFile + " to replace the whole file"}} {
		if s.offers(tool[0]) {
			arguments = append(arguments, "to "+tool[1])
		}
	}
	if len(arguments) > 0 {
		ways = append(ways, "as base_content_sha256 "+strings.Join(arguments, ", or "))
	}
	if s.offers(file.ApplyPatch) {
		ways = append(ways, "in bases to "+file.ApplyPatch+", which otherwise relies on the content that you received last")
	}
	return strings.Join(ways, ", or ")
}

// offers reports whether the named tool is served.
func (s *served) offers(name string) bool {
	t, err := s.session.Registry.Lookup(name)
	return err == nil && s.serves(t)
}

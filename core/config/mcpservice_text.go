package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// maxMessage bounds what a client is shown with a question, in bytes. It is more
// than the longest command line that is judged, so that no command is approved of
// which a part was left out.
const maxMessage = 24 << 10

// confirmationText says what a call would do, and why that is asked.
func confirmationText(q bus.ToolConfirmationRequest) string {
	var b strings.Builder
	d := q.Details
	name := visible(q.ToolCall.Name)
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if q.Subagent != "" {
		line("Asked for by the subagent %s.", visible(q.Subagent))
	}
	switch {
	case d.EditDetails != nil:
		verb := "change"
		if d.OriginalContent == nil {
			verb = "create"
		}
		line("%s wants to %s %s:\n\n%s", name, verb, visible(d.FilePath), wholeLines(visible(d.FileDiff), maxMessage/2))
	case d.ExecDetails != nil:
		line("%s wants to run:\n\n%s\n", name, visible(d.Command))
		if q.Decision.Confined != "" {
			line("It runs confined by %s.", q.Decision.Confined)
		}
		otherArguments(&b, q.ToolCall.Args)
	case d.MCPDetails != nil:
		line("The tool %s of the MCP server %s wants to run.", visible(d.ToolName), visible(d.ServerName))
		allArguments(&b, q.ToolCall.Args)
	case d.InfoDetails != nil:
		line("%s", wholeLines(visible(d.Prompt), maxMessage/4))
		for _, u := range d.URLs {
			line("%s", clip(visible(u), 2_000))
		}
		allArguments(&b, q.ToolCall.Args)
	default:
		line("%s wants to run.", name)
		allArguments(&b, q.ToolCall.Args)
	}
	for i, path := range d.Paths {
		switch {
		case d.EditDetails != nil && path == d.FilePath:
		case i == maxPaths:
			line("and %d more.", len(d.Paths)-i)
		case i < maxPaths:
			line("It changes %s.", visible(path))
		}
	}
	if d.SystemMessage != "" {
		line("Note: %s", clip(visible(d.SystemMessage), 2_000))
	}
	if q.Decision.Reason != "" {
		line("Why it is asked: %s", clip(visible(q.Decision.Reason), 1_000))
	}
	return clip(strings.TrimSuffix(b.String(), "\n"), maxMessage)
}

// maxPaths is how many paths a question names.
const maxPaths = 20

// allArguments shows the arguments of a call.
func allArguments(b *strings.Builder, args json.RawMessage) {
	var indented bytes.Buffer
	if json.Indent(&indented, args, "", "  ") != nil || indented.String() == "{}" {
		return
	}
	fmt.Fprintf(b, "Arguments:\n%s\n", wholeLines(visible(indented.String()), maxMessage/4))
}

// otherArguments shows those of a command line's call that are not the line.
func otherArguments(b *strings.Builder, args json.RawMessage) {
	var all map[string]json.RawMessage
	if json.Unmarshal(args, &all) != nil {
		return
	}
	delete(all, "command")
	delete(all, "description")
	if rest, err := json.Marshal(all); err == nil {
		allArguments(b, rest)
	}
}

// visible spells out what would steer whatever shows the text instead of being
// shown: control characters, and marks that turn the direction of writing. Line
// feeds and tabs stay.
func visible(s string) string {
	steers := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) && r != '\u200d'
	}
	if s = strings.ToValidUTF8(s, "\ufffd"); !strings.ContainsFunc(s, steers) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if steers(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// clip returns at most so many bytes of s, with a mark where there was more.
func clip(s string, most int) string {
	const mark = "…"
	if len(s) <= most {
		return s
	}
	at := most - len(mark)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + mark
}

// wholeLines returns the first lines of s, at most so many bytes, and says how
// many are left out.
func wholeLines(s string, most int) string {
	if len(s) <= most {
		return s
	}
	shown := s[:strings.LastIndexByte(s[:most], '\n')+1]
	if shown == "" {
		return clip(s, most) + "\nIMPORTANT: the rest is not shown here."
	}
	return fmt.Sprintf("%sIMPORTANT: %d more lines are not shown here.", shown, strings.Count(strings.TrimSuffix(s[len(shown):], "\n"), "\n")+1)
}

// instructions tell a client how the tools are meant to be used.
func (s *served) instructions() string {
	folder := "?"
	if sh := s.config.sharedServices(); sh != nil {
		folder = sh.workspace.Target()
	}
	text := fmt.Sprintf("These tools work on the files in the folder %q, %s; a relative path is one in it. ",
		clip(filepath.Base(folder), 100), clip(fmt.Sprintf("%q", folder), 1_000))
	if s.offers(file.ReadFile) && s.offers(file.SafePatch) {
		text += "Read a file with read_file before you change it: it gives the content with a version and a sha256. " +
			"Quote that sha256 as base_content_sha256 in safe_patch, or in write_file where all of a file is to be another. " +
			"A change that was made for another state than the one on disk is refused, and nothing is written: " +
			"the refusal says what to do next, and holds the file as it is now in latest_file_state where it may be shown. " +
			"Go on from that state; never write a file again from memory. "
	}
	text += "What a person has to approve is asked through you; where that is not possible the refusal says what would allow it, which is for the person to decide. " +
		"Do not try to reach the same in another way. " +
		"Files that say how to work in this project are among the resources."
	if s.options.Stateless {
		text += " There is no session: no call knows of another. Every change of an existing file has to quote base_content_sha256, and a tool that cannot is refused for the reason no_session."
	}
	return text
}

// offers reports whether the tool of a name is served.
func (s *served) offers(name string) bool {
	t, err := s.session.registry.Lookup(name)
	return err == nil && s.serves(t)
}

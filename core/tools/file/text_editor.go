package file

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/replace"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// The commands of str_replace_based_edit_tool.
const (
	commandView    = "view"
	commandCreate  = "create"
	commandReplace = "str_replace"
	commandInsert  = "insert"
)

// textEditorParams are the parameters of str_replace_based_edit_tool: those of Anthropic's tool text_editor_20250728.
type textEditorParams struct {
	Command    string  `json:"command" jsonschema:"enum=view,enum=create,enum=str_replace,enum=insert" jsonschema_description:"view shows a file with line numbers, or lists a directory; create makes a new file; str_replace replaces a text that has one place; insert adds lines."`
	Path       string  `json:"path" jsonschema_description:"The file or directory: absolute, or relative to the target directory."`
	ViewRange  []int   `json:"view_range,omitempty" jsonschema:"minItems=2,maxItems=2" jsonschema_description:"For view of a file: the first and the last line to show, 1-based; -1 as the last is the end of the file."`
	FileText   *string `json:"file_text,omitempty" jsonschema_description:"For create: the whole content."`
	OldStr     *string `json:"old_str,omitempty" jsonschema_description:"For str_replace: the exact text to replace, including white space, with enough surrounding lines to be unique."`
	NewStr     *string `json:"new_str,omitempty" jsonschema_description:"For str_replace: the replacement, taken literally; nothing if omitted."`
	InsertLine *int    `json:"insert_line,omitempty" jsonschema:"minimum=0" jsonschema_description:"For insert: the line after which to insert; 0 is the beginning of the file."`
	InsertText *string `json:"insert_text,omitempty" jsonschema_description:"For insert: the lines to insert."`
}

const textEditorDescription = "Views, creates and edits text files, by commands. view shows a file with line numbers, which are not part of its text, or lists a directory. " +
	"create makes a file that does not exist. str_replace replaces old_str, which must occur once, by new_str. insert adds the lines of insert_text after line insert_line. " +
	"View all of a file, or read it with read_file, before you change it. If it has changed on disk since, nothing is written: " +
	"make the change again for latest_file_state, which the result then has. The result of a change has success, message and latest_file_state."

// textEditorArgument is an argument of some commands.
type textEditorArgument struct {
	name     string
	commands []string
	required bool
}

func textEditorArguments() []textEditorArgument {
	return []textEditorArgument{
		{"view_range", []string{commandView}, false},
		{"file_text", []string{commandCreate}, true},
		{"old_str", []string{commandReplace}, true},
		{"new_str", []string{commandReplace}, false},
		{"insert_line", []string{commandInsert}, true},
		{"insert_text", []string{commandInsert}, true},
	}
}

func newTextEditor() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, textEditorParams]{
		Spec: tools.Spec{
			Name: TextEditor, GovernedBy: []string{SafePatch, ApplyPatch, Edit, "replace", WriteFile}, DisplayName: "TextEditor", Description: textEditorDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(textEditorOutput),
		},
		Rewrite:  rewriteTextEditor,
		Validate: validateTextEditor,
		Build: func(s Services, p textEditorParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.Path)
			if err != nil {
				return nil, err
			}
			if p.Command == commandView {
				return newView(s, path, p.ViewRange, params), nil
			}
			c := &change{
				services: s, params: params, amend: amendTextEditor, files: []string{path.String()},
				request: mutation.Request{
					Path: path, Latest: p.Command != commandCreate,
					Verb: filestate.Verb{Ing: "editing", Infinitive: "edit", Participle: "edited", Component: "TEXT_EDITOR"},
				},
			}
			switch p.Command {
			case commandCreate:
				c.action, c.done = "Create", func(*mutation.Plan) string { return "File created successfully." }
				c.request.Compute = func(base mutation.Base) (mutation.Change, *fault.Error) { return p.create(path, base) }
			case commandReplace:
				c.action, c.done = "Edit", func(*mutation.Plan) string { return "Replaced 1 occurrence(s) successfully." }
				c.request.Compute = func(base mutation.Base) (mutation.Change, *fault.Error) { return p.replace(path, base) }
			default:
				c.action, c.done = "Insert into", func(*mutation.Plan) string { return fmt.Sprintf("Inserted after line %d successfully.", *p.InsertLine) }
				c.request.Compute = func(base mutation.Base) (mutation.Change, *fault.Error) { return p.insert(path, base) }
			}
			return c, nil
		},
	})
}

// rewriteTextEditor accepts new_str as the text of insert, the name in earlier versions of the tool, and removes empty
// arguments of other commands, which some models pass for omitted ones.
func rewriteTextEditor(args map[string]json.RawMessage) error {
	var command string
	if json.Unmarshal(args["command"], &command) != nil {
		return nil // the schema refuses it
	}
	if command == commandInsert {
		rename(args, "new_str", "insert_text")
	}
	for _, a := range textEditorArguments() {
		if text := string(args[a.name]); !slices.Contains(a.commands, command) && (text == `""` || text == "[]") {
			delete(args, a.name)
		}
	}
	return nil
}

// validateTextEditor checks that a call has the arguments of its command, and no others.
func validateTextEditor(_ Services, p textEditorParams) error {
	if err := nonEmpty("path", p.Path); err != nil {
		return err
	}
	given := map[string]bool{
		"view_range": p.ViewRange != nil, "file_text": p.FileText != nil, "old_str": p.OldStr != nil, "new_str": p.NewStr != nil,
		"insert_line": p.InsertLine != nil, "insert_text": p.InsertText != nil,
	}
	for _, a := range textEditorArguments() {
		switch of := slices.Contains(a.commands, p.Command); {
		case of && a.required && !given[a.name]:
			return badParameter(fmt.Sprintf("The command %s requires the argument %s.", p.Command, a.name), "Pass it.")
		case !of && given[a.name]:
			return badParameter(fmt.Sprintf("The command %s has no argument %s.", p.Command, a.name), "Omit it, or use the command "+a.commands[0]+".")
		}
	}
	switch {
	case p.OldStr != nil && *p.OldStr == "":
		return badParameter("old_str must not be empty.", "Pass the text to replace; to add lines use the command insert, to create a file create.")
	case p.InsertText != nil && *p.InsertText == "":
		return badParameter("insert_text must not be empty.", "Pass the lines to insert; a line break alone is an empty line.")
	case p.ViewRange != nil && (p.ViewRange[0] < 1 || p.ViewRange[1] != -1 && p.ViewRange[1] < p.ViewRange[0]):
		return badParameter("view_range must be the first and the last line, counted from 1, or -1 as the last line.", "Use [1, -1] for the whole file.")
	}
	return nil
}

func (p textEditorParams) create(path workspace.Path, base mutation.Base) (mutation.Change, *fault.Error) {
	if base.Exists {
		return mutation.Change{}, fault.New(fault.AttemptToCreateExist, "file.text_editor", path.String()+" already exists.",
			"Change it with str_replace or insert.")
	}
	return mutation.Change{Text: *p.FileText}, nil
}

func (p textEditorParams) replace(path workspace.Path, base mutation.Base) (mutation.Change, *fault.Error) {
	if !base.Exists {
		return mutation.Change{}, missing(path.String(), "to create the file use the command create")
	}
	r := replace.Replacement{From: *p.OldStr, Count: 1, FromName: "old_str", ToName: "new_str"}
	if p.NewStr != nil {
		r.To = *p.NewStr
	}
	text, _, err := r.Apply(path.String(), base.Text)
	return mutation.Change{Text: text}, err
}

// insert adds whole lines. At the end of a file whose last line is not terminated, the new last line is terminated only if
// the given text is.
func (p textEditorParams) insert(path workspace.Path, base mutation.Base) (mutation.Change, *fault.Error) {
	if !base.Exists {
		return mutation.Change{}, missing(path.String(), "to create the file use the command create")
	}
	lines := textfile.Lines(base.Text)
	if *p.InsertLine > lines {
		return mutation.Change{}, fault.New(fault.InvalidToolParams, "file.text_editor",
			fmt.Sprintf("insert_line %d lies beyond the end of %s, which has %d lines.", *p.InsertLine, path.String(), lines),
			fmt.Sprintf("Use a line from 0 to %d.", lines))
	}
	at := 0
	for range *p.InsertLine {
		next := strings.IndexByte(base.Text[at:], '\n')
		if next < 0 {
			at = len(base.Text)
			break
		}
		at += next + 1
	}
	head, tail, added := base.Text[:at], base.Text[at:], *p.InsertText
	if head != "" && !strings.HasSuffix(head, "\n") {
		added = "\n" + added
	} else if !strings.HasSuffix(added, "\n") {
		added += "\n"
	}
	like := base.Text
	if textfile.NewlineOf(like) == textfile.NewlineNone {
		like = *p.InsertText
	}
	return mutation.Change{Text: head + textfile.Restyle(added, like) + tail}, nil
}

// amendTextEditor replaces the whole file, which occurs once in itself.
func amendTextEditor(params json.RawMessage, a amendment) (json.RawMessage, error) {
	set := map[string]any{"command": commandReplace, "old_str": a.base.Text, "new_str": a.text}
	switch {
	case !a.base.Exists:
		set = map[string]any{"command": commandCreate, "file_text": a.text}
	case a.base.Text == "":
		set = map[string]any{"command": commandInsert, "insert_line": json.Number("0"), "insert_text": a.text}
	}
	var drop []string
	for _, argument := range textEditorArguments() {
		if _, ok := set[argument.name]; !ok {
			drop = append(drop, argument.name)
		}
	}
	return tools.Amend(params, set, drop...)
}

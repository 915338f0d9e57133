package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/replace"
	"github.com/fettle-dev/fettle/core/tools"
)

// EditParams are the parameters of edit.
type EditParams struct {
	FilePath             string `json:"file_path" jsonschema_description:"The file to change: absolute, or relative to the target directory."`
	OldString            string `json:"old_string" jsonschema_description:"The exact text to replace, including white space, with enough surrounding lines to be unique. Empty to create a file."`
	NewString            string `json:"new_string" jsonschema_description:"The replacement text, taken literally."`
	ExpectedReplacements *int   `json:"expected_replacements,omitempty" jsonschema_description:"The exact number of matches, 1 if omitted."`
}

const editDescription = "Replaces literal text in one file. The file must have been read with read_file before, in full, and must not have changed since. " +
	"old_string must match the file exactly, in exactly expected_replacements places (1 if omitted); either all of them are replaced or none. " +
	"Line breaks match whether the file has LF or CRLF. An empty old_string creates a file that does not exist. " +
	"The result has success, message and latest_file_state."

func newEdit() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, EditParams]{
		Spec: tools.Spec{
			Name: Edit, Aliases: []string{"replace"}, DisplayName: "Edit", Description: editDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(changeOutput),
		},
		Rewrite: rewriteEdit,
		Validate: func(_ Services, p EditParams) error {
			if n := p.ExpectedReplacements; n != nil && *n < 1 && *n != replace.Any {
				return errors.New("expected_replacements must be a positive number")
			}
			return nonEmpty("file_path", p.FilePath)
		},
		Build: func(s Services, p EditParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.FilePath)
			if err != nil {
				return nil, err
			}
			count := 0
			return &change{
				services: s, params: params, action: "Edit", amend: amendEdit,
				request: mutation.Request{
					Path: path,
					Verb: filestate.Verb{Ing: "editing", Infinitive: "edit", Participle: "edited", Component: "EDIT_PRIOR_READ"},
					Compute: func(base mutation.Base) (mutation.Change, *fault.Error) {
						text, n, err := p.apply(path.String(), base)
						count = n
						return mutation.Change{Text: text}, err
					},
				},
				done: func(plan *mutation.Plan) string {
					if !plan.Base().Exists {
						return "File created successfully."
					}
					return fmt.Sprintf("Replaced %d occurrence(s) successfully.", count)
				},
			}, nil
		},
	})
}

// rewriteEdit accepts gemini-cli's arguments: instruction is ignored, and allow_multiple means any number of
// replacements.
func rewriteEdit(args map[string]json.RawMessage) error {
	delete(args, "instruction")
	text, ok := take(args, "allow_multiple")
	if !ok {
		return nil
	}
	multiple, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("allow_multiple must be true or false")
	}
	if _, given := args["expected_replacements"]; multiple && !given {
		args["expected_replacements"] = json.RawMessage(strconv.Itoa(replace.Any))
	}
	return nil
}

// apply returns the new text, or the error of the match.
func (p EditParams) apply(path string, base mutation.Base) (text string, count int, err *fault.Error) {
	switch {
	case p.OldString == "" && base.Exists:
		return "", 0, fault.New(fault.AttemptToCreateExist, "file.edit",
			path+" already exists, and an empty old_string only creates a file.",
			"Pass the text to replace as old_string, or replace the whole file with write_file and its sha256.")
	case p.OldString == "":
		return p.NewString, 1, nil
	case !base.Exists:
		return "", 0, missing(path, "to create the file use an empty old_string")
	}
	want := 1
	if p.ExpectedReplacements != nil {
		want = *p.ExpectedReplacements
	}
	return replace.Replacement{
		From: p.OldString, To: p.NewString, Count: want,
		FromName: "old_string", ToName: "new_string", CountName: "expected_replacements",
	}.Apply(path, base.Text)
}

// missing returns the error of a replacement in a file that does not exist.
func missing(path, create string) *fault.Error {
	return fault.New(fault.FileNotFound, "file.edit", path+" does not exist, so there is nothing to replace in it.",
		"Check the path with list_directory; "+create+".")
}

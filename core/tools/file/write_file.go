package file

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/tools"
)

// WriteFileParams are the parameters of write_file.
type WriteFileParams struct {
	FilePath          string `json:"file_path" jsonschema_description:"Absolute or relative."`
	Content           string `json:"content" jsonschema_description:"The whole content."`
	BaseContentSHA256 string `json:"base_content_sha256,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{12\\,64}$" jsonschema_description:"Of the base; 12 digits are enough."`
	LineEndings       string `json:"line_endings,omitempty" jsonschema:"enum=keep,enum=lf,enum=crlf" jsonschema_description:"Default: keep those of the file."`
}

const writeFileDescription = "Writes a whole file. To create one, with missing directories, omit base_content_sha256. To replace one, the sha256 of its newest state object is required. " +
	"Anything else is refused: an existing file without a hash, an outdated hash, a hash for a missing file. " +
	"The result's latest_file_state is your new base. Use another tool to change a part."

func newWriteFile() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, WriteFileParams]{
		Spec: tools.Spec{
			Name: WriteFile, DisplayName: "WriteFile", Description: writeFileDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(changeOutput),
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			for _, optional := range []string{"base_content_sha256", "line_endings"} {
				if string(args[optional]) == `""` { // models pass an empty string for omitted arguments
					delete(args, optional)
				}
			}
			return nil
		},
		Validate: func(_ Services, p WriteFileParams) error { return nonEmpty("file_path", p.FilePath) },
		Build: func(s Services, p WriteFileParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.FilePath)
			if err != nil {
				return nil, err
			}
			proof, params, err := s.baseHash(path, p.BaseContentSHA256, params)
			if err != nil {
				return nil, err
			}
			endings := textfile.Newline(p.LineEndings)
			if p.LineEndings == "keep" {
				endings = textfile.NewlineNone
			}
			restyled := false // the line endings of the content were replaced
			return &change{
				services: s, params: params, action: "Write", amend: amendWrite, endings: endings,
				request: mutation.Request{
					Path:       path,
					Verb:       filestate.Verb{Ing: "overwriting", Infinitive: "overwrite", Participle: "overwritten", Component: "WRITE_FILE"},
					Proof:      proof,
					NeedsProof: true, Whole: true,
					Compute: func(base mutation.Base) (mutation.Change, *fault.Error) {
						text := withEndings(p.Content, base, endings)
						restyled = text != p.Content
						return mutation.Change{Text: text}, nil
					},
				},
				done: func(plan *mutation.Plan) string {
					return writtenMessage(plan, restyled && endings == textfile.NewlineNone)
				},
			}, nil
		},
	})
}

// withEndings returns text with the given line endings or, if endings is empty, with those of an existing base.
func withEndings(text string, base mutation.Base, endings textfile.Newline) string {
	switch {
	case endings == textfile.NewlineLF:
		return textfile.Restyle(text, "\n")
	case endings == textfile.NewlineCRLF:
		return textfile.Restyle(text, "\r\n")
	case !base.Exists:
		return text
	case base.Format.Newline == textfile.NewlineLF: // base.Text need not be read
		return textfile.Restyle(text, "\n")
	}
	return textfile.Restyle(text, base.Text)
}

// writtenMessage describes the effect on the file: whether it changed, and whether its line endings were kept instead of
// those of the given content.
func writtenMessage(plan *mutation.Plan, endingsKept bool) string {
	base := plan.Base()
	if !base.Exists {
		return "File created successfully."
	}
	kept := ""
	if endingsKept {
		kept = " Line endings were kept as " + strings.ToUpper(string(base.Format.Newline)) + "."
		if base.Format.Newline == textfile.NewlineMixed {
			kept = " Line endings were kept as in the file, which mixes LF and CRLF."
		}
	}
	switch {
	case plan.NewText() != base.Text:
		return "File overwritten successfully." + kept
	case kept != "":
		return "Nothing changed: the file already has this content, apart from line endings." + kept + " Use line_endings to change them."
	}
	return "Nothing changed: the file already has this content."
}

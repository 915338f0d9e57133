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
	FilePath          string `json:"file_path" jsonschema_description:"The file to write: absolute, or relative to the target directory."`
	Content           string `json:"content" jsonschema_description:"The whole new content."`
	BaseContentSHA256 string `json:"base_content_sha256,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{12\\,64}$" jsonschema_description:"The sha256 of the state to replace, or at least its first 12 digits. Omit it to create a file; it is required to replace one."`
	LineEndings       string `json:"line_endings,omitempty" jsonschema:"enum=keep,enum=lf,enum=crlf" jsonschema_description:"keep, the default: those of the replaced file; if it mixes them, unchanged lines keep theirs and others get the commoner one. lf, crlf: for all lines, of a new file too."`
}

const writeFileDescription = "Writes a whole file. Three cases: to create a file that does not exist, omit base_content_sha256; missing directories are created too; " +
	"to replace an existing file, base_content_sha256 is required and must be the sha256 of the newest state object of it; " +
	"anything else is refused and nothing is written: an existing file without a hash, a hash that is no longer the file's, or a hash for a file that has disappeared. " +
	"The result has success, message and latest_file_state, whose sha256 is the base of your next change. " +
	"Encoding, byte order mark and permissions of a replaced file are kept, and line endings unless line_endings says otherwise. To change a part of a file use another tool."

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
			return &change{
				services: s, params: params, action: "Write", amend: amendWrite, endings: endings,
				request: mutation.Request{
					Path:       path,
					Verb:       filestate.Verb{Ing: "overwriting", Infinitive: "overwrite", Participle: "overwritten", Component: "WRITE_FILE"},
					Proof:      proof,
					NeedsProof: true, Whole: true,
					Compute: func(base mutation.Base) (mutation.Change, *fault.Error) {
						return mutation.Change{Text: withEndings(p.Content, base, endings)}, nil
					},
				},
				done: func(plan *mutation.Plan) string { return writtenMessage(plan, p.Content, endings) },
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
	case base.Exists:
		return textfile.Restyle(text, base.Text)
	}
	return text
}

// writtenMessage describes the effect on the file: whether it changed, and whether its line endings were kept instead of
// those of the given content.
func writtenMessage(plan *mutation.Plan, given string, endings textfile.Newline) string {
	base := plan.Base()
	if !base.Exists {
		return "File created successfully."
	}
	kept := ""
	if endings == textfile.NewlineNone && withEndings(given, base, endings) != given {
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

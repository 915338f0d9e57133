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

// WriteFileParams are the parameters of write_file (FS-48).
type WriteFileParams struct {
	FilePath          string `json:"file_path" jsonschema_description:"The file to write: absolute, or relative to the target folder."`
	Content           string `json:"content" jsonschema_description:"The whole new content."`
	BaseContentSHA256 string `json:"base_content_sha256,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{64}$" jsonschema_description:"The sha256 of the state that is to be replaced. Leave it out to create a file; it is required to replace one."`
}

const writeFileDescription = "Writes a whole file. Three cases: to create a file that does not exist, leave base_content_sha256 out, and missing folders are made too; " +
	"to replace an existing file, base_content_sha256 is required and must be the sha256 of the state object that you last saw of it; " +
	"anything else is refused and nothing is written, that is, an existing file without a hash, a hash that is not the file's any more, or a hash for a file that has disappeared. " +
	"The result has success, message and latest_file_state, whose sha256 is the base of your next change. " +
	"Encoding, byte order mark, line endings and permissions of a replaced file are kept. To change a part of a file use safe_patch."

func newWriteFile() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, WriteFileParams]{
		Spec: tools.Spec{
			Name: WriteFile, DisplayName: "WriteFile", Description: writeFileDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(changeOutput),
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			if string(args["base_content_sha256"]) == `""` { // models fill in what they leave out
				delete(args, "base_content_sha256")
			}
			return nil
		},
		Validate: func(_ Services, p WriteFileParams) error { return nonEmpty("file_path", p.FilePath) },
		Build: func(s Services, p WriteFileParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.FilePath)
			if err != nil {
				return nil, err
			}
			return &change{
				services: s, params: params, action: "Write", amend: amendWrite,
				request: mutation.Request{
					Path:       path,
					Verb:       filestate.Verb{Ing: "overwriting", Infinitive: "overwrite", Participle: "overwritten", Component: "WRITE_FILE"},
					Proof:      strings.ToLower(p.BaseContentSHA256),
					NeedsProof: true, Whole: true,
					Compute: func(base mutation.Base) (mutation.Change, *fault.Error) {
						text := p.Content
						if base.Exists {
							text = textfile.Restyle(text, base.Text)
						}
						return mutation.Change{Text: text}, nil
					},
				},
				done: func(plan *mutation.Plan) string {
					if plan.Base().Exists {
						return "File overwritten successfully."
					}
					return "File created successfully."
				},
			}, nil
		},
	})
}

package file

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// SafePatchParams are the parameters of safe_patch.
type SafePatchParams struct {
	FilePath          string `json:"file_path" jsonschema_description:"Absolute or relative."`
	UnifiedDiff       string `json:"unified_diff" jsonschema_description:"Context and removed lines copied exactly; or a retry token."`
	BaseContentSHA256 string `json:"base_content_sha256" jsonschema:"pattern=^[0-9a-fA-F]{12\\,64}$" jsonschema_description:"Of the base; 12 digits are enough. Of empty input: e3b0c44298fc."`
}

const safePatchDescription = "Changes one file by a unified diff, all hunks or none. Work from the state object with the highest version that has a sha256; without one call read_file first. " +
	"Pass that sha256 as base_content_sha256. It is a lock: if the file has changed on disk, nothing is written. " +
	"Keep at least 10 unchanged lines of context around each hunk, if the file has them; line numbers are only hints. " +
	"The result's latest_file_state is your new base. " +
	"After a State Mismatch pass its sha256, and as unified_diff the retry token if it has one, else a new diff. " +
	"After an Invalid Diff compare its lines with the content. " +
	"To create a file, send added lines with the sha256 of empty input."

func newSafePatch() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, SafePatchParams]{
		Spec: tools.Spec{
			Name: SafePatch, GovernedBy: []string{ApplyPatch, TextEditor, Edit, "replace"}, DisplayName: "SafePatch", Description: safePatchDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(changeOutput),
		},
		Validate: func(_ Services, p SafePatchParams) error { return nonEmpty("file_path", p.FilePath) },
		Build: func(s Services, p SafePatchParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.Paths.Resolve(p.FilePath)
			if err != nil {
				return nil, err
			}
			proof, params, err := s.baseHash(path, p.BaseContentSHA256, params)
			if err != nil {
				return nil, err
			}
			diff, token := p.UnifiedDiff, retryToken(p.UnifiedDiff)
			if offered, bases, ok := s.offered(SafePatch, token); ok && bases[path.String()] == proof {
				diff = offered
				if params, err = tools.Amend(params, map[string]any{"unified_diff": diff}); err != nil {
					return nil, err
				}
			}
			return &change{
				services: s, params: params, action: "Patch", amend: amendPatch, retry: s.safeRetry,
				request: mutation.Request{
					Path:  path,
					Verb:  filestate.Verb{Ing: "patching", Infinitive: "patch", Participle: "patched", Component: "SAFE_PATCH"},
					Proof: proof, Carry: true,
					Compute: func(base mutation.Base) (mutation.Change, *fault.Error) {
						if token != "" && (diff == p.UnifiedDiff || !s.Retries.ClaimRetry(token)) {
							return mutation.Change{}, nothingToRetry(token, "for this state of "+path.String(), "Make a new diff for latest_file_state.")
						}
						return s.parseAndApply(path, base, diff)
					},
				},
				done: func(*mutation.Plan) string { return "Patch applied successfully." },
			}, nil
		},
	})
}

// parseAndApply parses and applies the diff of one file.
func (s Services) parseAndApply(path workspace.Path, base mutation.Base, diff string) (mutation.Change, *fault.Error) {
	parsed, err := patch.Parse(diff)
	if err != nil {
		return mutation.Change{}, invalidDiff(err)
	}
	change, failed := s.applyDiff(base, parsed)
	if failed == nil && !parsed.IsFor(path.String()) {
		change.Corrections = append([]patch.Correction{{Kind: patch.KindFileName}}, change.Corrections...)
	}
	return change, failed
}

// applyDiff corrects and applies a diff in memory.
func (s Services) applyDiff(base mutation.Base, parsed *patch.Diff) (mutation.Change, *fault.Error) {
	from, corrected, err := patch.CorrectMarked(base.Text, base.Format.BOM, parsed)
	if err != nil {
		return mutation.Change{}, invalidDiff(err)
	}
	apply := s.Apply
	if apply == nil {
		apply = patch.ApplyStrict
	}
	text, err := apply(from, corrected)
	if err != nil {
		return mutation.Change{}, patch.ApplyFailed(err)
	}
	change := mutation.Change{Text: text, Diff: corrected, Corrections: corrected.Corrections}
	plain, marked := strings.CutPrefix(text, byteOrderMark)
	if was := strings.HasPrefix(from, byteOrderMark); was != marked {
		change.Text, change.BOM = plain, &marked
	}
	return change, nil
}

const byteOrderMark = "\ufeff"

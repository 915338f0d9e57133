package file

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch/applypatch"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// ApplyPatchParams are the parameters of apply_patch.
type ApplyPatchParams struct {
	Input string            `json:"input" jsonschema_description:"The patch, from *** Begin Patch to *** End Patch, or a unified or git diff. Paths are absolute, or relative to the target directory."`
	Bases map[string]string `json:"bases,omitempty" jsonschema_description:"By path, the sha256 of the base; 12 digits are enough. Default: what you received last."`
}

const applyPatchDescription = "Adds, updates, deletes and moves files by a patch, all of them or none. The form: *** Begin Patch; for each file one of " +
	"*** Add File: path, *** Update File: path (optionally with *** Move to: path below it), *** Delete File: path; *** End Patch. " +
	"Lines of an update begin with a space, - or +; hunks begin with @@, optionally with a line above the hunk that has one place; *** End of File marks the end. " +
	"Read a file completely before you change, move or delete it. If any file has changed on disk since, or a hunk has no place or several, nothing is written: " +
	"pass the retry token as input if the refusal has one, else a new patch. " +
	"The result has success, message and latest_file_state, for several files latest_file_states."

func newApplyPatch() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ApplyPatchParams]{
		Spec: tools.Spec{
			Name: ApplyPatch, GovernedBy: []string{SafePatch, TextEditor, Edit, "replace", WriteFile}, DisplayName: "ApplyPatch", Description: applyPatchDescription,
			Kind: tools.KindEdit, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}, OutputSchema: json.RawMessage(patchOutput),
		},
		Validate: func(_ Services, p ApplyPatchParams) error {
			for _, path := range slices.Sorted(maps.Keys(p.Bases)) {
				if hash := p.Bases[path]; len(hash) < 12 || len(hash) > len(filestate.EmptySHA256) || strings.Trim(hash, "0123456789abcdefABCDEF") != "" {
					return fmt.Errorf("bases: %s: expected 12 to 64 hexadecimal digits", escape.Quoted(path))
				}
			}
			return nil
		},
		Build: func(s Services, p ApplyPatchParams, params json.RawMessage) (tools.ToolInvocation, error) {
			p, token, params, err := s.expand(p, params)
			if err != nil {
				return nil, err
			}
			parsed, err := applypatch.ParseWith(p.Input, s.exists)
			if err != nil {
				return nil, invalidDiff(err)
			}
			if n := len(parsed.Operations); n > transaction.MaxOperations {
				return nil, badParameter(fmt.Sprintf("The patch has %d operations; at most %d are possible.", n, transaction.MaxOperations), "Split the patch.")
			}
			set := &changeSet{services: s, patch: parsed}
			for i := range parsed.Operations {
				o := &parsed.Operations[i]
				c, err := s.operation(o)
				if err != nil {
					return nil, concerning(fault.As(err), i, len(parsed.Operations), string(o.Kind), o.Path)
				}
				set.changes = append(set.changes, c)
			}
			s.claim(token, &set.changes[0].request)
			if set.params, err = s.bases(p.Bases, set.changes, params); err != nil {
				return nil, err
			}
			if o := parsed.Operations[0]; len(set.changes) == 1 && (o.Kind == applypatch.Update || o.Kind == applypatch.Create) {
				return set.single(), nil
			}
			return set, nil
		},
	})
}

// expand replaces a retry token by the patch and the bases that it was offered for, in the parameters and the arguments.
func (s Services) expand(p ApplyPatchParams, params json.RawMessage) (_ ApplyPatchParams, token string, _ json.RawMessage, err error) {
	token = retryToken(p.Input)
	if token == "" {
		return p, "", params, nil
	}
	patch, bases, ok := s.offered(ApplyPatch, token)
	for _, name := range slices.Sorted(maps.Keys(p.Bases)) {
		path, err := s.Paths.Resolve(name)
		ok = ok && err == nil && strings.HasPrefix(bases[path.String()], strings.ToLower(p.Bases[name]))
	}
	if !ok {
		return p, "", nil, nothingToRetry(token, "for these bases in this conversation", "Make a new patch for the latest states of its files.")
	}
	p.Input, p.Bases = patch, bases
	params, err = tools.Amend(params, map[string]any{"input": patch, "bases": bases})
	return p, token, params, err
}

// claim makes a token invalid when the change of a request is computed, which is refused if the token is already invalid.
func (s Services) claim(token string, r *mutation.Request) {
	if token == "" {
		return
	}
	compute := r.Compute
	r.Compute = func(base mutation.Base) (mutation.Change, *fault.Error) {
		if !s.Retries.ClaimRetry(token) {
			return mutation.Change{}, nothingToRetry(token, "in this conversation", "Make a new patch for the latest states of its files.")
		}
		return compute(base)
	}
}

// exists reports whether a file has a name.
func (s Services) exists(name string) bool {
	path, err := s.Paths.Resolve(name)
	if err == nil {
		_, err = s.Directories.Stat(path)
	}
	return err == nil
}

// operation returns the change of one file.
func (s Services) operation(o *applypatch.Operation) (*change, error) {
	path, err := s.Paths.Resolve(o.Path)
	if err != nil {
		return nil, err
	}
	var to workspace.Path
	if o.Kind == applypatch.Move {
		if to, err = s.Paths.Resolve(o.NewPath); err != nil {
			return nil, err
		}
	}
	return &change{
		services: s, action: "Patch", amend: amendInput(path),
		request: mutation.Request{
			Path: path, To: to, Remove: o.Kind == applypatch.Delete, Latest: o.Kind != applypatch.Create,
			Carry: o.Kind == applypatch.Update || o.Kind == applypatch.Move, AsIs: o.Diff == nil && o.Kind != applypatch.Create,
			Verb:    filestate.Verb{Ing: "patching", Infinitive: "patch", Participle: "patched", Component: "APPLY_PATCH"},
			Compute: func(base mutation.Base) (mutation.Change, *fault.Error) { return s.compute(path, o, base) },
		},
		done: func(*mutation.Plan) string { return "Patch applied successfully." },
	}, nil
}

// compute returns the change of a file by an operation.
func (s Services) compute(path workspace.Path, o *applypatch.Operation, base mutation.Base) (mutation.Change, *fault.Error) {
	switch {
	case o.Kind == applypatch.Create && base.Exists:
		return mutation.Change{}, fault.New(fault.AttemptToCreateExist, "file.apply_patch", path.String()+" already exists.",
			"Use *** Update File for a file that exists.")
	case o.Kind != applypatch.Create && !base.Exists:
		return mutation.Change{}, fault.New(fault.FileNotFound, "file.apply_patch", path.String()+" does not exist.",
			"Check the path with list_directory; to create the file use *** Add File.")
	case o.Diff == nil && o.Kind == applypatch.Move:
		return mutation.Change{Text: base.Text, Corrections: o.Ignored}, nil
	case o.Diff == nil:
		return mutation.Change{Corrections: o.Ignored}, nil
	}
	change, err := s.applyDiff(base, o.Diff)
	if err == nil && o.Kind == applypatch.Delete && change.Text != "" {
		return mutation.Change{}, fault.New(fault.InvalidDiff, "file.apply_patch", "Invalid Diff: The patch deletes a file and removes only some of its lines.",
			"Use *** Delete File without lines.")
	}
	return change, err
}

// bases sets the base hashes of changes, and returns the arguments with all digits of them.
func (s Services) bases(given map[string]string, changes []*change, params json.RawMessage) (json.RawMessage, error) {
	if len(given) == 0 {
		return params, nil
	}
	full := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path, err := s.Paths.Resolve(name)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(changes, func(c *change) bool { return c.request.Path.String() == path.String() })
		if at < 0 {
			return nil, badParameter(fmt.Sprintf("bases names %s, which the patch does not change.", escape.Quoted(name)), "Name only files of the patch.")
		}
		hash, err := s.fullHash(path, given[name])
		if err != nil {
			return nil, err
		}
		proof := &changes[at].request.Proof
		if *proof != "" && *proof != hash {
			return nil, badParameter(fmt.Sprintf("bases states two different hashes of %s.", escape.Quoted(path.String())), "State one hash for each file.")
		}
		*proof, full[name] = hash, hash
	}
	return tools.Amend(params, map[string]any{"bases": full})
}

// amendInput returns the function that replaces a patch of one file by that of the edited text.
func amendInput(path workspace.Path) func(json.RawMessage, amendment) (json.RawMessage, error) {
	return func(params json.RawMessage, a amendment) (json.RawMessage, error) {
		kind := "Add"
		if a.base.Exists {
			kind = "Update"
		}
		input := fmt.Sprintf("*** Begin Patch\n*** %s File: %s\n%s*** End Patch\n", kind, applypatch.QuoteName(path.String()), hunksOf(a.diff))
		return tools.Amend(params, map[string]any{"input": input})
	}
}

// concerning adds to an error the operation that it concerns.
func concerning(err *fault.Error, i, all int, kind, path string) *fault.Error {
	if err == nil {
		return fault.New(fault.ExecutionFailed, "file.apply_patch", "The patch failed.", "")
	}
	e := *err
	e.Message += fmt.Sprintf(" This concerns operation %d of %d, %s of %s; no file was changed.", i+1, all, kind, escape.Quoted(path))
	return &e
}

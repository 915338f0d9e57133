package file

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/patch/applypatch"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// retry is a refused change, carried over to the current contents of its files, in the form of the tool's arguments.
type retry struct {
	tool, patch string
	bases       map[string]string // hashes of the contents by absolute path
	remedy      string            // for the model, with %s for the token
}

// retryToken returns the token that an argument consists of, "" for another text.
func retryToken(argument string) string {
	token := strings.TrimSpace(argument)
	if number, ok := strings.CutPrefix(token, "retry-"); !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return ""
	}
	return token
}

// offered returns the change of a token that was offered for the tool.
func (s Services) offered(tool, token string) (patch string, bases map[string]string, ok bool) {
	if token == "" || s.Retries == nil {
		return "", nil, false
	}
	return s.Retries.Retry(tool, token)
}

// offer returns a refusal with a token for the change; refusal itself if r is nil.
func (s Services) offer(ctx context.Context, refusal *fault.Error, r *retry) *fault.Error {
	if r == nil || s.Retries == nil {
		return refusal
	}
	offered := *refusal
	offered.Retry = s.Retries.OfferRetry(ctx, r.tool, r.patch, r.bases)
	offered.Remedy = fmt.Sprintf(r.remedy, offered.Retry)
	return &offered
}

// nothingToRetry returns the refusal of a token that is not valid where the call uses it.
func nothingToRetry(token, where, remedy string) *fault.Error {
	return fault.New(fault.InvalidDiff, "file.retry", fmt.Sprintf("Invalid Diff: %s was used before, or was not offered %s.", token, where), remedy).
		Because(fault.NothingToRetry)
}

// safeRetry returns the carried-over change next in the form of safe_patch; nil if a diff cannot express it.
func (s Services) safeRetry(path workspace.Path, next *mutation.Plan) *retry {
	diff := next.Diff().Unified("a/"+path.Rel(), "b/"+path.Rel())
	parsed, err := patch.Parse(diff)
	if err != nil || !s.makes(parsed, next) {
		return nil
	}
	return &retry{
		tool: SafePatch, patch: diff, bases: map[string]string{path.String(): next.Base().SHA256},
		remedy: "Call safe_patch with its sha256 and unified_diff %s, or make a new diff for this state.",
	}
}

// makes reports whether diff makes the change of plan.
func (s Services) makes(diff *patch.Diff, plan *mutation.Plan) bool {
	made, err := s.applyDiff(plan.Base(), diff)
	return err == nil && made.Text == plan.NewText() && (made.BOM == nil) == (plan.BOM() == nil)
}

// patchRetry returns the changes of a patch, some of them carried over, in the form of apply_patch; nil if a patch
// cannot express them, or would contain lines of a file that the model must not see: recordings have its arguments.
func (s Services) patchRetry(operations []applypatch.Operation, changes []*change, plans []*mutation.Plan) *retry {
	if slices.ContainsFunc(plans, (*mutation.Plan).Hidden) {
		return nil
	}
	r := &retry{tool: ApplyPatch, bases: make(map[string]string), remedy: "Call apply_patch with input %s, or make a new patch for the current state."}
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	for i, o := range operations {
		b.WriteString(section(o, plans[i]))
		if base := plans[i].Base(); base.Exists {
			r.bases[changes[i].request.Path.String()] = base.SHA256
		}
	}
	b.WriteString("*** End Patch\n")
	r.patch = b.String()
	parsed, err := applypatch.Parse(r.patch)
	if err != nil || len(parsed.Operations) != len(operations) {
		return nil
	}
	for i, o := range parsed.Operations {
		was := operations[i]
		same := o.Kind == was.Kind && o.Path == was.Path && o.NewPath == was.NewPath
		if !same || o.Diff != nil && !s.makes(o.Diff, plans[i]) || o.Diff == nil && was.Diff != nil && o.Kind != applypatch.Delete {
			return nil
		}
	}
	return r
}

// section returns the part of a patch for one operation.
func section(o applypatch.Operation, plan *mutation.Plan) string {
	path := applypatch.QuoteName(o.Path)
	var head string
	switch o.Kind {
	case applypatch.Create:
		head = "*** Add File: " + path + "\n"
	case applypatch.Delete:
		return "*** Delete File: " + path + "\n"
	case applypatch.Move:
		head = "*** Update File: " + path + "\n*** Move to: " + applypatch.QuoteName(o.NewPath) + "\n"
	default:
		head = "*** Update File: " + path + "\n"
	}
	return head + hunksOf(plan.Diff().Unified("a", "b"))
}

// hunksOf returns a unified diff without its header.
func hunksOf(diff string) string {
	_, hunks, _ := strings.Cut(diff, "\n+++ ")
	_, hunks, _ = strings.Cut(hunks, "\n")
	return hunks
}

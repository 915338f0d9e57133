package tooltest

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/core/tools"
)

// CheckResult reports to t where a tool's result is not what its OutputSchema
// promises: a success has JSON that fits, and a failure has none beside its
// content. A tool without an OutputSchema may give any JSON.
func CheckResult(t testing.TB, spec tools.Spec, r tools.Result) {
	t.Helper()
	if r.Error != nil {
		if r.Structured != nil {
			t.Errorf("a failure of %s has structured content, which is for results alone: %s", spec.Name, show(r.Structured))
		}
		return
	}
	if r.Structured != nil && !json.Valid(r.Structured) {
		t.Errorf("the structured content of %s is no JSON: %s", spec.Name, show(r.Structured))
		return
	}
	if spec.OutputSchema == nil {
		return
	}
	given := r.Structured
	if given == nil && r.LLMContent.IsJSON() {
		given = json.RawMessage(r.LLMContent.String())
	}
	if given == nil {
		t.Errorf("a result of %s is no JSON and has none beside it (Result.Structured), which Spec.OutputSchema promises", spec.Name)
		return
	}
	schema, err := tools.ParseOutputSchema(spec.Name, spec.OutputSchema)
	if err != nil {
		t.Errorf("Spec.OutputSchema: %v", err)
		return
	}
	if err := schema.Fits(given); err != nil {
		t.Errorf("a result of %s does not fit Spec.OutputSchema: %v\n%s", spec.Name, err, show(given))
	}
}

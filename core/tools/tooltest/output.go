package tooltest

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/core/tools"
)

// CheckResult reports to t if the result of a tool does not fit its OutputSchema: a success requires JSON that fits,
// and a failure must have no structured content. A tool without an OutputSchema may return any JSON.
func CheckResult(t testing.TB, spec tools.Spec, r tools.Result) {
	t.Helper()
	if r.Error != nil {
		if r.Structured != nil {
			t.Errorf("a failure of %s has structured content, which only successes may have: %s", spec.Name, show(r.Structured))
		}
		return
	}
	if r.Structured != nil && !json.Valid(r.Structured) {
		t.Errorf("the structured content of %s is not valid JSON: %s", spec.Name, show(r.Structured))
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
		t.Errorf("a result of %s has neither JSON content nor Result.Structured, but Spec.OutputSchema requires JSON", spec.Name)
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

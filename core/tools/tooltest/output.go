package tooltest

import (
	"encoding/json"
	"sync"
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
	schema, err := outputSchema(spec)
	if err != nil {
		t.Errorf("Spec.OutputSchema: %v", err)
		return
	}
	if err := schema.Fits(given); err != nil {
		t.Errorf("a result of %s does not fit Spec.OutputSchema: %v\n%s", spec.Name, err, show(given))
	}
}

// outputSchemas holds the OutputSchemas that CheckResult has parsed, so that the calls of one tool in many sessions
// compile its schema once.
var outputSchemas = sync.OnceValue(func() *sync.Map { return new(sync.Map) })

// outputSchema returns the parsed OutputSchema of spec.
func outputSchema(spec tools.Spec) (*tools.Schema, error) {
	key := [2]string{spec.Name, string(spec.OutputSchema)}
	if found, ok := outputSchemas().Load(key); ok {
		return found.(*tools.Schema), nil
	}
	schema, err := tools.ParseOutputSchema(spec.Name, spec.OutputSchema)
	if err != nil {
		return nil, err
	}
	found, _ := outputSchemas().LoadOrStore(key, schema)
	return found.(*tools.Schema), nil
}

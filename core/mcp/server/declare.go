package server

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// declare says what a tool is, in a revision of the protocol. Its schemas are
// passed on whole.
func declare(spec tools.Spec, revision string) *sdk.Tool {
	t := &sdk.Tool{
		Name:        spec.Name,
		Title:       spec.DisplayName,
		Description: spec.Description,
		InputSchema: anyObject,
		Annotations: annotate(spec),
	}
	if len(spec.Schema) > 0 {
		t.InputSchema = spec.Schema
	}
	if len(spec.OutputSchema) > 0 && (revision >= revision2026 || ofObjects(spec.OutputSchema)) {
		t.OutputSchema = spec.OutputSchema
	}
	return t
}

// ofObjects reports whether a schema is of type object, as revisions before
// 2026-07-28 want those of results.
func ofObjects(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// annotate hints at what a tool does: what its own server says of it, else what
// its Spec does.
func annotate(spec tools.Spec) *sdk.ToolAnnotations {
	a := &sdk.ToolAnnotations{Title: spec.DisplayName}
	if spec.Origin.Server != "" {
		hint := func(name string) *bool {
			if b, ok := spec.Annotations[name].(bool); ok {
				return &b
			}
			return nil
		}
		if t, ok := spec.Annotations["title"].(string); ok {
			a.Title = t
		}
		a.DestructiveHint, a.OpenWorldHint = hint("destructiveHint"), hint("openWorldHint")
		if b := hint("readOnlyHint"); b != nil {
			a.ReadOnlyHint = *b
		}
		if b := hint("idempotentHint"); b != nil {
			a.IdempotentHint = *b
		}
		return a
	}
	// Of the kind other nothing is known but what its effects say.
	a.ReadOnlyHint = !spec.Mutates() && (spec.Kind != tools.KindOther || len(spec.Effects) > 0)
	if spec.Kind.Mutates() {
		a.DestructiveHint = ptr(true)
	}
	switch {
	case slices.Contains(spec.Effects, tools.EffectNetwork), spec.Kind == tools.KindFetch:
		a.OpenWorldHint = ptr(true)
	case !slices.Contains(spec.Effects, tools.EffectRunProcess) && spec.Kind != tools.KindExecute && spec.Kind != tools.KindOther:
		a.OpenWorldHint = ptr(false) // a process may reach anything, and so may what nothing is known of
	}
	return a
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }

// declareHeaders has the SDK compare a tool's arguments with the headers that its
// schema mirrors them in (revision 2026-07-28). A schema whose headers cannot be
// used is not compared.
func (s *session) declareHeaders(spec tools.Spec) {
	defer func() {
		if v := recover(); v != nil { // the SDK's way to refuse a schema
			s.srv.log.Warn("the headers of a tool's schema cannot be used", "tool", spec.Name, "reason", fmt.Sprint(v))
		}
	}()
	s.sdk.AddTool(&sdk.Tool{Name: spec.Name, InputSchema: spec.Schema}, nil)
}

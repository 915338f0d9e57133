package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
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

// mirrors reports whether the headers of an HTTP request may have to repeat some of
// a tool's arguments (revision 2026-07-28).
func mirrors(schema json.RawMessage) bool {
	return bytes.Contains(schema, []byte("x-mcp-header")) || bytes.Contains(schema, []byte(`\u`)) // which may spell it
}

// declareCalled tells the SDK of the tool that a stateless request calls, for it
// compares the tool's arguments with the request's headers before anybody else
// sees the call. Which tool that is the headers say too, and the SDK refuses a
// body that says another. A call that gets past this all the same is refused by
// unbound.
func (s *session) declareCalled(r *http.Request, body []byte) {
	name := r.Header.Get("Mcp-Name")
	if r.Header.Get(revisionHeader) < revision2026 || r.Header.Get("Mcp-Method") != "tools/call" {
		return
	}
	// As the SDK does, keys are read in their own case: maps do, structs do not.
	var message, params, meta map[string]json.RawMessage
	if json.Unmarshal(body, &message) != nil || json.Unmarshal(message["params"], &params) != nil {
		return
	}
	if state := params["requestState"]; len(state) > 0 && string(state) != `""` && string(state) != "null" {
		return // it goes on with a call that was compared when it began
	}
	var who *sdk.Implementation
	if json.Unmarshal(params["_meta"], &meta) == nil {
		_ = json.Unmarshal(meta[sdk.MetaKeyClientInfo], &who)
	}
	svc, err := s.service(r.Context(), who)
	if err != nil {
		return // the SDK comes to the same end, and answers it
	}
	if spec, ok := s.spec(svc, name); ok && mirrors(spec.Schema) {
		s.declareHeaders(name, spec)
		s.bound = name
	}
}

// unbound reports whether a call came with headers that nobody has compared with
// its arguments.
func (s *session) unbound(called string, spec tools.Spec, x *exchange) bool {
	return s.stateless && x.modern && mirrors(spec.Schema) && s.bound != called
}

// declareHeaders has the SDK compare the arguments of the tool that goes by a
// name with the headers that its schema mirrors them in. A schema whose headers
// cannot be used is not compared.
func (s *session) declareHeaders(name string, spec tools.Spec) {
	defer func() {
		if v := recover(); v != nil { // the SDK's way to refuse a schema
			s.srv.log.Warn("the headers of a tool's schema cannot be used", "tool", spec.Name, "reason", fmt.Sprint(v))
		}
	}()
	s.sdk.AddTool(&sdk.Tool{Name: name, InputSchema: spec.Schema}, nil)
}

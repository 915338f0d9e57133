package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// declare returns the declaration of a tool in a revision of the protocol. A model
// receives it with every request, so it contains nothing twice. Schemas of other
// servers are passed on unchanged.
func declare(spec tools.Spec, revision string, outputs bool) *sdk.Tool {
	t := &sdk.Tool{
		Name:        spec.Name,
		Title:       title(spec),
		Description: spec.Description,
		InputSchema: anyObject,
		Annotations: annotate(spec),
	}
	switch {
	case spec.Origin.Server != "":
	case revision >= "2025-06-18":
		t.Annotations.Title = ""
	default:
		t.Title = "" // it is not defined there
	}
	if len(spec.Schema) > 0 {
		t.InputSchema = spec.Schema
		if spec.Origin.Server == "" {
			t.InputSchema = open(spec.Schema)
		}
	}
	if outputs && len(spec.OutputSchema) > 0 && (revision >= revision2026 || ofObjects(spec.OutputSchema)) {
		t.OutputSchema = spec.OutputSchema
	}
	return t
}

// title returns the display name of a tool, or "" if it only repeats the name.
func title(spec tools.Spec) string {
	letters := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", " ", "").Replace(s)) }
	if letters(spec.DisplayName) == letters(spec.Name) {
		return ""
	}
	return spec.DisplayName
}

// open returns a schema without the statement that other properties are invalid: a
// call with others is refused with their names.
func open(schema json.RawMessage) json.RawMessage {
	const closed = `"additionalProperties":false`
	for _, part := range []string{closed + ",", "," + closed} { // in a text the quotes are escaped
		schema = bytes.ReplaceAll(schema, []byte(part), nil)
	}
	return schema
}

// ofObjects reports whether a schema has the type object, as revisions before
// 2026-07-28 require of output schemas.
func ofObjects(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// annotate returns the annotations of a tool: those of its own server, or else
// those derived from its Spec.
func annotate(spec tools.Spec) *sdk.ToolAnnotations {
	a := &sdk.ToolAnnotations{Title: title(spec)}
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
	// For the kind other, only declared effects allow a conclusion.
	a.ReadOnlyHint = !spec.Mutates() && (spec.Kind != tools.KindOther || len(spec.Effects) > 0)
	if spec.Kind.Mutates() {
		a.DestructiveHint = ptr(true)
	}
	// The default of openWorldHint is true. A process may reach anything, and so may a tool without declared effects.
	reaches := []tools.Kind{tools.KindFetch, tools.KindExecute, tools.KindOther}
	if !slices.Contains(reaches, spec.Kind) && !slices.Contains(spec.Effects, tools.EffectNetwork) && !slices.Contains(spec.Effects, tools.EffectRunProcess) {
		a.OpenWorldHint = ptr(false)
	}
	return a
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }

// mirrors reports whether the headers of an HTTP request may have to repeat some
// of a tool's arguments (revision 2026-07-28).
func mirrors(schema json.RawMessage) bool {
	return bytes.Contains(schema, []byte("x-mcp-header")) || bytes.Contains(schema, []byte(`\u`)) // an escape may disguise the keyword
}

// declareCalled registers with the SDK the tool that a stateless request calls,
// because the SDK compares the tool's arguments with the request's headers before
// any middleware runs. The headers name the tool as well, and the SDK refuses a
// body that differs. unbound refuses a call that passes in spite of this.
func (s *session) declareCalled(r *http.Request, body []byte) {
	name := r.Header.Get("Mcp-Name")
	if r.Header.Get(revisionHeader) < revision2026 || r.Header.Get("Mcp-Method") != "tools/call" {
		return
	}
	// Keys are case-sensitive, as in the SDK: maps compare them exactly, structs
	// do not.
	var message, params, meta map[string]json.RawMessage
	if json.Unmarshal(body, &message) != nil || json.Unmarshal(message["params"], &params) != nil {
		return
	}
	if state := params["requestState"]; len(state) > 0 && string(state) != `""` && string(state) != "null" {
		return // it continues a call that was compared when it began
	}
	var who *sdk.Implementation
	if json.Unmarshal(params["_meta"], &meta) == nil {
		_ = json.Unmarshal(meta[sdk.MetaKeyClientInfo], &who)
	}
	svc, err := s.service(r.Context(), who)
	if err != nil {
		return // the SDK finds the same mistake and answers it
	}
	if spec, ok := s.spec(svc, name); ok && mirrors(spec.Schema) {
		s.declareHeaders(name, spec)
		s.bound = name
	}
}

// unbound reports whether a call has headers that were not compared with its
// arguments.
func (s *session) unbound(called string, spec tools.Spec, x *exchange) bool {
	return s.stateless && x.modern && mirrors(spec.Schema) && s.bound != called
}

// declareHeaders makes the SDK compare the arguments of the named tool with the
// headers that its schema requires. A schema with invalid headers is not
// compared.
func (s *session) declareHeaders(name string, spec tools.Spec) {
	defer func() {
		if v := recover(); v != nil { // the SDK panics on an invalid schema
			s.srv.log.Warn("the headers of a tool's schema are invalid", "tool", spec.Name, "reason", fmt.Sprint(v))
		}
	}()
	s.sdk.AddTool(&sdk.Tool{Name: name, InputSchema: spec.Schema}, nil)
}

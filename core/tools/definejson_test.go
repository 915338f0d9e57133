package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// echoed runs a tool that returns its arguments.
func echoed(_ context.Context, args json.RawMessage, out tools.Output) (tools.Result, error) {
	out.Write("live")
	return tools.Result{LLMContent: tools.Text(string(args)), Structured: args}, nil
}

func foreign(schema string) tools.Spec {
	return tools.Spec{
		Name: "mcp_s_echo", Description: "Echoes.", Kind: tools.KindOther, Schema: json.RawMessage(schema),
		Origin: tools.Origin{Group: tools.GroupMCP, Server: "s", Tool: "echo"},
	}
}

// whole has keywords of draft 2020-12 that a struct cannot express.
const whole = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://example.com/schemas/person",
  "type": "object",
  "$defs": {"address": {"$anchor": "addr", "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
  "properties": {"name": {"type": "string"}, "home": {"$ref": "#/$defs/address"}, "work": {"$ref": "#addr"},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}},
  "dependentRequired": {"work": ["home"]},
  "if": {"required": ["pair"]}, "then": {"required": ["name"]},
  "unevaluatedProperties": false
}`

// EX-16: a schema of draft 2020-12 is kept completely and checked as such.
func TestDefineJSON(t *testing.T) {
	tool, err := tools.DefineJSON(foreign(whole), echoed)
	require.NoError(t, err)
	require.Equal(t, whole, string(tool.Spec().Schema))
	require.Equal(t, whole, string(tool.Spec().Declaration().Parameters))
	for args, want := range map[string]string{ // the canonical arguments, or after ! a part of the error
		`{"name":"a"}`:                     `{"name":"a"}`,
		`{}`:                               `{}`,
		``:                                 `{}`,
		`{"home":{"city":"x","more":1.0}}`: `{"home":{"city":"x","more":1}}`,
		`{"home":{}}`:                      `!home: the required key "city" is missing.`,
		`{"work":{"city":"x"}}`:            `!home`,
		`{"work":{},"home":{"city":"x"}}`:  `!work`,
		`{"pair":["a","1"],"name":"n"}`:    `{"name":"n","pair":["a",1]}`,
		`{"pair":["a",1]}`:                 `!name`,
		`{"pair":["a",1,2],"name":"n"}`:    `!pair`,
		`{"other":1}`:                      `!other`,
		`{"name":"a","name":"b"}`:          `!twice`,
		`{"name":"` + strings.Repeat("x", 3) + `"} extra`: `!not valid JSON`,
	} {
		inv, err := tool.Build(json.RawMessage(args))
		if refusal, bad := strings.CutPrefix(want, "!"); bad {
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), args)
			require.Contains(t, fault.As(err).Message, refusal, args)
			require.Contains(t, fault.As(err).Message, "The arguments of mcp_s_echo are invalid")
			continue
		}
		require.NoError(t, err, args)
		require.Equal(t, want, string(inv.Params()))
		live := ""
		r, err := inv.Execute(t.Context(), func(chunk string) { live += chunk })
		require.NoError(t, err)
		require.Equal(t, want, string(r.Structured))
		require.Equal(t, "live", live)
	}
}

func TestDefineJSONOptions(t *testing.T) {
	type out struct {
		N int `json:"n"`
	}
	spec := foreign(`{"type":"object"}`)
	spec.Annotations = map[string]any{"readOnlyHint": true}
	tool, err := tools.DefineJSON(spec, echoed, tools.WithOutputSchema[out](), tools.WithSpec(func(s *tools.Spec) { s.DisplayName = "Echo" }),
		tools.WithDescription(func(args json.RawMessage) string { return "echo " + string(args) }),
		tools.WithLocations(func(json.RawMessage) []tools.Location { return []tools.Location{{Path: "/a"}} }),
		tools.WithConfirmation(func(context.Context, json.RawMessage) (*tools.Confirmation, error) { return nil, tools.ErrWillRefuse }),
		tools.WithValidation(func(args json.RawMessage) error {
			if strings.Contains(string(args), "bad") {
				return errors.New("no bad words")
			}
			return nil
		}))
	require.NoError(t, err)
	spec.Annotations["readOnlyHint"] = false
	got := tool.Spec()
	require.Equal(t, map[string]any{"readOnlyHint": true}, got.Annotations, "a copy")
	require.Equal(t, "Echo", got.DisplayName)
	require.JSONEq(t, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`, string(got.OutputSchema))
	inv, err := tool.Build(json.RawMessage(`{"x": 1}`))
	require.NoError(t, err)
	require.Equal(t, `echo {"x":1}`, inv.Description())
	require.Equal(t, []tools.Location{{Path: "/a"}}, inv.Locations())
	_, err = inv.Confirmation(t.Context())
	require.ErrorIs(t, err, tools.ErrWillRefuse)
	_, err = tool.Build(json.RawMessage(`{"x":"bad"}`))
	require.Equal(t, "no bad words", fault.As(err).Message)

	renamed := tools.Rename(tool, "other")
	_, err = renamed.Build(json.RawMessage(`[]`))
	require.Contains(t, fault.As(err).Message, "The arguments of other are invalid")
}

// An invalid tool is refused, and references read neither disk nor network.
func TestDefineJSONRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("requested %s", r.URL) }))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"object"}`), 0o600))
	for name, tt := range map[string]struct {
		change func(s *tools.Spec)
		want   string
	}{
		"name":           {func(s *tools.Spec) { s.Name = "a b" }, `"a b"`},
		"description":    {func(s *tools.Spec) { s.Description = "" }, "no description"},
		"no JSON":        {func(s *tools.Spec) { s.Schema = json.RawMessage(`{`) }, "not valid JSON"},
		"no object":      {func(s *tools.Spec) { s.Schema = json.RawMessage(`[]`) }, "must be a JSON object"},
		"not an object":  {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":"string"}`) }, "type must be"},
		"keyword":        {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":"object","properties":7}`) }, "properties"},
		"duplicate":      {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":"object","type":"object"}`) }, "twice"},
		"net":            {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"$ref":"` + server.URL + `/s"}`) }, "leads out of the schema"},
		"disk":           {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"$ref":"file://` + file + `"}`) }, "leads out of the schema"},
		"net by $schema": {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"$schema":"` + server.URL + `/s"}`) }, "leads out of the schema"},
		"endless":        {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"$ref":"#"}`) }, "is invalid"},
		"output":         {func(s *tools.Spec) { s.OutputSchema = json.RawMessage(`{"type":"nothing"}`) }, "type"},
		"output by net":  {func(s *tools.Spec) { s.OutputSchema = json.RawMessage(`{"$ref":"` + server.URL + `/s"}`) }, "leads out of the schema"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := foreign(`{"type":"object"}`)
			tt.change(&spec)
			_, err := tools.DefineJSON(spec, echoed)
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.Contains(t, err.Error(), tt.want)
		})
	}
	_, err := tools.DefineJSON(foreign(`{"type":"object"}`), nil)
	require.ErrorContains(t, err, "no run function")
	_, err = tools.DefineJSON(foreign(`{"type":"object"}`), echoed, tools.WithDescription(func(int) string { return "" }))
	require.ErrorContains(t, err, "WithDescription")
	_, err = tools.DefineJSON(foreign(`{"type":"object"}`), echoed, tools.WithStreaming(echoed))
	require.ErrorContains(t, err, "WithStreaming")
	_, err = tools.DefineJSON(foreign(`{"type":"object"}`), echoed, tools.WithOutputSchema[int]())
	require.ErrorContains(t, err, "must be a struct")
}

func TestFits(t *testing.T) {
	s, err := tools.ParseOutputSchema("t", json.RawMessage(`{"type":"array","items":{"type":"integer"}}`))
	require.NoError(t, err)
	require.NoError(t, s.Fits(json.RawMessage(`[1, 2.0]`)))
	for document, want := range map[string]string{`["1"]`: "[0]: expected integer", `{}`: "expected array", `[`: "not valid JSON", ``: "not valid JSON"} {
		require.ErrorContains(t, s.Fits(json.RawMessage(document)), want, "nothing is repaired")
	}
}

// EX-16: a tool of a server may use patterns that JavaScript accepts and Go does not. The rest of its schema applies.
func TestForeignPatterns(t *testing.T) {
	const email = `^(?!\\.)[a-z.]+@[a-z.]+$`
	schema := `{"type":"object","properties":{
		"mail":{"type":"string","pattern":"` + email + `","minLength":3},
		"word":{"type":"string","pattern":"^[a-z]+$"},
		"list":{"type":"array","items":{"anyOf":[{"type":"string","pattern":"(?=a)"},{"type":"integer"}]}},
		"pattern":{"type":"string","const":"(?=a)"},
		"map":{"type":"object","patternProperties":{"^(?<n>a)\\k<n>$":{"type":"integer"},"^b$":{"type":"integer"}},"additionalProperties":false},
		"ref":{"$ref":"#/$defs/d"}},
		"$defs":{"d":{"type":"string","pattern":"(?<!x)y"}},"additionalProperties":false}`
	tool, err := tools.DefineJSON(foreign(schema), echoed)
	require.NoError(t, err)
	require.Equal(t, schema, string(tool.Spec().Schema))
	for args, fits := range map[string]bool{
		`{"mail":"a@b"}`: true, `{"mail":".@b"}`: true, `{"mail":"a"}`: false, `{"mail":7.5e300}`: false,
		`{"word":"a"}`: true, `{"word":"A"}`: false,
		`{"list":["x",1]}`: true, `{"list":[1.5]}`: false,
		`{"pattern":"(?=a)"}`: true, `{"pattern":"b"}`: false,
		`{"map":{"aa":"x","b":1}}`: true, `{"map":{"b":"x"}}`: false,
		`{"ref":"z"}`: true, `{"ref":[]}`: false, `{"more":1}`: false,
	} {
		_, err := tool.Build(json.RawMessage(args))
		require.Equal(t, fits, err == nil, "%s: %v", args, err)
	}
	for _, part := range []string{ // the server checks what only the pattern refused
		`"not":{"properties":{"x":{"pattern":"(?=a)"}}}`,
		`"not":{"$ref":"#/$defs/bad"}`,
		`"oneOf":[{"properties":{"x":{"pattern":"(?=a)"}}},{"properties":{"x":{"minLength":1}}}]`,
		`"oneOf":[{"$ref":"#/$defs/bad"},{"required":["x"]}]`,
		`"if":{"$ref":"#/$defs/bad"},"then":{"required":["y"]}`,
		`"properties":{"l":{"contains":{"pattern":"(?=a)"},"maxContains":0}}`,
		`"patternProperties":{"(?=a)":{"type":"integer"}},"additionalProperties":false`,
		`"allOf":[{"patternProperties":{"(?=a)":{"type":"integer"}}}],"unevaluatedProperties":false`,
		`"propertyNames":{"pattern":"(?=a)"}`,
		`"dependentSchemas":{"x":{"properties":{"x":{"pattern":"(?=a)"}}}}`,
	} {
		tool, err := tools.DefineJSON(foreign(`{"type":"object",`+part+`,"$defs":{"bad":{"properties":{"x":{"pattern":"(?=a)"}}}}}`), echoed)
		require.NoError(t, err)
		_, err = tool.Build(json.RawMessage(`{"x":"a b","l":["q"]}`))
		require.NoError(t, err, part)
	}
	own := foreign(schema)
	own.Origin = tools.Origin{}
	_, err = tools.DefineJSON(own, echoed)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "a mistake in a built-in tool is reported")
}

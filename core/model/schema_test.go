package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

var dialects = []model.Dialect{model.DialectGemini, model.DialectOpenAI, model.DialectAnthropic}

func TestAdaptSchema(t *testing.T) {
	tests := map[string]struct {
		in      string
		dialect model.Dialect
		want    string
	}{
		"nothing":                            {``, model.DialectOpenAI, `{"type":"object","properties":{}}`},
		"a boolean":                          {`true`, model.DialectOpenAI, `{"type":"object","properties":{}}`},
		"no type":                            {`{"properties":{"a":{}}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{}}}`},
		"comments go":                        {`{"$schema":"s","$id":"i","$comment":"c","x-mine":1,"type":"object","properties":{}}`, model.DialectOpenAI, `{"type":"object","properties":{}}`},
		"names are no keywords":              {`{"properties":{"$id":{"type":"string"},"$ref":{"type":"string"},"title":{"type":"string"}}}`, model.DialectGemini, `{"type":"object","properties":{"$id":{"type":"string"},"$ref":{"type":"string"},"title":{"type":"string"}}}`},
		"data is not a schema":               {`{"properties":{"a":{"default":{"$ref":"#/x"},"const":{"$id":1}}}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{"default":{"$ref":"#/x"},"const":{"$id":1}}}}`},
		"numbers keep digits":                {`{"properties":{"a":{"maximum":9007199254740993,"multipleOf":0.10}}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{"maximum":9007199254740993,"multipleOf":0.10}}}`},
		"references":                         {`{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a","description":"d"},"y":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`, model.DialectOpenAI, `{"type":"object","properties":{"x":{"type":"string","description":"d"},"y":{"type":"array","items":{"type":"string"}}}}`},
		"a reference at the top":             {`{"$ref":"#/definitions/P","definitions":{"P":{"type":"object","properties":{"a":{}}}}}`, model.DialectAnthropic, `{"type":"object","properties":{"a":{}}}`},
		"escaped references":                 {`{"$defs":{"a/b~c":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a~1b~0c"}}}`, model.DialectOpenAI, `{"type":"object","properties":{"x":{"type":"string"}}}`},
		"recursion":                          {`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"properties":{"x":{"$ref":"#/$defs/n"}}}`, model.DialectOpenAI, `{"type":"object","properties":{"x":{"type":"object","properties":{"next":{"type":"object"}}}}}`},
		"recursion of the root":              {`{"type":"object","properties":{"next":{"$ref":"#"}}}`, model.DialectOpenAI, `{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object"}}}}}`},
		"a circle":                           {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, model.DialectOpenAI, `{"type":"object","properties":{"x":{"type":"object"}}}`},
		"items are demanded":                 {`{"properties":{"a":{"type":"array"}}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`},
		"older tuples":                       {`{"properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{"type":"array","items":{},"prefixItems":[{"type":"string"}]}}}`},
		"anyOf at the top":                   {`{"anyOf":[{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"a":{"type":"number"},"c":{}},"required":["a"]}]}`, model.DialectAnthropic, `{"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{}},"required":["a"]}`},
		"allOf at the top":                   {`{"properties":{"a":{}},"required":["a"],"allOf":[{"properties":{"b":{}},"required":["b"]}]}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`},
		"conditions at the top":              {`{"type":"object","properties":{"a":{}},"not":{"required":["a"]},"if":{},"then":{},"else":{}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{}}}`},
		"nullable object":                    {`{"type":["object","null"]}`, model.DialectOpenAI, `{"type":"object","properties":{}}`},
		"closed":                             {`{"type":"object","properties":{},"additionalProperties":false}`, model.DialectGemini, `{"type":"object","properties":{},"additionalProperties":false}`},
		"gemini: const":                      {`{"properties":{"a":{"const":"x"},"b":{"const":true}}}`, model.DialectGemini, `{"type":"object","properties":{"a":{"enum":["x"]},"b":{}}}`},
		"gemini: oneOf, allOf":               {`{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]},"b":{"allOf":[{"type":"object","properties":{"c":{}},"required":["c"]}]}}}`, model.DialectGemini, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"object","properties":{"c":{}},"required":["c"]}}}`},
		"gemini: enum":                       {`{"properties":{"a":{"enum":["x","",null,1,true]},"b":{"enum":[""]}}}`, model.DialectGemini, `{"type":"object","properties":{"a":{"enum":["x",1]},"b":{}}}`},
		"gemini: required":                   {`{"properties":{"a":{}},"required":["a","b"]}`, model.DialectGemini, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		"gemini: formats":                    {`{"properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"}}}`, model.DialectGemini, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","format":"date-time"}}}`},
		"gemini: other keywords are dropped": {`{"properties":{"a":{"type":"string","pattern":"^a","minLength":1,"not":{},"exclusiveMinimum":0,"examples":["x"]}},"patternProperties":{"^x":{}}}`, model.DialectGemini, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"openai keeps them":                  {`{"properties":{"a":{"type":"string","pattern":"^a","minLength":1,"const":true}}}`, model.DialectOpenAI, `{"type":"object","properties":{"a":{"type":"string","pattern":"^a","minLength":1,"const":true}}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := strings.Clone(tt.in)
			got, err := model.AdaptSchema(json.RawMessage(tt.in), tt.dialect)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
			if strings.Contains(tt.in, "9007199254740993") {
				require.Contains(t, string(got), "9007199254740993")
			}
			require.Equal(t, before, tt.in)
			again, err := model.AdaptSchema(got, tt.dialect)
			require.NoError(t, err)
			require.Equal(t, string(got), string(again), "a converted schema stays unchanged")
		})
	}
}

func TestAdaptSchemaErrors(t *testing.T) {
	for _, in := range []string{
		`{`, `{} {}`, `[]`, `"x"`, `5`, `null`, `{"type":"string"}`, `{"type":["string"]}`, `{"type":5}`, `{"properties":[]}`, `{"properties":{"a":5}}`, `{"anyOf":{}}`,
		`{"properties":{"a":{"required":[{}]}}}`, `{"required":"a"}`,
		`{"properties":{"a":{"$ref":"https://example.com/x"}}}`, `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"properties":{"a":{"$ref":"other.json#/x"}}}`, `{"$ref":5}`, `{"$ref":"#anchor"}`,
	} {
		for _, d := range dialects {
			_, err := model.AdaptSchema(json.RawMessage(in), d)
			require.Error(t, err, "%s %s", d, in)
		}
	}
}

// References that name each other repeatedly do not grow without limit.
func TestAdaptSchemaIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$defs":{"d0":{"type":"string"}`)
	for i := range 60 {
		fmt.Fprintf(&b, `,"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i+1, i, i)
	}
	b.WriteString(`},"properties":{"x":{"$ref":"#/$defs/d60"}}}`)
	for _, d := range dialects {
		got, err := model.AdaptSchema(json.RawMessage(b.String()), d)
		require.NoError(t, err)
		require.Less(t, len(got), 2<<20)
		again, err := model.AdaptSchema(json.RawMessage(b.String()), d)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))
	}
}

func TestAdaptTools(t *testing.T) {
	tools := []model.Tool{{Name: "a", Description: "d", Parameters: json.RawMessage(`{"$id":"x","type":"object"}`)}, {Name: "b"}}
	got, err := model.AdaptTools(tools, model.DialectOpenAI)
	require.NoError(t, err)
	require.Equal(t, []model.Tool{
		{Name: "a", Description: "d", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
		{Name: "b", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
	}, got)
	require.JSONEq(t, `{"$id":"x","type":"object"}`, string(tools[0].Parameters), "the tools are not changed")

	for name, bad := range map[string]model.Tool{
		"bad.name":              {Name: "bad.name"},
		"a":                     {Name: "a"},
		"bad_schema":            {Name: "bad_schema", Parameters: json.RawMessage(`{"type":"string"}`)},
		strings.Repeat("x", 65): {Name: strings.Repeat("x", 65)},
	} {
		_, err := model.AdaptTools(append(tools[:2:2], bad), model.DialectGemini)
		var e *model.Error
		require.True(t, errors.As(err, &e))
		require.Equal(t, model.InvalidRequest, e.Kind)
		require.Equal(t, "gemini", e.Provider)
		require.Contains(t, e.Message, name)
	}
}

func FuzzAdaptSchema(f *testing.F) {
	for _, s := range []string{
		``, `true`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"properties":{"a":{"items":[{}]}},"required":["a"]}`,
		`{"anyOf":[true,{"required":["x"]}],"oneOf":[],"enum":[{}],"const":[],"type":["object"]}`, `{"properties":{"a":{"allOf":[{"properties":{"b":{}}},{"enum":[1]}],"format":{}}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, d := range dialects {
			got, err := model.AdaptSchema(json.RawMessage(in), d)
			if err != nil {
				continue
			}
			var s struct {
				Type  string `json:"type"`
				AnyOf any    `json:"anyOf"`
			}
			require.NoError(t, json.Unmarshal(got, &s))
			require.Equal(t, "object", s.Type)
			require.Nil(t, s.AnyOf)
			again, err := model.AdaptSchema(got, d)
			require.NoError(t, err)
			require.Equal(t, string(got), string(again))
		}
	})
}

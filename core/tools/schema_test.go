package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

type line struct {
	Old string `json:"old" jsonschema_description:"Text to find."`
	New string `json:"new,omitempty" jsonschema_description:"Text to put, <b>&</b> so on."`
	N   int    `json:"n,omitempty" jsonschema_description:"How often."`
}

// sample has every kind of parameter.
type sample struct {
	FilePath string         `json:"file_path" jsonschema:"minLength=1" jsonschema_description:"Path, absolute or not."`
	Limit    int            `json:"limit,omitempty" jsonschema:"minimum=1,maximum=2000" jsonschema_description:"Lines."`
	Ratio    float64        `json:"ratio,omitempty" jsonschema_description:"A ratio."`
	Deep     bool           `json:"deep,omitempty" jsonschema_description:"Go deep."`
	Mode     string         `json:"mode,omitempty" jsonschema:"enum=fast,enum=slow,default=fast" jsonschema_description:"How."`
	Paths    []string       `json:"paths,omitempty" jsonschema_description:"Paths."`
	Sizes    []int          `json:"sizes,omitempty" jsonschema_description:"Sizes."`
	Edits    []line         `json:"edits,omitempty" jsonschema_description:"Edits."`
	Only     *line          `json:"only,omitempty" jsonschema_description:"One edit."`
	Env      map[string]int `json:"env,omitempty" jsonschema_description:"Numbers."`
}

func sampleSchema(t testing.TB) *tools.Schema {
	t.Helper()
	s, err := tools.SchemaOf[sample]("sample")
	require.NoError(t, err)
	return s
}

// GO-03: the reflected schema is closed at every level, in the order of the fields, without superfluous keywords.
func TestSchemaOfGolden(t *testing.T) {
	lineSchema := `{"properties":{` +
		`"old":{"type":"string","description":"Text to find."},` +
		`"new":{"type":"string","description":"Text to put, <b>&</b> so on."},` +
		`"n":{"type":"integer","description":"How often."}},` +
		`"additionalProperties":false,"type":"object","required":["old"]`
	want := `{"properties":{` +
		`"file_path":{"type":"string","minLength":1,"description":"Path, absolute or not."},` +
		`"limit":{"type":"integer","maximum":2000,"minimum":1,"description":"Lines."},` +
		`"ratio":{"type":"number","description":"A ratio."},` +
		`"deep":{"type":"boolean","description":"Go deep."},` +
		`"mode":{"type":"string","enum":["fast","slow"],"description":"How.","default":"fast"},` +
		`"paths":{"items":{"type":"string"},"type":"array","description":"Paths."},` +
		`"sizes":{"items":{"type":"integer"},"type":"array","description":"Sizes."},` +
		`"edits":{"items":` + lineSchema + `},"type":"array","description":"Edits."},` +
		`"only":` + lineSchema + `,"description":"One edit."},` +
		`"env":{"additionalProperties":{"type":"integer"},"type":"object","description":"Numbers."}},` +
		`"additionalProperties":false,"type":"object","required":["file_path"]}`
	require.Equal(t, want, string(sampleSchema(t).Raw()))
	require.NoError(t, sampleSchema(t).Compile())
}

func TestSchemaOfEmptyStruct(t *testing.T) {
	s, err := tools.SchemaOf[struct{}]("none")
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{},"additionalProperties":false}`, string(s.Raw()))
	got, err := s.Check(nil)
	require.NoError(t, err)
	require.Equal(t, "{}", string(got))
}

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty"`
}

type mutual struct {
	Inner struct {
		Back map[string]*mutual `json:"back"`
	} `json:"inner"`
}

// A type for which the reflector panics, recurses without end or returns an incomplete schema is refused with the name
// of the field.
func TestSchemaOfRefuses(t *testing.T) {
	tests := map[string]struct {
		reflect func() (*tools.Schema, error)
		want    string
	}{
		"no struct":     {func() (*tools.Schema, error) { return tools.SchemaOf[[]string]("x") }, "must be a struct"},
		"pointer":       {func() (*tools.Schema, error) { return tools.SchemaOf[*line]("x") }, "must be a struct"},
		"recursion":     {func() (*tools.Schema, error) { return tools.SchemaOf[tree]("x") }, "the field Children has the type tools_test.tree, which contains itself"},
		"far recursion": {func() (*tools.Schema, error) { return tools.SchemaOf[mutual]("x") }, "the field Inner.Back"},
		"channel": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				Done chan int `json:"done"`
			}]("x")
		}, "the field Done has the type chan int"},
		"function in a list": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				Hooks []func() `json:"hooks"`
			}]("x")
		}, "the field Hooks has the type func()"},
		"map keys": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				M map[bool]int `json:"m"`
			}]("x")
		}, "the field M has keys of type bool"},
		"description cut at its comma": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				A string `json:"a" jsonschema:"description=first, then second"`
			}]("x")
		}, `the field A has the unknown keyword " then second"; descriptions with commas belong in the tag jsonschema_description`},
		"misspelt limit": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				A int `json:"a" jsonschema:"minumum=1"`
			}]("x")
		}, `the field A has the unknown keyword "minumum=1"`},
		"limit that is not a number": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				O struct {
					A int `json:"a" jsonschema:"minimum=one"`
				} `json:"o"`
			}]("x")
		}, `the field O.A sets minimum to "one", which is not a number`},
		"oneOf at the top": {func() (*tools.Schema, error) {
			return tools.SchemaOf[struct {
				A string `json:"a,omitempty" jsonschema:"oneof_required=a"`
			}]("x")
		}, "not supported at the top level"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tt.reflect()
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, `"x"`)
		})
	}
}

// Types with a schema or JSON encoding of their own are not reflected. A comma may be escaped.
func TestSchemaOfAccepts(t *testing.T) {
	type own struct {
		When    time.Time       `json:"when" jsonschema_description:"d"`
		Raw     json.RawMessage `json:"raw" jsonschema_description:"d"`
		Any     any             `json:"any" jsonschema_description:"d"`
		Bytes   []byte          `json:"bytes" jsonschema_description:"d"`
		Pattern string          `json:"pattern" jsonschema:"pattern=^a{1\\,2}$" jsonschema_description:"d"`
		ByID    map[int]string  `json:"by_id" jsonschema_description:"d"`
		Hidden  chan int        `json:"-"`
		inner   chan int
	}
	_ = own{}.inner
	s, err := tools.SchemaOf[own]("own")
	require.NoError(t, err)
	require.NoError(t, s.Compile())
	got, err := s.Check(json.RawMessage(`{"when":"2026-01-02T03:04:05Z","raw":[1],"any":{"b":1,"a":2},"bytes":"AA==","pattern":"aa","by_id":{"1":"x"}}`))
	require.NoError(t, err)
	require.Equal(t, `{"any":{"a":2,"b":1},"by_id":{"1":"x"},"bytes":"AA==","pattern":"aa","raw":[1],"when":"2026-01-02T03:04:05Z"}`, string(got))
}

// AR-13, and the safe repairs of invalid arguments.
func TestCheckAccepts(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"as declared":                {`{"limit":5,"file_path":"a"}`, `{"file_path":"a","limit":5}`},
		"integer as text":            {`{"file_path":"a","limit":"5"}`, `{"file_path":"a","limit":5}`},
		"integer as text, blanks":    {`{"file_path":"a","limit":" 5\n"}`, `{"file_path":"a","limit":5}`},
		"integral float":             {`{"file_path":"a","limit":5.0}`, `{"file_path":"a","limit":5}`},
		"integer with exponent":      {`{"file_path":"a","limit":1e3}`, `{"file_path":"a","limit":1000}`},
		"integral float as text":     {`{"file_path":"a","limit":"5.0"}`, `{"file_path":"a","limit":5}`},
		"number as text":             {`{"file_path":"a","ratio":"1.5"}`, `{"file_path":"a","ratio":1.5}`},
		"boolean as text":            {`{"file_path":"a","deep":"true"}`, `{"deep":true,"file_path":"a"}`},
		"boolean as Python text":     {`{"file_path":"a","deep":"False"}`, `{"deep":false,"file_path":"a"}`},
		"array as text":              {`{"file_path":"a","paths":"[\"x\",\"y\"]"}`, `{"file_path":"a","paths":["x","y"]}`},
		"array of numbers as text":   {`{"file_path":"a","sizes":"[1, 2]"}`, `{"file_path":"a","sizes":[1,2]}`},
		"one string for an array":    {`{"file_path":"a","paths":"x"}`, `{"file_path":"a","paths":["x"]}`},
		"a file named like an array": {`{"file_path":"a","paths":"[1]"}`, `{"file_path":"a","paths":["[1]"]}`},
		"a glob":                     {`{"file_path":"a","paths":"[ab]*.go"}`, `{"file_path":"a","paths":["[ab]*.go"]}`},
		"empty array as text":        {`{"file_path":"a","paths":"[]"}`, `{"file_path":"a","paths":[]}`},
		"object as text":             {`{"file_path":"a","only":"{\"old\":\"x\"}"}`, `{"file_path":"a","only":{"old":"x"}}`},
		"repairs within repairs":     {`{"file_path":"a","edits":"[\"{\\\"old\\\":\\\"x\\\",\\\"n\\\":\\\"3\\\"}\"]"}`, `{"edits":[{"n":3,"old":"x"}],"file_path":"a"}`},
		"all encoded twice":          {`"{\"file_path\":\"a\",\"limit\":\"7\"}"`, `{"file_path":"a","limit":7}`},
		"map values":                 {`{"file_path":"a","env":{"B":"2","A":1}}`, `{"env":{"A":1,"B":2},"file_path":"a"}`},
		"null for an optional key":   {`{"file_path":"a","limit":null,"paths":null,"edits":[{"old":"x","n":null}]}`, `{"edits":[{"old":"x"}],"file_path":"a"}`},
		// Valid arguments are never changed.
		"text that looks like more": {`{"file_path":"true","mode":"fast"}`, `{"file_path":"true","mode":"fast"}`},
		"no default is applied":     {`{"file_path":"a"}`, `{"file_path":"a"}`},
		"HTML and unicode":          {`{"file_path":"<a&b>\u00e9\u2028"}`, "{\"file_path\":\"<a&b>é\u2028\"}"},
	}
	s := sampleSchema(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := s.Check(json.RawMessage(tt.args))
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
			again, err := s.Check(got)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(again))
		})
	}
}

// AR-13: one readable error with path, expectation, value and that part of the schema.
func TestCheckRefuses(t *testing.T) {
	tests := map[string]struct {
		args string
		want []string
	}{
		"missing key": {`{}`, []string{`the required key "file_path" is missing`, `Its schema: {"description":"Path, absolute or not."`}},
		"fraction for an integer": {`{"file_path":"a","limit":1.5}`, []string{ // GO-03
			`limit: expected integer, got 1.5 (number).`, `"maximum":2000`}},
		"text for an integer":          {`{"file_path":"a","limit":"five"}`, []string{`limit: expected integer, got "five" (string).`}},
		"fraction as text":             {`{"file_path":"a","limit":"1.5"}`, []string{`limit: expected integer, got "1.5" (string).`}},
		"hexadecimal text":             {`{"file_path":"a","limit":"0x10"}`, []string{`limit: expected integer`}},
		"boolean for an integer":       {`{"file_path":"a","limit":true}`, []string{`limit: expected integer, got true (boolean).`}},
		"number for a boolean":         {`{"file_path":"a","deep":1}`, []string{`deep: expected boolean, got 1 (number).`}},
		"object for a string":          {`{"file_path":{"a":1}}`, []string{`file_path: expected string, got {"a":1} (object).`}},
		"boolean for a string":         {`{"file_path":true}`, []string{`file_path: expected string, got true (boolean).`}},
		"null for a required key":      {`{"file_path":null}`, []string{`file_path: expected string, got null (null).`}},
		"one number for an array":      {`{"file_path":"a","sizes":3}`, []string{`sizes: expected array, got 3 (number).`}},
		"text for an array of numbers": {`{"file_path":"a","sizes":"x"}`, []string{`sizes: expected array, got "x" (string).`}},
		"limit exceeded":               {`{"file_path":"a","limit":2001}`, []string{`limit: must be <= 2000 but found 2001`, `Its schema:`}},
		"limit exceeded as text":       {`{"file_path":"a","limit":"0"}`, []string{`limit: must be >= 1 but found 0`}},
		"too short":                    {`{"file_path":""}`, []string{`file_path: length must be >= 1, but got 0`}},
		"enum":                         {`{"file_path":"a","mode":"quick"}`, []string{`mode: expected one of ["fast","slow"], got "quick" (string).`}},
		"unknown key": {`{"file_path":"a","filepath":"b"}`, []string{
			`unknown key "filepath" (did you mean "file_path"?)`, `the declared keys are deep, edits, env, file_path, limit`}},
		"other case":                {`{"File_Path":"a"}`, []string{`unknown key "File_Path" (did you mean "file_path"?)`}},
		"no similar name":           {`{"file_path":"a","zzzzzzz":"b"}`, []string{`unknown key "zzzzzzz"; the declared keys`}},
		"nested unknown key":        {`{"file_path":"a","edits":[{"old":"x"},{"old":"x","newer":1}]}`, []string{`edits[1]: unknown key "newer" (did you mean "new"?)`}},
		"nested missing key":        {`{"file_path":"a","only":{}}`, []string{`only: the required key "old" is missing`}},
		"invalid key in a map":      {`{"file_path":"a","env":{"a b/c~d%20":"x"}}`, []string{`env["a b/c~d%20"]: expected integer, got "x" (string).`}},
		"no object":                 {`[1]`, []string{"must be one JSON object, not array"}},
		"text instead of an object": {`"text"`, []string{"must be one JSON object, not string"}},
		"no JSON":                   {`{"file_path":`, []string{"not valid JSON", "unexpected end"}},
		"two objects":               {`{"file_path":"a"}{"file_path":"a"}`, []string{"not valid JSON", "after top-level value"}},
		"a key twice":               {`{"file_path":"a","file_path":"b"}`, []string{`the key "file_path" occurs twice`}},
		"a key twice, in text":      {`{"file_path":"a","only":"{\"old\":\"a\",\"old\":\"b\"}"}`, []string{"only: expected object, got"}},
		"invalid UTF-8":             {"{\"file_path\":\"\xff\"}", []string{"not valid UTF-8 at byte 14"}},
		"too deep":                  {`{"file_path":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, []string{"nested deeper than 200"}},
		"exponent":                  {`{"file_path":"a","ratio":1e9999999}`, []string{"exponent beyond 400"}},
		"exponent in text":          {`{"file_path":"a","ratio":"1e9999999"}`, []string{`ratio: expected number, got "1e9999999" (string).`}},
		"several, sorted": {`{"limit":"x","deep":"y","edits":[{"old":[]},7],"zz":1}`, []string{
			`6 mistakes.`, "\n- unknown key \"zz\";", "\n- the required key", "\n- deep: expected boolean",
			"\n- edits[0].old: expected string", "\n- edits[1]: expected object"}},
		"many": {`{"file_path":"a","sizes":["a","b","c","d","e","f","g"]}`, []string{
			`7 mistakes.`, "\n- sizes[4]: expected integer, got \"e\"", "\n- and 2 more"}},
	}
	s := sampleSchema(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Check(json.RawMessage(tt.args))
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
			f := fault.As(err)
			require.True(t, strings.HasPrefix(f.Message, "The arguments of sample are invalid: "), f.Message)
			require.NotEmpty(t, f.Remedy)
			require.Equal(t, 1, strings.Count(strings.ToLower(f.Message), "the arguments"), f.Message)
			for _, want := range tt.want {
				require.Contains(t, f.Message, want)
			}
			for range 5 { // the validator reports in random order
				_, again := s.Check(json.RawMessage(tt.args))
				require.Equal(t, err.Error(), again.Error())
			}
		})
	}
}

// Messages are short for any value.
func TestCheckClips(t *testing.T) {
	long := strings.Repeat("é", 100000)
	for _, args := range []string{
		`{"file_path":{"a":"` + long + `"}}`,
		`{"` + long + `":1}`,
		`{"file_path":"a","env":{"` + long + `":"x"}}`,
		`{"file_path":"a","limit":"` + long + `"}`,
	} {
		_, err := sampleSchema(t).Check(json.RawMessage(args))
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
		require.Less(t, len(fault.As(err).Message), 1500)
	}
}

func TestCheckEmpty(t *testing.T) {
	s, err := tools.SchemaOf[struct {
		A int `json:"a,omitempty"`
	}]("x")
	require.NoError(t, err)
	for _, args := range []string{"", "null", "{}", " { } ", " null", `"{}"`, `"null"`} {
		got, err := s.Check(json.RawMessage(args))
		require.NoError(t, err, args)
		require.Equal(t, "{}", string(got), args)
	}
}

// Digits are preserved: no number is converted to a float.
func TestCheckKeepsDigits(t *testing.T) {
	s, err := tools.ParseSchema("x", json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"type":"number"}}}`))
	require.NoError(t, err)
	got, err := s.Check(json.RawMessage(`{"n":"9007199254740993","x":0.1000000000000000055511151231257827,"more":[9007199254740993]}`))
	require.NoError(t, err)
	require.Equal(t, `{"more":[9007199254740993],"n":9007199254740993,"x":0.1000000000000000055511151231257827}`, string(got))
}

// Alternatives: a value is repaired only if there is one interpretation.
func TestCheckAlternatives(t *testing.T) {
	s, err := tools.ParseSchema("x", json.RawMessage(`{"type":"object","properties":{
		"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"pair":{"type":["integer","boolean"]},
		"two":{"oneOf":[{"type":"array","items":{"type":"string"}},{"type":"integer"}]},
		"objects":{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"type":"integer"}]}},
		"additionalProperties":false}`))
	require.NoError(t, err)
	accepted := map[string]string{
		`{"maybe":"5"}`:           `{"maybe":5}`,
		`{"maybe":null}`:          `{"maybe":null}`,
		`{"pair":"true"}`:         `{"pair":true}`,
		`{"pair":"7"}`:            `{"pair":7}`,
		`{"two":"x"}`:             `{"two":["x"]}`,
		`{"objects":"{\"a\":1}"}`: `{"objects":{"a":1}}`,
	}
	for args, want := range accepted {
		got, err := s.Check(json.RawMessage(args))
		require.NoError(t, err, args)
		require.Equal(t, want, string(got))
	}
	for _, args := range []string{`{"two":"5"}`, `{"two":true}`, `{"maybe":"x"}`, `{"objects":{"b":1}}`} {
		_, err := s.Check(json.RawMessage(args))
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), args)
		require.Contains(t, fault.As(err).Message, "Its schema: {", args)
	}
}

func TestParseSchema(t *testing.T) {
	s, err := tools.ParseSchema("x", json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://a/b",
		"properties":{"z":{"$ref":"#/definitions/n"},"a":{"type":"string","description":"<>"}}, "type":"object","definitions":{"n":{"type":"integer"}}}`))
	require.NoError(t, err)
	require.Equal(t, `{"properties":{"z":{"$ref":"#/definitions/n"},"a":{"type":"string","description":"<>"}},"type":"object","definitions":{"n":{"type":"integer"}}}`, string(s.Raw()))
	got, err := s.Check(json.RawMessage(`{"z":"3","open":true}`))
	require.NoError(t, err)
	require.Equal(t, `{"open":true,"z":3}`, string(got))
	_, err = s.Check(json.RawMessage(`{"z":"x"}`))
	require.ErrorContains(t, err, `z: expected integer, got "x" (string). Its schema: {"type":"integer"}`)

	empty, err := tools.ParseSchema("x", nil)
	require.NoError(t, err)
	got, err = empty.Check(json.RawMessage(`{"b":1,"a":[]}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":[],"b":1}`, string(got))
}

func TestParseSchemaRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                "not valid JSON",
		`[]`:               "must be a JSON object, not array",
		`true`:             "must be a JSON object, not boolean",
		`{"type":"array"}`: `its type must be "object"`,
		`{"type":"object","properties":{"a":{"enum":[1e9999999]}}}`:      "exponent beyond 400",
		`{"type":"object","properties":{"a":{"multipleOf":1e-9999999}}}`: "exponent beyond 400",
		`{"type":"object","properties":{"a":{"minimum":1e999999}}}`:      "exponent beyond 400",
		`{"type":"object","type":"array"}`:                               `the key "type" occurs twice`,
	} {
		_, err := tools.ParseSchema("server_tool", json.RawMessage(text))
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), text)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `"server_tool"`)
	}
}

// The error for an invalid schema names the place, at the first use and at every other.
func TestCompileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","properties":{"size":{"minimum":"one"}}}`:      "at properties.size.minimum: expected number, but got string",
		`{"type":"object","properties":{"size":{"type":"int"}}}`:         "at properties.size.type",
		`{"type":"object","properties":{"name":{"pattern":"["}}}`:        "at properties.name.pattern",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/absent"}}}`: "not found",
		`{"$schema":"https://example.org/own","type":"object"}`:          "leads out of the schema",
		`{"type":"object","$ref":"https://example.org/x.json"}`:          "leads out of the schema",
	} {
		s, err := tools.ParseSchema("x", json.RawMessage(text))
		require.NoError(t, err, text)
		_, err = s.Check(nil)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), text)
		require.ErrorContains(t, err, want)
		require.Equal(t, err, s.Compile())
	}
}

// A reference to a file is refused, even if the file exists and would fit.
func TestCompileReadsNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"object"}`), 0o600))
	for _, ref := range []string{"file://" + file, "file:" + file, file, "../../../../../../../../.." + file} {
		text, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": ref}}})
		require.NoError(t, err)
		s, err := tools.ParseSchema("x", text)
		require.NoError(t, err)
		_, err = s.Check(json.RawMessage(`{"a":{}}`))
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), ref)
		require.ErrorContains(t, err, "leads out of the schema")
	}
}

// An endless reference is an error, not a stack overflow.
func TestEndlessReference(t *testing.T) {
	s, err := tools.ParseSchema("x", json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`))
	require.NoError(t, err)
	_, err = s.Check(json.RawMessage(`{"a":1}`))
	require.Error(t, err)

	// A recursive schema is valid if arguments end the recursion.
	s, err = tools.ParseSchema("x", json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}},"additionalProperties":false}`))
	require.NoError(t, err)
	got, err := s.Check(json.RawMessage(`{"next":{"next":{"n":"3"}}}`))
	require.NoError(t, err)
	require.Equal(t, `{"next":{"next":{"n":3}}}`, string(got))
	_, err = s.Check(json.RawMessage(`{"next":{"next":{"nn":3}}}`))
	require.ErrorContains(t, err, `next.next: unknown key "nn"`)
}

// Many goroutines share one schema, which is compiled once.
func TestCheckConcurrently(t *testing.T) {
	s := sampleSchema(t)
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := s.Check(json.RawMessage(`{"file_path":"a","limit":"5"}`))
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}

// AR-13: a number is not accepted as text, but a number sent as text is accepted as a number.
func TestCheckRefusesNumbersForText(t *testing.T) {
	s := sampleSchema(t)
	for _, args := range []string{`{"file_path":404}`, `{"file_path":1.50e1}`, `{"file_path":"a","paths":[1,"b"]}`} {
		_, err := s.Check(json.RawMessage(args))
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), args)
		require.ErrorContains(t, err, "expected string, got")
	}
}

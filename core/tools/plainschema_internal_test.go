package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Schemas classified as plain compile without an error.
func TestPlainSchemas(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"type":"object"}`: true, `{"type":["string","null"],"description":"x"}`: true,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maxLength":3},"b":true},"required":["a","b"],"additionalProperties":false}`: true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"enum":["x",1,null,true]}}}`:                          true,
		`{"anyOf":[{"pattern":"^a+$"},{"items":{"type":"string"},"uniqueItems":true}],"not":{"const":{"a":[]}},"default":1,"examples":[1]}`:            true,
		`{"type":"thing"}`: false, `{"type":[]}`: false, `{"type":["string","string"]}`: false, `{"type":1}`: false, `{"properties":[]}`: false, `{"properties":{"a":1}}`: false,
		`{"required":"a"}`: false, `{"required":["a","a"]}`: false, `{"required":[1]}`: false, `{"enum":[]}`: false, `{"enum":[1,1]}`: false, `{"enum":[1,1.0]}`: false, `{"enum":[0,-0]}`: false, `{"enum":[{}]}`: false, `{"anyOf":[]}`: false, `{"items":[{}]}`: false,
		`{"minLength":-1}`: false, `{"minLength":1.5}`: false, `{"minimum":"1"}`: false, `{"exclusiveMinimum":true}`: false, `{"pattern":"("}`: false, `{"$ref":"#/x"}`: false, `{"$schema":"http://json-schema.org/draft-04/schema#"}`: false,
		`{"description":1}`: false, `{"uniqueItems":"x"}`: false, `{"x-unknown":1}`: false, `{"format":1}`: false, `{"multipleOf":0}`: false,
	} {
		document, err := readJSON([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, plainSchema(document), text)
		s, err := ParseSchema("x", []byte(text))
		if err != nil {
			continue // not the schema of an object
		}
		probed := s.Probe()
		compiled := s.Compile()
		require.Equal(t, compiled == nil, probed == nil, "%s: %v %v", text, probed, compiled)
		if want {
			require.NoError(t, compiled, text)
		}
	}
}

// Every schema classified as plain compiles.
func FuzzPlainSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],"$schema":"http://json-schema.org/draft-07/schema#"}`)
	f.Add(`{"enum":[1,1.0]}`)
	f.Fuzz(func(t *testing.T, text string) {
		document, err := readJSON([]byte(text))
		if err != nil || !plainSchema(document) {
			return
		}
		if s, err := ParseSchema("x", []byte(text)); err == nil {
			if err := s.Compile(); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// A tool of a server needs little memory until it is called, because a server may have thousands: 3,000 tools took 240
// MB when each schema was compiled at once.
func TestManyTools(t *testing.T) {
	const many = 1000
	define := func(i int) DeclarativeTool {
		tool, err := DefineJSON(Spec{
			Name: fmt.Sprintf("mcp_big_tool_%d", i), Description: "Does a thing.", Kind: KindOther, Origin: Origin{Group: GroupMCP, Server: "big", Tool: fmt.Sprintf("tool_%d", i)},
			Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"path":{"type":"string","description":"The path %d"},"count":{"type":"integer","minimum":0},`+
				`"mode":{"type":"string","enum":["a","b"]},"nested":{"type":"object","properties":{"x":{"type":"number"}},"additionalProperties":false}},"required":["path"]}`, i)),
		}, func(context.Context, json.RawMessage, Output) (Result, error) { return Result{}, nil })
		require.NoError(t, err)
		return tool
	}
	all := make([]DeclarativeTool, 0, many)
	var before, made, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range many {
		all = append(all, define(i))
	}
	runtime.ReadMemStats(&made)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, (made.TotalAlloc-before.TotalAlloc)/many, uint64(20<<10), "bytes allocated for a definition")
	require.Less(t, int64(after.HeapAlloc-before.HeapAlloc)/many, int64(6<<10), "bytes kept for a tool")
	// Arguments are checked nevertheless.
	_, err := all[many-1].Build(json.RawMessage(`{"path":"a","count":-1}`))
	require.ErrorContains(t, err, "count")
	_, err = all[many-1].Build(json.RawMessage(`{"path":"a","count":1}`))
	require.NoError(t, err)
}

package main

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/tools"
)

// addSchemaTools adds tools with schemas that no Go struct can express: they are
// written as JSON and sent to clients unchanged.
func addSchemaTools(b *toolbox) {
	repeat := func(_ context.Context, args json.RawMessage, _ tools.Output) (tools.Result, error) {
		return say("It was called with " + string(args)), nil
	}
	b.add(tools.DefineJSON(tools.Spec{
		Name:        "json_schema_2020_12_tool",
		Description: "Takes a person's address, and how the person is reached; the schema uses what JSON Schema 2020-12 has for that.",
		Kind:        tools.KindRead,
		Parallel:    true,
		Schema: json.RawMessage(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"type": "object",
			"$defs": {"address": {
				"$anchor": "addressDef",
				"type": "object",
				"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {
				"name": {"type": "string"},
				"address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"},
				"email": {"type": "string"}},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]},
			"else": {"required": ["email"]},
			"additionalProperties": false}`),
	}, repeat))

	// The keyword x-mcp-header makes HTTP clients repeat the argument as a header of
	// the request, which proxies can read.
	b.add(tools.DefineJSON(tools.Spec{
		Name:        "test_x_mcp_header",
		Description: "Takes a region, which HTTP clients repeat in a header, and a level, which they do not.",
		Kind:        tools.KindRead,
		Parallel:    true,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"region": {"type": "string", "description": "Where the work is to be done.", "x-mcp-header": "Region"},
				"level": {"type": "integer", "description": "How thoroughly it is to be done."}},
			"additionalProperties": false}`),
	}, repeat))

	// The JSON of the result is for programs and fits the output schema; the text is
	// for models. Here the text is generated from the JSON.
	type weather struct {
		Temperature float64 `json:"temperature" jsonschema_description:"Degrees Celsius."`
		Conditions  string  `json:"conditions"`
	}
	b.add(tools.Define("test_structured_content", "Returns the weather of no place in particular, for programs too.", tools.KindRead,
		func(context.Context, none) (tools.Result, error) {
			content, err := tools.JSON(weather{22.5, "partly cloudy"})
			return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay("22.5 °C, partly cloudy")}, err
		}, tools.WithOutputSchema[weather](), tools.WithParallel()))
}

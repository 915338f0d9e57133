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
		return say("The arguments are " + string(args)), nil
	}
	b.add(tools.DefineJSON(tools.Spec{
		Name:        "json_schema_2020_12_tool",
		Description: "Takes an address and a contact method. The schema uses keywords of JSON Schema 2020-12.",
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
		Description: "Takes a region, which HTTP clients repeat in a header, and a level, which stays in the body.",
		Kind:        tools.KindRead,
		Parallel:    true,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"region": {"type": "string", "description": "Region of the work.", "x-mcp-header": "Region"},
				"level": {"type": "integer", "description": "Level of detail."}},
			"additionalProperties": false}`),
	}, repeat))

	// The JSON of the result is for programs and fits the output schema; the text is
	// for models. Here the text is generated from the JSON.
	type weather struct {
		Temperature float64 `json:"temperature" jsonschema_description:"Degrees Celsius."`
		Conditions  string  `json:"conditions"`
	}
	b.add(tools.Define("test_structured_content", "Returns the weather of an invented place, as text and as JSON.", tools.KindRead,
		func(context.Context, none) (tools.Result, error) {
			content, err := tools.JSON(weather{22.5, "partly cloudy"})
			return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay("22.5 °C, partly cloudy")}, err
		}, tools.WithOutputSchema[weather](), tools.WithParallel()))
}

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// addQuestionTools adds tools that send requests to their host for its model or its user. A host
// without an answer returns a fault.Error, which the tool returns.
func addQuestionTools(b *toolbox) {
	type prompt struct {
		Prompt string `json:"prompt" jsonschema_description:"The prompt for the host's model."`
	}
	b.add(tools.Define("test_sampling", "Asks the host's model to answer a prompt.", tools.KindCommunicate,
		func(ctx context.Context, p prompt) (tools.Result, error) {
			replies, err := host.FromContext(ctx).Ask(ctx, sample("answer", p.Prompt, 100))
			if err != nil {
				return tools.Result{}, err
			}
			return say("LLM response: " + replies[0].Sample.Content.String()), nil
		}))

	type message struct {
		Message string `json:"message" jsonschema_description:"The message to the user."`
	}
	b.add(tools.Define("test_elicitation", "Asks the user for a name and an address.", tools.KindCommunicate,
		func(ctx context.Context, p message) (tools.Result, error) {
			return fillIn(ctx, "user", p.Message, `{"type":"object","properties":{
				"username":{"type":"string","description":"The user's name."},
				"email":{"type":"string","format":"email","description":"The user's email address."}},
				"required":["username","email"]}`)
		}))

	// A field that the user omits has its default.
	b.add(tools.Define("test_elicitation_sep1034_defaults", "Shows the user a form with a default for each kind of field.", tools.KindCommunicate,
		func(ctx context.Context, _ none) (tools.Result, error) {
			return fillIn(ctx, "profile", "Please check the defaults.", `{"type":"object","properties":{
				"name":{"type":"string","default":"John Doe"},
				"age":{"type":"integer","default":30},
				"score":{"type":"number","default":95.5},
				"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
				"verified":{"type":"boolean","default":true}}}`)
		}))

	// The forms of choices: with and without titles, single and multiple.
	b.add(tools.Define("test_elicitation_sep1330_enums", "Shows the user a form of choices.", tools.KindCommunicate,
		func(ctx context.Context, _ none) (tools.Result, error) {
			return fillIn(ctx, "choices", "Please choose.", `{"type":"object","properties":{
				"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
				"titledSingle":{"type":"string","oneOf":[
					{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
				"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
				"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
				"titledMulti":{"type":"array","items":{"anyOf":[
					{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`)
		}))

	b.add(tools.Define("test_streaming_elicitation", "Reports progress, and then asks the user.", tools.KindCommunicate,
		func(ctx context.Context, _ none) (tools.Result, error) {
			host.FromContext(ctx).Progress(host.Progress{Done: 1, Total: 2, Message: "about to ask"})
			return fillIn(ctx, "confirm", "Continue the call?", okSchema)
		}))

	b.add(tools.Define("test_missing_capability", "Requires a host with a model, and returns an error to other hosts.", tools.KindCommunicate,
		func(ctx context.Context, _ none) (tools.Result, error) {
			if _, err := host.FromContext(ctx).Ask(ctx, sample("word", "Say a word.", 10)); err != nil {
				return tools.Result{}, err
			}
			return say("The host has a model."), nil
		}))
}

// The forms that several tools use.
const (
	nameSchema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	okSchema   = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
)

// fillIn shows the user a form and returns the outcome.
func fillIn(ctx context.Context, key, message, schema string) (tools.Result, error) {
	replies, err := host.FromContext(ctx).Ask(ctx, elicit(key, message, schema))
	if err != nil {
		return tools.Result{}, err
	}
	answer := replies[0].Elicit
	return say(fmt.Sprintf("Elicitation completed: action=%s, content=%s", answer.Action, orNull(answer.Content))), nil
}

func orNull(content json.RawMessage) json.RawMessage {
	if content == nil {
		return json.RawMessage("null")
	}
	return content
}

// elicit returns a request to the user. Its key distinguishes it from other requests
// of the call.
func elicit(key, message, schema string) host.Question {
	return host.Question{Key: key, Elicit: &host.Elicitation{Message: message, Schema: json.RawMessage(schema)}}
}

// sample returns a request to the host's model.
func sample(key, prompt string, maxTokens int) host.Question {
	return host.Question{Key: key, Sample: &host.Sampling{
		Messages:  []host.Message{{Role: host.RoleUser, Content: tools.Text(prompt)}},
		MaxTokens: maxTokens,
	}}
}

// roots returns the request for the host's directories.
func roots(key string) host.Question {
	return host.Question{Key: key, Roots: &host.RootsQuestion{}}
}

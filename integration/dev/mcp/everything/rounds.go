package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// addRoundTools adds tools whose calls take several round trips with hosts that
// receive requests in a result instead of a request of the server (MCP 2026-07-28).
// The tools need no special code: they call Ask and receive the replies when it
// returns.
func addRoundTools(b *toolbox) {
	round := func(name, description string, run func(ctx context.Context, h host.Host) (string, error)) {
		b.add(tools.Define("test_input_required_result_"+name, description, tools.KindCommunicate,
			func(ctx context.Context, _ none) (tools.Result, error) {
				text, err := run(ctx, host.FromContext(ctx))
				if err != nil {
					return tools.Result{}, err
				}
				return say(text), nil
			}))
	}

	round("elicitation", "Asks the user for a name.", func(ctx context.Context, h host.Host) (string, error) {
		replies, err := h.Ask(ctx, elicit("user_name", "What is your name?", nameSchema))
		if err != nil {
			return "", err
		}
		return "Hello, " + field(replies[0], "name") + "!", nil
	})

	round("sampling", "Asks the host's model for a capital.", func(ctx context.Context, h host.Host) (string, error) {
		replies, err := h.Ask(ctx, sample("capital_question", "What is the capital of France?", 100))
		if err != nil {
			return "", err
		}
		return "The model answered: " + replies[0].Sample.Content.String(), nil
	})

	round("list_roots", "Asks for the host's directories.", func(ctx context.Context, h host.Host) (string, error) {
		replies, err := h.Ask(ctx, roots("client_roots"))
		if err != nil {
			return "", err
		}
		var uris []string
		for _, r := range replies[0].Roots {
			uris = append(uris, r.URI)
		}
		return fmt.Sprintf("The host has %d directories: %s", len(uris), strings.Join(uris, ", ")), nil
	})

	// The state of the call is sent with its requests, and returns with the answers. The server
	// protects it against modification.
	confirm := func(ctx context.Context, h host.Host) (string, error) {
		if _, err := h.Ask(ctx, elicit("confirm", "Please confirm.", okSchema)); err != nil {
			return "", err
		}
		return "state-ok: the call continued.", nil
	}
	round("request_state", "Asks the user to confirm, and continues the call.", confirm)
	round("tampered_state", "Asks the user to confirm, and refuses an answer to any other question.", confirm)

	round("multiple_inputs", "Sends a question to the user, a prompt to the host's model and a request for the host's directories, all at once.", func(ctx context.Context, h host.Host) (string, error) {
		replies, err := h.Ask(ctx,
			elicit("user_name", "What is your name?", nameSchema),
			sample("greeting", "Generate a greeting.", 50),
			roots("client_roots"))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s, with %d directories", replies[1].Sample.Content.String(), field(replies[0], "name"), len(replies[2].Roots)), nil
	})

	round("multi_round", "Asks the user two questions, one after the other.", func(ctx context.Context, h host.Host) (string, error) {
		first, err := h.Ask(ctx, elicit("step1", "What is your name?", nameSchema))
		if err != nil {
			return "", err
		}
		second, err := h.Ask(ctx, elicit("step2", "What is your favorite color?",
			`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`))
		if err != nil {
			return "", err
		}
		return field(first[0], "name") + " likes " + field(second[0], "color") + ".", nil
	})

	round("capabilities", "Sends the requests that the host can answer: to the user, to the model, or for directories.", func(ctx context.Context, h host.Host) (string, error) {
		answered := 0
		for _, q := range []host.Question{
			elicit("user_name", "What is your name?", nameSchema),
			sample("greeting", "Generate a greeting.", 50),
			roots("client_roots"),
		} {
			_, err := h.Ask(ctx, q)
			if errors.Is(err, &fault.Error{Code: fault.NoApprover}) {
				continue // the host cannot answer this one
			}
			if err != nil {
				return "", err
			}
			answered++
		}
		return fmt.Sprintf("The host answered %d of 3 questions.", answered), nil
	})
}

// field returns the text that the user has entered, or "unknown".
func field(reply host.Reply, name string) string {
	var filled map[string]any
	if reply.Elicit.Action == host.ElicitAccept && json.Unmarshal(reply.Elicit.Content, &filled) == nil {
		if text, ok := filled[name].(string); ok {
			return text
		}
	}
	return "unknown"
}

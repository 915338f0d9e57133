// Package elicit asks the user, over the bus, the questions of an MCP server.
package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// Elicitor asks one question for each field of a server's form. Without a front
// end there is no answer.
type Elicitor struct {
	Bus    *bus.MessageBus
	server string // set by Ask
}

// rounds is how often an invalid answer is requested again.
const rounds = 3

// Ask asks the user for a server's input. The error has code invalid_tool_params
// for a form that cannot be displayed, or execution_failed, or is that of ctx.
func (e Elicitor) Ask(ctx context.Context, server string, asked host.Elicitation) (host.Elicited, error) {
	e.server = server
	intro := fmt.Sprintf("The MCP server %s asks: %s", server, asked.Message)
	if asked.URL != "" {
		if u, err := url.Parse(asked.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return host.Elicited{Action: host.ElicitDecline}, nil // not a page to send the user to
		}
		return e.yesNo(ctx, fmt.Sprintf("%s\nIt asks you to open this page: %s\nHave you done so?", intro, asked.URL), nil)
	}
	fields, err := formFields(asked.Schema)
	if err != nil {
		return host.Elicited{}, fault.Wrap(fault.InvalidToolParams, "config.elicit",
			fmt.Sprintf("The MCP server %s asks for input with a form that cannot be shown: %v.", server, err), "", err)
	}
	if len(fields) == 0 {
		return e.yesNo(ctx, intro, json.RawMessage("{}"))
	}
	return e.fillIn(ctx, intro, fields)
}

// yesNo asks a yes/no question; content accompanies a yes.
func (e Elicitor) yesNo(ctx context.Context, text string, content json.RawMessage) (host.Elicited, error) {
	answers, cancelled, err := e.put(ctx, []bus.UserQuestion{{Question: text, Header: "Server", Type: bus.QuestionYesNo}})
	switch {
	case err != nil:
		return host.Elicited{}, err
	case cancelled || strings.TrimSpace(answers["0"]) == "":
		return host.Elicited{Action: host.ElicitCancel}, nil
	case !saysYes(answers["0"]):
		return host.Elicited{Action: host.ElicitDecline}, nil
	}
	return host.Elicited{Action: host.ElicitAccept, Content: content}, nil
}

// fillIn asks for the fields, and again for those with invalid answers.
func (e Elicitor) fillIn(ctx context.Context, intro string, fields []formField) (host.Elicited, error) {
	given := map[string]any{}
	open := fields
	wrong := map[string]string{}
	for range rounds {
		questions := make([]bus.UserQuestion, len(open))
		for i, f := range open {
			questions[i] = f.question()
			if why := wrong[f.name]; why != "" {
				questions[i].Question = why + " " + questions[i].Question
			}
		}
		questions[0].Question = intro + "\n" + questions[0].Question
		answers, cancelled, err := e.put(ctx, questions)
		if err != nil {
			return host.Elicited{}, err
		}
		if cancelled {
			return host.Elicited{Action: host.ElicitCancel}, nil
		}
		var again []formField
		for i, f := range open {
			value, why := f.value(answers[strconv.Itoa(i)])
			switch {
			case why != "":
				again, wrong[f.name] = append(again, f), why
			case value != nil:
				given[f.name] = value
			}
		}
		if open = again; len(open) > 0 {
			continue
		}
		content, err := tools.JSON(given)
		if err != nil {
			return host.Elicited{}, err
		}
		return host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(content.String())}, nil
	}
	return host.Elicited{Action: host.ElicitCancel}, nil
}

// put sends questions to the front ends. Without a front end they are left
// unanswered.
func (e Elicitor) put(ctx context.Context, questions []bus.UserQuestion) (answers map[string]string, cancelled bool, err error) {
	answer, err := bus.Ask(ctx, e.Bus, bus.AskUserRequest{Server: e.server, Questions: questions})
	switch {
	case err == nil:
		return answer.Answers, answer.Cancelled, nil
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case errors.Is(err, bus.ErrNoApprover), errors.Is(err, bus.ErrClosed):
		return nil, true, nil
	}
	return nil, false, fault.Wrap(fault.ExecutionFailed, "config.elicit", "A server's question could not be asked: "+err.Error()+".", "", err)
}

func saysYes(answer string) bool {
	answer = strings.TrimSpace(answer)
	return answer != "" && (answer[0] == 'y' || answer[0] == 'Y')
}

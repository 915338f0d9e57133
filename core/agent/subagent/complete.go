package subagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// completeTask is the tool by which an agent reports and ends. It belongs to the run and is in no
// registry.
const completeTask = "complete_task"

// declaration is the declaration of complete_task for the model.
type declaration = model.Tool

// prepareReport prepares the schema of complete_task's arguments.
func (s *schemas) prepareReport(o *Output) error {
	field, description, schema := "result", "The outcome of the task, complete in itself: the caller sees nothing else of your work.",
		json.RawMessage(`{"type":"string","minLength":1}`)
	if o != nil {
		if o.Name == "" || o.Description == "" || len(o.Schema) == 0 {
			return errors.New("its output lacks a name, a description or a schema")
		}
		field, description, schema = o.Name, o.Description, o.Schema
	}
	described, err := withDescription(schema, description)
	if err != nil {
		return fmt.Errorf("the schema of its output is not a JSON object: %w", err)
	}
	name, err := json.Marshal(field)
	if err != nil {
		return err
	}
	raw := fmt.Sprintf(`{"type":"object","properties":{%s:%s},"required":[%s],"additionalProperties":false}`, name, described, name)
	if s.report, err = tools.ParseSchema(completeTask, json.RawMessage(raw)); err != nil {
		return err
	}
	if err := s.report.Compile(); err != nil {
		return err
	}
	s.field = field
	s.tool = declaration{
		Name: completeTask,
		Description: fmt.Sprintf("Ends your work and returns the argument %s to the agent that called you. "+
			"Call it exactly once, when the task is done or cannot be done, after all other calls; it is the only way to end. "+
			"If its arguments are refused, correct them and call it again.", field),
		Parameters: s.report.Raw(),
	}
	return nil
}

// withDescription adds a description to a schema that has none.
func withDescription(schema json.RawMessage, description string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("it is null")
	}
	if _, ok := object["description"]; ok {
		return schema, nil
	}
	text, err := json.Marshal(description)
	if err != nil {
		return nil, err
	}
	object["description"] = text
	return json.Marshal(object)
}

// accept validates the arguments of complete_task. It returns the report and its text for the
// caller. The error is for the agent, which may try again.
func (p *prepared) accept(args json.RawMessage) (report json.RawMessage, text string, err error) {
	params, err := p.report.Check(args)
	if err != nil {
		return nil, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(params, &fields); err != nil {
		return nil, "", err
	}
	report = fields[p.field]
	text = textOf(report)
	if p.Output == nil && strings.TrimSpace(text) == "" {
		return nil, "", fault.New(fault.InvalidToolParams, "subagent.complete", "The result is empty.", "Call complete_task again with the outcome of the task.")
	}
	if p.ProcessOutput == nil {
		return report, text, nil
	}
	err = tools.Protect(completeTask, "process output", func() (err error) {
		text, err = p.ProcessOutput(report)
		return err
	})
	if err != nil {
		return nil, "", fault.Wrap(fault.InvalidToolParams, "subagent.complete", fmt.Sprintf("The report was not accepted: %s", escape.Clip(escape.Line(plain(err)), 300)),
			"Correct it and call complete_task again.", err)
	}
	return report, text, nil
}

// plain returns an error's text without details that only help developers.
func plain(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	if d := new(tools.Defect); errors.As(err, &d) {
		return d.Fault().Message
	}
	return err.Error()
}

// completed returns the response to a call of complete_task.
func completed(r scheduler.Request, err error) scheduler.Response {
	resp := scheduler.Response{CallID: r.CallID, Tool: completeTask, Status: scheduler.StatusSuccess,
		Result: tools.Result{LLMContent: tools.Text("The report was delivered."), ReturnDisplay: tools.TextDisplay("Reported")}}
	if err != nil {
		f := fault.As(err)
		if f == nil {
			f = fault.Wrap(fault.InvalidToolParams, "subagent.complete", "The arguments of complete_task are not valid.", "Send arguments that fit its schema.", err)
		}
		resp.Status, resp.Result = scheduler.StatusError, tools.Fail(f)
	}
	return resp
}

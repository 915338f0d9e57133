package communicate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// AskUserParams are the parameters of ask_user.
type AskUserParams struct {
	Questions []Question `json:"questions" jsonschema:"minItems=1,maxItems=4" jsonschema_description:"1 to 4 questions, shown together."`
}

// Report is the result for the model: every key of Answers is also a key of Headers.
type Report struct {
	Answers map[string]string `json:"answers"`          // by the question's index: "0", "1", …; without unanswered ones
	Headers map[string]string `json:"headers"`          // of all questions, by the same index
	Notice  string            `json:"notice,omitempty"` // why answers are missing, and which yesno answers are neither yes nor no
}

// output is the JSON schema of a Report.
const output = `{"type":"object","properties":{` +
	`"answers":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^[0-3]$"},"description":"by the index of the question"},` +
	`"headers":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^[0-3]$"},"description":"of all questions, by the same index"},` +
	`"notice":{"type":"string"}},"required":["answers","headers"],"additionalProperties":false}`

const askUserDescription = "Asks the user 1 to 4 questions and waits for the answers. " +
	"Use it for decisions and facts that only the user has, if continuing without them would likely be wrong; not for information in the files, and not for permission to use a tool, which is requested automatically. " +
	"The result has answers by the index of the question, \"0\" for the first, and the headers by the same index; a question that the user skipped has no answer. " +
	"The answer to a choice is the label of the option, or what the user wrote instead; several labels are joined by commas; a yesno is answered yes or no, or in the user's own words, as the notice then reports. " +
	"If the user dismisses the questions, continue as well as you can, and do not ask the same again. " +
	"Without a front end the call fails at once with nobody_to_ask."

func newAskUser() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, AskUserParams]{
		Spec: tools.Spec{
			Name: AskUser, DisplayName: "Ask User", Description: askUserDescription,
			Kind: tools.KindCommunicate, Effects: []tools.Effect{tools.EffectAskUser}, OutputSchema: json.RawMessage(output),
		},
		Validate: func(_ Services, p AskUserParams) error {
			for i, q := range p.Questions {
				if problem := q.problem(); problem != "" {
					return badParameter(fmt.Sprintf("questions[%d]: %s", i, problem))
				}
			}
			return nil
		},
		Build: func(s Services, p AskUserParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &askUser{s, p, params}, nil
		},
	})
}

// problem returns the problem with the question, or "".
func (q Question) problem() string {
	switch {
	case blank(q.Question):
		return "the question is blank."
	case blank(q.Header):
		return "the header is blank."
	case q.Type == Choice && (len(q.Options) < 2 || len(q.Options) > 4):
		return fmt.Sprintf("a choice needs 2 to 4 options, and this one has %d.", len(q.Options))
	case q.Type != Choice && len(q.Options) > 0:
		return fmt.Sprintf("only a choice has options, and the type is %s.", q.Type)
	case q.Type != Choice && q.MultiSelect:
		return fmt.Sprintf("multiSelect belongs to a choice, and the type is %s.", q.Type)
	}
	for i, o := range q.Options {
		if blank(o.Label) {
			return fmt.Sprintf("the label of options[%d] is blank.", i)
		}
		if slices.ContainsFunc(q.Options[:i], func(other Option) bool { return other.Label == o.Label }) {
			return fmt.Sprintf("two options have the label %q, so their answers could not be distinguished.", o.Label)
		}
	}
	return ""
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func badParameter(message string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "communicate.validate", message, "Correct the questions and ask again.")
	e.Short = "Invalid arguments"
	return e
}

type askUser struct {
	services Services
	p        AskUserParams
	params   json.RawMessage
}

func (a *askUser) Params() json.RawMessage { return a.params }

func (a *askUser) Description() string {
	headers := make([]string, len(a.p.Questions))
	for i, q := range a.p.Questions {
		headers[i] = escape.OneLine(q.Header)
	}
	return "Ask the user: " + strings.Join(headers, ", ")
}

func (a *askUser) Locations() []tools.Location { return nil }

// Confirmation returns nil for the default question, in case a rule requires approval.
func (a *askUser) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (a *askUser) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if a.services.User == nil {
		return tools.Fail(noApprover(nil)), nil
	}
	answers, err := a.services.User.Ask(ctx, slices.Clone(a.p.Questions))
	if err != nil {
		return tools.Fail(failed(ctx, err)), nil
	}
	return a.report(answers)
}

// report matches the answers with the questions. It ignores answers without a question.
func (a *askUser) report(answers Answers) (tools.Result, error) {
	r := Report{Answers: map[string]string{}, Headers: map[string]string{}}
	var shown, unclear []string
	for i, q := range a.p.Questions {
		index := strconv.Itoa(i)
		r.Headers[index] = q.Header
		text := strings.ToValidUTF8(answers.ByIndex[index], "\ufffd")
		if answers.Dismissed || blank(text) {
			continue
		}
		if q.Type == YesNo {
			var known bool
			if text, known = yesOrNo(text); !known {
				unclear = append(unclear, index)
			}
		}
		r.Answers[index] = text
		shown = append(shown, escape.OneLine(q.Header)+": "+text)
	}
	switch left := len(a.p.Questions) - len(r.Answers); {
	case answers.Dismissed:
		r.Notice = "The user dismissed the questions without an answer."
	case len(r.Answers) == 0:
		r.Notice = "The user left all questions unanswered."
	case left > 0:
		r.Notice = fmt.Sprintf("The user left %d of the %d questions unanswered.", left, len(a.p.Questions))
	}
	if len(unclear) > 0 {
		r.Notice = strings.TrimSpace(r.Notice + " The user's own words instead of yes or no: the answer to " + strings.Join(unclear, ", ") + ".")
	}
	if r.Notice != "" {
		shown = append(shown, r.Notice)
	}
	content, err := tools.JSON(r)
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(strings.Join(shown, "\n"))}, err
}

// yesOrNo normalizes a short answer to a yesno question to "yes" or "no", and returns any other unchanged. It reports
// whether it normalized the answer.
func yesOrNo(text string) (answer string, known bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return "yes", true
	case "n", "no":
		return "no", true
	}
	return text, false
}

func noApprover(cause error) *fault.Error {
	return fault.Wrap(fault.NoApprover, "communicate.ask", "This session has no user to ask; no question was shown.",
		"Decide what you can without the user, state your assumptions, and leave the rest open.", cause)
}

// failed classifies an error; an ended ctx is a cancellation.
func failed(ctx context.Context, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		if e.Code == fault.NoApprover {
			return noApprover(e)
		}
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, "communicate.ask", "The questions were withdrawn before they were answered.", "", err)
	}
	return fault.Wrap(fault.ExecutionFailed, "communicate.ask", "Asking the user failed: "+err.Error()+".",
		"Continue without the answer, or ask in your reply.", err)
}

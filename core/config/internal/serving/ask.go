package serving

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// subscriptions are a service's subscriptions to the bus.
type subscriptions struct {
	confirmations, questions, output *bus.Subscription
}

// subscribe subscribes to questions and output of calls. The caller holds
// served.mu, which every handler acquires first, so that none runs before the
// subscriptions are complete.
func (s *served) subscribe(ctx context.Context) *subscriptions {
	b := s.session.Bus
	return &subscriptions{
		confirmations: bus.Subscribe(ctx, b, s.onConfirmation),
		questions:     bus.Subscribe(ctx, b, s.onQuestions),
		output: bus.Subscribe(ctx, b, func(_ context.Context, m bus.ToolOutput) {
			if run := s.exactly(m.CallID); run != nil {
				run.progress.add(m.Chunk)
			}
		}),
	}
}

// end cancels open questions, and waits for the handlers.
func (x *subscriptions) end() {
	for _, sub := range []*bus.Subscription{x.confirmations, x.questions, x.output} {
		sub.Unsubscribe()
		<-sub.Done()
	}
}

// onConfirmation asks the client of the call for approval. Questions of other
// calls are left to other subscribers.
func (s *served) onConfirmation(ctx context.Context, q bus.ToolConfirmationRequest) {
	run := s.of(q.CallID)
	if run == nil {
		s.subscribed.confirmations.Decline(q.CorrelationID)
		return
	}
	s.answering.Go(func() {
		form := confirmationForm(q, s.options.Stateless)
		given, err := askClient(ctx, run, form.question())
		answer, problem := form.answer(given)
		switch {
		case fault.CodeOf(err) == fault.DeniedByUser:
			problem = fault.As(err).Message
		case err != nil:
			s.note(run, askOutcome{failure: fault.As(err)})
			s.subscribed.confirmations.Decline(q.CorrelationID) // there is no client to ask, which the refusal reports
			return
		}
		last := askOutcome{problem: problem}
		if answer.Outcome == bus.Cancel {
			last.unasked = q.Unasked
		}
		s.note(run, last)
		answer.CorrelationID = q.CorrelationID
		_ = s.session.Bus.Publish(answer) // too late: the call has ended
	})
}

// onQuestions sends the questions of a tool to the client of its call.
func (s *served) onQuestions(ctx context.Context, q bus.AskUserRequest) {
	run := s.of(q.CallID)
	if run == nil {
		s.subscribed.questions.Decline(q.CorrelationID)
		return
	}
	s.answering.Go(func() {
		form := questionsForm(q)
		given, err := askClient(ctx, run, form.question())
		answers, problem := form.answers(given)
		switch {
		case fault.CodeOf(err) == fault.DeniedByUser:
			problem = fault.As(err).Message
		case err != nil:
			s.note(run, askOutcome{failure: fault.As(err)})
			s.subscribed.questions.Decline(q.CorrelationID)
			return
		}
		s.note(run, askOutcome{problem: problem})
		_ = s.session.Bus.Publish(bus.AskUserResponse{
			CorrelationID: q.CorrelationID, Answers: answers, Cancelled: given.Action != host.ElicitAccept,
		})
	})
}

// askOutcome is the outcome of the last question of a call.
type askOutcome struct {
	unasked string       // what would avoid the question that was answered with no
	problem string       // mistake in the answer; "": none
	failure *fault.Error // why there was no answer; nil: there was one
}

// note records the outcome of a question of a call.
func (s *served) note(run *servedRun, last askOutcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run.lastAsk = last
}

// explain adds to a result the mistake in an answer or the reason why there was
// none, and to a denial the steps by which the user can avoid the question.
func (x askOutcome) explain(r tools.Result) tools.Result {
	if r.Error == nil {
		if x.problem != "" {
			return withNotes(r, []string{x.problem})
		}
		return r
	}
	switch code := r.Error.Code; {
	case code == fault.DeniedByUser && x.problem+x.unasked != "":
		refusal := *r.Error
		if x.problem != "" {
			refusal.Message += " " + x.problem
		}
		if x.unasked != "" {
			refusal.Remedy += " If the user wants such calls to run without approval: " + x.unasked
		}
		return tools.Fail(&refusal)
	case code == fault.NoApprover && x.failure != nil && x.failure.Code == fault.Cancelled:
		return tools.Fail(fault.Wrap(fault.Cancelled, "config.mcpService", "The call was cancelled before it was approved; nothing was done.", "", x.failure))
	case code == fault.NoApprover && x.failure != nil:
		refusal := *r.Error
		refusal.Message += " " + x.failure.Message
		return tools.Fail(&refusal)
	}
	return r
}

// askClient asks the client of a call a question, as long as both the call and
// the question last. The error has code denied_by_user for an invalid answer, or
// is that of [host.Host].
func askClient(question context.Context, run *servedRun, e host.Question) (host.Elicited, error) {
	ctx, cancel := context.WithCancel(run.ctx)
	defer cancel()
	defer context.AfterFunc(question, cancel)()
	replies, err := run.host.Ask(ctx, e)
	switch {
	case err != nil:
		return host.Elicited{}, err
	case len(replies) != 1 || replies[0].Elicit == nil:
		return host.Elicited{}, fault.New(fault.DeniedByUser, "config.mcpService", "The client's response has no answer.", "")
	}
	return *replies[0].Elicit, nil
}

// approvalForm is the form that asks for approval of a call.
type approvalForm struct {
	request bus.ToolConfirmationRequest
	text    string
	offered []offeredAnswer
}

// offeredAnswer is one choice of an [approvalForm].
type offeredAnswer struct {
	bus.OutcomeInfo
	means string
}

// confirmationForm creates the form of a question. It offers no answer that
// outlasts the session, and no lasting answer without a session or if the call
// cannot be shown completely.
func confirmationForm(q bus.ToolConfirmationRequest, stateless bool) approvalForm {
	text, whole := confirmationText(q)
	f := approvalForm{request: q, text: text}
	for _, o := range bus.Outcomes() {
		asked := o.Outcome == bus.ProceedOnce || o.Outcome == bus.Cancel || slices.Contains(q.Outcomes, o.Outcome)
		switch words := covered(q, o.Outcome); {
		case !asked || o.Means == "" || o.Kept:
		case o.Until == "":
			f.offered = append(f.offered, offeredAnswer{o, o.Means})
		case words != "" && whole && !stateless:
			f.offered = append(f.offered, offeredAnswer{o, o.Means + words})
		}
	}
	return f
}

// question converts the form into a question for a host.
func (f approvalForm) question() host.Question {
	values := make([]string, len(f.offered))
	lines := make([]string, len(f.offered))
	for i, o := range f.offered {
		values[i], lines[i] = o.Name, o.Name+": "+o.means
	}
	schema := askedForm{
		Properties: askedFields{
			{"answer", askedField{Type: "string", Title: "Run the call?", Description: strings.Join(lines, "\n"), Enum: values}},
			{"reason", askedField{Type: "string", Title: "Message for the model", Description: "After a denial: the next step. Optional."}},
		},
		Required: []string{"answer"},
	}
	return question("confirm", f.request.CorrelationID, f.text, schema)
}

// answer parses the client's answer. Anything but a clear yes is a no; problem
// describes an invalid answer.
func (f approvalForm) answer(given host.Elicited) (answer bus.ToolConfirmationResponse, problem string) {
	no := bus.ToolConfirmationResponse{Outcome: bus.Cancel}
	switch given.Action {
	case host.ElicitAccept:
	case host.ElicitDecline:
		return no, ""
	case host.ElicitCancel:
		return no, "The request for approval was not answered, which counts as a denial."
	default:
		return no, unknownAction(given.Action)
	}
	var content struct {
		Answer string `json:"answer"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(given.Content, &content) != nil {
		return no, notAsAsked
	}
	no.Payload.Feedback = escape.ClipBytes(escape.Text(strings.TrimSpace(content.Reason)), 2_000)
	for _, o := range f.offered {
		if o.Name == content.Answer {
			return bus.ToolConfirmationResponse{Confirmed: o.Outcome != bus.Cancel, Outcome: o.Outcome, Payload: no.Payload}, ""
		}
	}
	return no, fmt.Sprintf("The answer %q was not offered, and counts as a denial.", escape.ClipBytes(escape.Text(content.Answer), 100))
}

const notAsAsked = "The client's answer does not fit the requested form, and counts as none."

func unknownAction(a host.ElicitAction) string {
	return fmt.Sprintf("The action %q of the client's answer is unknown, and the answer counts as none.", escape.ClipBytes(escape.Text(string(a)), 100))
}

// asked is the form of a tool's own questions: a field for each, named by its
// position.
type asked struct{ request bus.AskUserRequest }

func questionsForm(q bus.AskUserRequest) asked { return asked{q} }

func (f asked) question() host.Question {
	var schema askedForm
	var text []string
	for i, q := range f.request.Questions {
		words := escape.Text(q.Question)
		field := askedField{Type: "string", Title: escape.ClipBytes(escape.Text(q.Header), 100), Description: escape.ClipBytes(words, 1_000)}
		switch q.Type {
		case bus.QuestionYesNo:
			field.Type = "boolean"
		case bus.QuestionChoice:
			var labels []string
			for _, o := range q.Options {
				labels = append(labels, escape.Text(o.Label))
				if o.Description != "" {
					words += "\n- " + escape.Text(o.Label) + ": " + escape.Text(o.Description)
				}
			}
			if q.MultiSelect {
				field.Type, field.Items = "array", &askedField{Type: "string", Enum: labels}
			} else {
				field.Enum = labels
			}
		}
		schema.Properties = append(schema.Properties, namedField{strconv.Itoa(i), field})
		text = append(text, words)
	}
	return question("questions", f.request.CorrelationID, escape.ClipBytes(strings.Join(text, "\n\n"), maxMessage), schema)
}

// answers parses the client's answers into the form of [bus.AskUserResponse];
// problem describes an invalid answer.
func (f asked) answers(given host.Elicited) (answers map[string]string, problem string) {
	answers = map[string]string{}
	switch given.Action {
	case host.ElicitAccept:
	case host.ElicitDecline, host.ElicitCancel:
		return answers, ""
	default:
		return answers, unknownAction(given.Action)
	}
	var content map[string]any
	if json.Unmarshal(given.Content, &content) != nil {
		return answers, notAsAsked
	}
	for i, q := range f.request.Questions {
		key := strconv.Itoa(i)
		switch v := content[key].(type) {
		case string:
			answers[key] = labelOf(q, v)
		case bool:
			answers[key] = map[bool]string{true: "yes", false: "no"}[v]
		case []any:
			var labels []string
			for _, each := range v {
				if label, is := each.(string); is {
					labels = append(labels, labelOf(q, label))
				}
			}
			answers[key] = strings.Join(labels, ", ")
		}
	}
	return answers, ""
}

// labelOf returns the label of an option that was displayed as text, else the
// user's own text.
func labelOf(q bus.UserQuestion, text string) string {
	for _, o := range q.Options {
		if escape.Text(o.Label) == text {
			return o.Label
		}
	}
	return text
}

// question creates a question from a form. Its key is random, so that an answer
// sent early or kept from before is not accepted for it.
func question(kind, id, text string, schema askedForm) host.Question {
	encoded, _ := json.Marshal(schema) // plain data
	return host.Question{Key: kind + "-" + id, Fresh: true, Elicit: &host.Elicitation{Message: text, Schema: encoded}}
}

// askedForm is a schema of MCP's restricted kind with ordered properties.
type askedForm struct {
	Properties askedFields
	Required   []string
}

type namedField struct {
	name  string
	field askedField
}

type askedFields []namedField

type askedField struct {
	Type        string      `json:"type"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Enum        []string    `json:"enum,omitempty"`
	Items       *askedField `json:"items,omitempty"`
}

// MarshalJSON encodes the schema with its type.
func (s askedForm) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string      `json:"type"`
		Properties askedFields `json:"properties"`
		Required   []string    `json:"required,omitempty"`
	}{"object", s.Properties, s.Required})
}

// MarshalJSON encodes the properties as an object.
func (p askedFields) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, each := range p {
		field, err := json.Marshal(each.field)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, each.name), ':'), field...)
	}
	return append(b, '}'), nil
}

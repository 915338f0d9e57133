package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// subscriptions are a service's share in the bus.
type subscriptions struct {
	confirmations, questions, output *bus.Subscription
}

// subscribe listens to what calls ask and print. served.mu is held, which every
// handler takes first, so that none runs before the subscriptions are in place.
func (s *served) subscribe(ctx context.Context) *subscriptions {
	b := s.config.bus
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

// end gives up what is asked, and waits for the handlers.
func (x *subscriptions) end() {
	for _, sub := range []*bus.Subscription{x.confirmations, x.questions, x.output} {
		sub.Unsubscribe()
		<-sub.Done()
	}
}

// onConfirmation asks the client of the call whether it may run. A question of
// somebody else's call is left to those whom it concerns.
func (s *served) onConfirmation(ctx context.Context, q bus.ToolConfirmationRequest) {
	run := s.of(q.CallID)
	if run == nil {
		s.subscribed.confirmations.Decline(q.CorrelationID)
		return
	}
	s.answering.Go(func() {
		form := confirmationForm(q, s.options.Stateless)
		given, err := askClient(ctx, run, form.question())
		if err != nil {
			s.subscribed.confirmations.Decline(q.CorrelationID) // then nobody is there to ask, which the refusal says
			return
		}
		answer := form.answer(given)
		answer.CorrelationID = q.CorrelationID
		if answer.Outcome == bus.Cancel {
			s.mu.Lock()
			run.unasked = q.Unasked
			s.mu.Unlock()
		}
		_ = s.config.bus.Publish(answer) // too late: the call has ended, which nobody needs to know
	})
}

// onQuestions puts the questions of a tool to the client of its call.
func (s *served) onQuestions(ctx context.Context, q bus.AskUserRequest) {
	run := s.of(q.CallID)
	if run == nil {
		s.subscribed.questions.Decline(q.CorrelationID)
		return
	}
	s.answering.Go(func() {
		form := questionsForm(q)
		given, err := askClient(ctx, run, form.question())
		if err != nil {
			s.subscribed.questions.Decline(q.CorrelationID)
			return
		}
		_ = s.config.bus.Publish(bus.AskUserResponse{
			CorrelationID: q.CorrelationID, Answers: form.answers(given), Cancelled: given.Action != tools.ElicitAccept,
		})
	})
}

// askClient puts a question to the client of a call, for as long as both the call
// and the question last.
func askClient(question context.Context, run *servedRun, e tools.Question) (tools.Elicited, error) {
	ctx, cancel := context.WithCancel(run.ctx)
	defer cancel()
	defer context.AfterFunc(question, cancel)()
	replies, err := run.host.Ask(ctx, e)
	switch {
	case err != nil:
		return tools.Elicited{}, err
	case len(replies) != 1 || replies[0].Elicit == nil:
		return tools.Elicited{}, fault.New(fault.NobodyToAsk, "config.mcpService", "The client has not answered what it was asked.", "")
	}
	return *replies[0].Elicit, nil
}

// The answers to whether a call may run, as a client's form offers them.
const (
	answerOnce    = "once"
	answerSession = "session"
	answerTool    = "tool"
	answerServer  = "server"
	answerNo      = "no"
)

// confirmation is the form that asks whether a call may run.
type confirmation struct {
	request bus.ToolConfirmationRequest
	offered []offeredAnswer
}

// offeredAnswer is one choice of a [confirmation].
type offeredAnswer struct {
	value   string
	outcome bus.Outcome
	means   string
}

// confirmationForm makes the form of a question. What would last beyond the
// session is never offered, and without a session nothing that would last.
func confirmationForm(q bus.ToolConfirmationRequest, stateless bool) confirmation {
	f := confirmation{request: q, offered: []offeredAnswer{{answerOnce, bus.ProceedOnce, "run this call"}}}
	lasting := map[bus.Outcome]offeredAnswer{
		bus.ProceedAlways:       {answerSession, bus.ProceedAlways, "run this call and its like while this session lasts"},
		bus.ProceedAlwaysTool:   {answerTool, bus.ProceedAlwaysTool, "run all calls of this tool while this session lasts"},
		bus.ProceedAlwaysServer: {answerServer, bus.ProceedAlwaysServer, "run all tools of that server while this session lasts"},
	}
	for _, outcome := range q.Outcomes {
		if offer, is := lasting[outcome]; is && !stateless {
			offer.means += remembered(q, outcome)
			f.offered = append(f.offered, offer)
		}
	}
	f.offered = append(f.offered, offeredAnswer{answerNo, bus.Cancel, "do not run it"})
	return f
}

// remembered says in brackets which rules an answer would make.
func remembered(q bus.ToolConfirmationRequest, outcome bus.Outcome) string {
	for _, r := range q.Remembers {
		if r.Outcome == outcome && len(r.Rules) > 0 {
			return " (" + clip(visible(strings.Join(r.Rules, "; ")), 300) + ")"
		}
	}
	return ""
}

// question is the form as a host is asked it. Its key says what it is about, so
// that no answer to another question can be taken for one to this.
func (f confirmation) question() tools.Question {
	values := make([]string, len(f.offered))
	lines := make([]string, len(f.offered))
	for i, o := range f.offered {
		values[i], lines[i] = o.value, o.value+": "+o.means
	}
	schema := askedForm{
		Properties: askedFields{
			{"answer", askedField{Type: "string", Title: "May it run?", Description: strings.Join(lines, ". ") + ".", Enum: values}},
			{"reason", askedField{Type: "string", Title: "A word for the model", Description: "With a no: what to do instead. May be left out."}},
		},
		Required: []string{"answer"},
	}
	about := f.request
	about.CorrelationID, about.CallID = "", ""
	return question("confirm", about, confirmationText(f.request), schema)
}

// answer reads what the client has given. Whatever is no clear yes is a no.
func (f confirmation) answer(given tools.Elicited) bus.ToolConfirmationResponse {
	var content struct {
		Answer string `json:"answer"`
		Reason string `json:"reason"`
	}
	if given.Action != tools.ElicitAccept || json.Unmarshal(given.Content, &content) != nil {
		return bus.ToolConfirmationResponse{Outcome: bus.Cancel}
	}
	word := bus.Payload{Feedback: clip(visible(strings.TrimSpace(content.Reason)), 2_000)}
	for _, o := range f.offered {
		if o.value == content.Answer {
			return bus.ToolConfirmationResponse{Confirmed: o.outcome != bus.Cancel, Outcome: o.outcome, Payload: word}
		}
	}
	return bus.ToolConfirmationResponse{Outcome: bus.Cancel, Payload: word}
}

// asked is the form of a tool's own questions: a field for each, named by its
// place.
type asked struct{ request bus.AskUserRequest }

func questionsForm(q bus.AskUserRequest) asked { return asked{q} }

func (f asked) question() tools.Question {
	var schema askedForm
	var text []string
	for i, q := range f.request.Questions {
		words := visible(q.Question)
		field := askedField{Type: "string", Title: clip(visible(q.Header), 100), Description: clip(words, 1_000)}
		switch q.Type {
		case bus.QuestionYesNo:
			field.Type = "boolean"
		case bus.QuestionChoice:
			var labels []string
			for _, o := range q.Options {
				labels = append(labels, visible(o.Label))
				if o.Description != "" {
					words += "\n- " + visible(o.Label) + ": " + visible(o.Description)
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
	about := f.request
	about.CorrelationID, about.CallID = "", ""
	return question("questions", about, clip(strings.Join(text, "\n\n"), maxMessage), schema)
}

// answers reads what the client has given, as [bus.AskUserResponse] has it.
func (f asked) answers(given tools.Elicited) map[string]string {
	answers := map[string]string{}
	var content map[string]any
	if given.Action != tools.ElicitAccept || json.Unmarshal(given.Content, &content) != nil {
		return answers
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
	return answers
}

// labelOf is the label of an option that was shown as text, else the person's own
// words.
func labelOf(q bus.UserQuestion, text string) string {
	for _, o := range q.Options {
		if visible(o.Label) == text {
			return o.Label
		}
	}
	return text
}

// question makes a question of a form. about is what it asks about, whole.
func question(kind string, about any, text string, schema askedForm) tools.Question {
	whole, _ := json.Marshal(about) // plain data of the bus, which has been encoded before
	sum := sha256.Sum256(whole)
	encoded, _ := json.Marshal(schema)
	return tools.Question{Key: kind + "-" + hex.EncodeToString(sum[:8]), Elicit: &tools.Elicitation{Message: text, Schema: encoded}}
}

// askedForm is a schema of MCP's restricted kind, whose properties stay in
// order.
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

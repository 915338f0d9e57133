package communicate_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

type args = map[string]any

// userFunc answers with a function.
type userFunc func(ctx context.Context, questions []communicate.Question) (communicate.Answers, error)

func (p userFunc) Ask(ctx context.Context, questions []communicate.Question) (communicate.Answers, error) {
	if err := ctx.Err(); err != nil {
		return communicate.Answers{}, err
	}
	return p(ctx, questions)
}

// says returns a user who always gives the same answers.
func says(a communicate.Answers) userFunc {
	return func(context.Context, []communicate.Question) (communicate.Answers, error) { return a, nil }
}

func tool(t testing.TB, p communicate.User) tools.DeclarativeTool {
	t.Helper()
	factories, err := communicate.Factories()
	require.NoError(t, err)
	require.Len(t, factories, 1)
	return factories[0].Bind(communicate.Services{User: p})
}

func ask(t *testing.T, p communicate.User, questions ...args) scheduler.Response {
	t.Helper()
	s := configtest.New(t, func(c *config.Parameters) {
		c.Tools.Core = []string{}
		c.Tools.Own = []tools.DeclarativeTool{tool(t, p)}
	})
	r := s.Call(communicate.AskUser, args{"questions": questions})
	require.Empty(t, s.Confirmations(), "the questions are the interaction")
	return r
}

func text(question, header string) args {
	return args{"question": question, "header": header, "type": "text"}
}

func choice(labels ...string) args {
	options := []args{}
	for _, l := range labels {
		options = append(options, args{"label": l, "description": "It is " + l + "."})
	}
	return args{"question": "Which one?", "header": "Choice", "type": "choice", "options": options}
}

func with(q args, key string, value any) args {
	q[key] = value
	return q
}

func raw(t testing.TB, questions ...args) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(args{"questions": questions})
	require.NoError(t, err)
	return data
}

// bad returns invalid questions by a part of the error.
func bad() map[string][]args {
	five := []args{}
	for range 5 {
		five = append(five, text("Why?", "Why"))
	}
	return map[string][]args{
		"questions: minimum 1":             {},
		"maximum 4":                        five,
		"questions[0]: the question is":    {text(" \n", "Why")},
		"questions[1]: the header is":      {text("Why?", "Why"), text("Why?", " ")},
		"header":                           {{"question": "Why?", "type": "text"}},
		"one of":                           {with(text("Why?", "Why"), "type", "number")},
		"and this one has 1":               {choice("a")},
		"and this one has 0":               {choice()},
		"questions[0].options: maximum 4":  {choice("a", "b", "c", "d", "e")},
		"only a choice has options":        {with(choice("a", "b"), "type", "yesno")},
		"multiSelect belongs":              {with(text("Why?", "Why"), "multiSelect", true)},
		"label of options[1] is blank":     {choice("a", " ")},
		`two options have the label "a"`:   {choice("a", "b", "a")},
		"unknown key \"allowOther\"":       {with(text("Why?", "Why"), "allowOther", true)},
		"the required key \"description\"": {with(choice("a", "b"), "options", []args{{"label": "a"}, {"label": "b", "description": "B."}})},
	}
}

// TO-14: the error for an invalid question names the place.
func TestRefuses(t *testing.T) {
	for want, questions := range bad() {
		r := ask(t, says(communicate.Answers{Dismissed: true}), questions...)
		require.Equal(t, scheduler.StatusError, r.Status, want)
		require.Equal(t, fault.InvalidToolParams, r.Result.Error.Code, want)
		require.Contains(t, r.Result.Error.Message, want)
	}
}

// The tool fulfils the contract of tools (TE-10, TO-15).
func TestKeepsTheContract(t *testing.T) {
	var refused []json.RawMessage
	for _, questions := range bad() {
		refused = append(refused, raw(t, questions...))
	}
	tooltest.Run(t, tool(t, says(communicate.Answers{ByIndex: map[string]string{"0": "yes"}})), tooltest.Cases{
		Examples: []json.RawMessage{
			raw(t, text("Why?", "Why")), raw(t, choice("a", "b"), with(choice("a", "b", "c", "d"), "multiSelect", true)),
			raw(t, args{"question": "Go on?", "header": "Go", "type": "yesno", "placeholder": "y", "options": []args{}}),
		},
		Bad: refused,
	})
}

// The tool matches the specification that policy uses: it runs without approval, also in plan mode.
func TestSpec(t *testing.T) {
	spec := tool(t, nil).Spec()
	known, ok := policy.WellKnown(communicate.AskUser)
	require.True(t, ok)
	require.Equal(t, known.Kind, string(spec.Kind))
	require.Equal(t, known.Effects, []string{string(spec.Effects[0])})
	require.False(t, spec.Mutates())
	require.False(t, spec.Parallel, "the user answers one call after the other")
}

// TO-14: the user receives the questions unchanged, and the model receives the answers unchanged.
func TestAsks(t *testing.T) {
	var asked []communicate.Question
	p := userFunc(func(_ context.Context, questions []communicate.Question) (communicate.Answers, error) {
		asked = questions
		return communicate.Answers{ByIndex: map[string]string{"0": "a, b", "1": "my own\nwords <&>", "2": "no", "7": "of nothing"}}, nil
	})
	r := ask(t, p,
		with(with(choice("a", "b"), "multiSelect", true), "question", `One\nof these?`+"\n\nReally?"),
		with(choice("x", "y"), "header", "Other"),
		args{"question": "Go on?", "header": "Go", "type": "yesno"},
		with(text("Name?", "Name"), "placeholder", "Ada"))
	require.Equal(t, scheduler.StatusSuccess, r.Status)

	require.Len(t, asked, 4)
	require.Equal(t, communicate.Question{
		Question: `One\nof these?` + "\n\nReally?", Header: "Choice", Type: communicate.Choice, MultiSelect: true,
		Options: []communicate.Option{{Label: "a", Description: "It is a."}, {Label: "b", Description: "It is b."}},
	}, asked[0], "nothing is unescaped")
	require.Equal(t, communicate.Question{Question: "Name?", Header: "Name", Type: communicate.Text, Placeholder: "Ada"}, asked[3])

	report := configtest.Decode[communicate.Report](t, r)
	require.Equal(t, communicate.Report{
		Answers: map[string]string{"0": "a, b", "1": "my own\nwords <&>", "2": "no"},
		Headers: map[string]string{"0": "Choice", "1": "Other", "2": "Go", "3": "Name"},
		Notice:  "The user left 1 of the 4 questions unanswered.",
	}, report)
	require.Contains(t, r.Result.LLMContent.String(), `{"answers":{"0":"a, b",`)
	require.Equal(t, "Choice: a, b\nOther: my own\nwords <&>\nGo: no\n"+report.Notice, r.Result.ReturnDisplay.Text)
}

// Dismissing the questions is not a failure, and the result reports it.
func TestDismissed(t *testing.T) {
	for name, tt := range map[string]struct {
		answers communicate.Answers
		notice  string
	}{
		"dismissed":                        {communicate.Answers{Dismissed: true}, "The user dismissed the questions without an answer."},
		"dismissed while typing":           {communicate.Answers{Dismissed: true, ByIndex: map[string]string{"0": "ha"}}, "The user dismissed the questions without an answer."},
		"no answers":                       {communicate.Answers{}, "The user left all questions unanswered."},
		"blank answers":                    {communicate.Answers{ByIndex: map[string]string{"0": " \n"}}, "The user left all questions unanswered."},
		"an answer to an unknown question": {communicate.Answers{ByIndex: map[string]string{"00": "x", "-1": "y"}}, "The user left all questions unanswered."},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, says(tt.answers), text("Why?", "Why"))
			require.Equal(t, scheduler.StatusSuccess, r.Status)
			require.Equal(t, communicate.Report{Answers: map[string]string{}, Headers: map[string]string{"0": "Why"}, Notice: tt.notice},
				configtest.Decode[communicate.Report](t, r))
			require.Equal(t, tt.notice, r.Result.ReturnDisplay.Text)
		})
	}
}

// The answer to a yesno question is yes or no; other answers are passed on and marked as the user's own words.
func TestYesOrNo(t *testing.T) {
	sure := args{"question": "Go on?", "header": "Go", "type": "yesno"}
	for answer, want := range map[string]string{"yes": "yes", " Y\n": "yes", "NO": "no", "n": "no"} {
		report := configtest.Decode[communicate.Report](t, ask(t, says(communicate.Answers{ByIndex: map[string]string{"0": answer, "1": "n"}}), sure, text("Why?", "Why")))
		require.Equal(t, map[string]string{"0": want, "1": "n"}, report.Answers, "the answer to a text question is unchanged")
		require.Empty(t, report.Notice)
	}
	report := configtest.Decode[communicate.Report](t, ask(t,
		says(communicate.Answers{ByIndex: map[string]string{"0": "banana", "1": "yes!", "2": "yes"}}), sure, sure, sure, sure))
	require.Equal(t, map[string]string{"0": "banana", "1": "yes!", "2": "yes"}, report.Answers)
	require.Equal(t, "The user left 1 of the 4 questions unanswered. The user's own words instead of yes or no: the answer to 0, 1.", report.Notice)
}

// Bytes that are not valid UTF-8 do not reach the model.
func TestAnswerThatIsNotText(t *testing.T) {
	r := ask(t, says(communicate.Answers{ByIndex: map[string]string{"0": "a\xffb"}}), text("Why?", "Why"))
	require.Equal(t, "a\ufffdb", configtest.Decode[communicate.Report](t, r).Answers["0"])
}

// TO-14: without a front end the call fails at once, with the next step as remedy.
func TestNoFrontEnd(t *testing.T) {
	fails := func(err error) userFunc {
		return func(context.Context, []communicate.Question) (communicate.Answers, error) {
			return communicate.Answers{}, err
		}
	}
	for name, tt := range map[string]struct {
		user    communicate.User
		code    fault.Code
		message string
	}{
		"no user":     {nil, fault.NoApprover, "no user to ask"},
		"no listener": {fails(fault.Wrap(fault.NoApprover, "x.y", "None.", "", bus.ErrNoApprover)), fault.NoApprover, "no user to ask"},
		"closed":      {fails(fault.New(fault.NotInitialized, "x.y", "Closed.", "")), fault.NotInitialized, "Closed."},
		"other":       {fails(errors.New("connection reset")), fault.ExecutionFailed, "connection reset"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, tt.user, text("Why?", "Why"))
			require.Equal(t, scheduler.StatusError, r.Status)
			require.Equal(t, tt.code, r.Result.Error.Code)
			require.Contains(t, r.Result.Error.Message, tt.message)
			if tt.code == fault.NoApprover {
				require.Contains(t, r.Result.Error.Remedy, "without the user")
			}
		})
	}
}

// onBus returns a user who is asked over a message bus, as in a session.
func onBus(b *bus.MessageBus) userFunc {
	return func(ctx context.Context, questions []communicate.Question) (communicate.Answers, error) {
		m := bus.AskUserRequest{}
		for _, q := range questions {
			wire := bus.UserQuestion{Question: q.Question, Header: q.Header, Type: bus.UserQuestionType(q.Type), MultiSelect: q.MultiSelect, Placeholder: q.Placeholder}
			for _, o := range q.Options {
				wire.Options = append(wire.Options, bus.UserOption(o))
			}
			m.Questions = append(m.Questions, wire)
		}
		a, err := bus.Ask(ctx, b, m)
		if errors.Is(err, bus.ErrNoApprover) || errors.Is(err, bus.ErrClosed) {
			err = fault.Wrap(fault.NoApprover, "test.ask", "No front end.", "", err)
		}
		return communicate.Answers{ByIndex: a.Answers, Dismissed: a.Cancelled}, err
	}
}

// TO-14: the questions are sent over the bus to a front end, if there is one. They end with the call.
func TestOverTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		asks := tool(t, onBus(b))
		call := func(ctx context.Context) tools.Result {
			inv, err := asks.Build(raw(t, with(choice("red", "blue"), "header", "Colour")))
			require.NoError(t, err)
			result, err := inv.Execute(ctx, nil)
			require.NoError(t, err)
			tooltest.CheckResult(t, asks.Spec(), result)
			return result
		}
		require.Equal(t, fault.NoApprover, call(t.Context()).Error.Code)

		front := bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.AskUserRequest) {
			label := q.Questions[0].Options[1].Label
			_ = b.Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: map[string]string{"0": label}})
		})
		require.Equal(t, `{"answers":{"0":"blue"},"headers":{"0":"Colour"}}`, call(t.Context()).LLMContent.String())
		front.Unsubscribe()

		// A front end that never answers blocks the call until it is cancelled.
		silent := bus.Subscribe(t.Context(), b, func(ctx context.Context, _ bus.AskUserRequest) { <-ctx.Done() })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan tools.Result, 1)
		go func() { ended <- call(ctx) }()
		time.Sleep(time.Hour) // on the fake clock
		synctest.Wait()
		require.Empty(t, ended)
		cancel()
		require.Equal(t, fault.Cancelled, (<-ended).Error.Code)

		// A front end that disconnects during the call counts as missing.
		go func() { ended <- call(t.Context()) }()
		synctest.Wait()
		silent.Unsubscribe()
		require.Equal(t, fault.NoApprover, (<-ended).Error.Code)
		require.NoError(t, b.Close())
	})
}

func TestDescription(t *testing.T) {
	inv, err := tool(t, nil).Build(raw(t, text("Why?", "Why\nnot"), text("How?", "How")))
	require.NoError(t, err)
	require.Equal(t, "Ask the user: Why not, How", inv.Description())
}

package dialogs

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/frame"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
	"github.com/fettle-dev/fettle/core/bus"
)

// Form asks the questions of a [bus.AskUserRequest] one after another.
type Form struct {
	request bus.AskUserRequest
	fields  []*field
	at      int
	frame.Scroller
	wrong   string
	columns int  // as last displayed
	moved   bool // the user moved among the options
}

// The options of a question for yes or no. The selection starts at no.
const (
	yes = iota
	no
)

// field is one question with the answer so far.
type field struct {
	bus.UserQuestion
	words  textfield.Model
	chosen map[int]bool // marked options of a multiple choice
	at     int          // index of the selected option; len(Options): free text
	answer string
	left   bool // skipped
}

func NewForm(q bus.AskUserRequest) *Form {
	f := &Form{request: q}
	for _, one := range q.Questions {
		q := &field{UserQuestion: one, chosen: map[int]bool{}}
		if one.Type == bus.QuestionYesNo {
			q.at = no
		}
		f.fields = append(f.fields, q)
	}
	return f
}

// choice reports whether the question has options; otherwise the answer is free text.
func (f *field) choice() bool { return f.Type == bus.QuestionChoice && len(f.Options) > 0 }

// typing reports whether keys are text now.
func (f *field) typing() bool {
	return f.Type != bus.QuestionYesNo && (!f.choice() || f.at == len(f.Options))
}

// omittable reports whether the question may be skipped.
func (f *field) omittable() bool { return f.Optional || f.Default != "" }

func (f *Form) field() *field {
	if f.at < len(f.fields) {
		return f.fields[f.at]
	}
	return &field{UserQuestion: bus.UserQuestion{Type: bus.QuestionText}}
}

func (f *Form) Paste(text string) bool {
	q := f.field()
	if q.typing() {
		q.words.Paste(text)
	}
	return q.typing()
}

func (f *Form) Means(k tea.KeyPressMsg) Meaning {
	switch q := f.field(); {
	case q.typing() || k.Text == " ":
		return Harmless
	case q.Type == bus.QuestionYesNo:
		if strings.EqualFold(k.Text, "y") || strings.EqualFold(k.Text, "n") {
			return Answers
		}
	case len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9":
		return Harmless
	}
	return Stray
}

func (f *Form) Failed(why string) { f.wrong = why }

func (f *Form) Key(k tea.KeyPressMsg) (bus.Answer, tea.Cmd) {
	f.wrong = ""
	q := f.field()
	switch action := keymap.Find(keymap.Form, k.Keystroke()); {
	case action == keymap.Close:
		return bus.AskUserResponse{CorrelationID: f.request.CorrelationID, Answers: map[string]string{}, Cancelled: true}, nil
	case len(f.fields) == 0:
		return f.next(), nil
	case action == keymap.Previous:
		f.at, f.Offset, f.moved = max(f.at-1, 0), 0, false
		f.field().left = false
	case action == keymap.Skip && q.omittable():
		q.left = true
		return f.next(), nil
	case q.Type == bus.QuestionYesNo:
		return f.yesNoKey(q, k, action), nil
	case action == keymap.Accept:
		return f.enter(q), nil
	case q.choice() && f.optionKey(q, k, action):
	case q.typing() && q.words.Key(k, frame.Inside(f.columns)-2):
	default:
		f.scrollKey(action)
	}
	return nil, nil
}

// scrollKey performs an action that scrolls the question, and reports whether it was one.
// Keys that select or mark scroll if the question has nothing to select or mark.
func (f *Form) scrollKey(action keymap.Action) bool {
	switch action {
	case keymap.Up:
		action = keymap.ScrollUp
	case keymap.Down:
		action = keymap.ScrollDown
	case keymap.Mark:
		action = keymap.PageDown
	}
	f.moved = false
	return f.Do(action)
}

// Scroll moves the window on the question by n rows, down if n > 0.
func (f *Form) Scroll(n int) {
	f.moved = false
	f.Scroller.Scroll(n)
}

func (f *Form) yesNoKey(q *field, k tea.KeyPressMsg, action keymap.Action) bus.Answer {
	switch text := strings.ToLower(k.Text); {
	case text == "y", action == keymap.Accept && q.at == yes:
		q.answer = "yes"
	case text == "n", action == keymap.Accept:
		q.answer = "no"
	case action == keymap.Up, action == keymap.Down:
		q.at, f.moved = yes+no-q.at, true
		return nil
	default:
		if !f.scrollKey(action) {
			f.wrong = "Type y or n."
		}
		return nil
	}
	return f.next()
}

// optionKey handles a key that moves between options or marks one, and reports
// whether it was one.
func (f *Form) optionKey(q *field, k tea.KeyPressMsg, action keymap.Action) bool {
	last := len(q.Options)
	switch {
	case action == keymap.Up:
		f.moved = true
		q.at = max(q.at-1, 0)
	case action == keymap.Down:
		f.moved = true
		q.at = min(q.at+1, last)
	case q.at == last: // any other key is text
		return false
	case action == keymap.Mark && q.MultiSelect:
		q.chosen[q.at], f.moved = !q.chosen[q.at], true
	case len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9":
		n := int(k.Text[0] - '1')
		if n > last {
			f.wrong = "There is no option " + k.Text + "."
			return true
		}
		q.at, f.moved = n, true
		if q.MultiSelect && n < last {
			q.chosen[n] = !q.chosen[n]
		}
	default:
		return false
	}
	return true
}

// enter accepts the selected option or the typed text as the answer.
func (f *Form) enter(q *field) bus.Answer {
	switch words := strings.TrimSpace(q.words.Value()); {
	case q.typing() && words == "" && q.omittable():
		q.left = true
		return f.next()
	case q.typing() && words == "":
		f.wrong = "An answer is required; esc cancels."
		return nil
	case q.typing():
		q.answer = words
	case q.MultiSelect:
		var labels []string
		for i, o := range q.Options {
			if q.chosen[i] {
				labels = append(labels, o.Label)
			}
		}
		if len(labels) == 0 {
			f.wrong = "Mark at least one with space."
			return nil
		}
		q.answer = strings.Join(labels, ", ")
	default:
		q.answer = q.Options[q.at].Label
	}
	return f.next()
}

// next moves to the next question, or returns all answers after the last.
func (f *Form) next() bus.Answer {
	f.Offset, f.moved = 0, false
	if f.at++; f.at < len(f.fields) {
		f.fields[f.at].left = false
		return nil
	}
	answers := map[string]string{}
	for i, q := range f.fields {
		if !q.left {
			answers[strconv.Itoa(i)] = q.answer
		}
	}
	return bus.AskUserResponse{CorrelationID: f.request.CorrelationID, Answers: answers}
}

package dialogs

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
	"github.com/fettle-dev/fettle/core/bus"
)

// Confirmation is the approval dialog of a tool call. Its answers are selectable lines.
// The selection starts at the denial, so that Enter alone allows nothing.
type Confirmation struct {
	request bus.ToolConfirmationRequest
	choices []approval.Choice
	at      int     // index of the selected choice
	edit    tea.Cmd // opens the user's editor; nil: cannot be edited
	frame.Scroller

	refusing bool            // the reason for a denial is being typed
	words    textfield.Model // the reason
	wrong    string          // why the last key had no effect

	body description // of the call, for the style
	look blocks.Style
}

// NewConfirmation returns the dialog of a request. savedIn is the file of saved
// approvals, as displayed; "": unknown. edit opens the proposed content in the user's
// editor; nil: it cannot be edited.
func NewConfirmation(q bus.ToolConfirmationRequest, savedIn string, edit tea.Cmd) *Confirmation {
	c := &Confirmation{request: q, edit: edit}
	for _, choice := range approval.Choices(q, savedIn) {
		if choice.Outcome != bus.ModifyWithEditor || edit != nil {
			c.choices = append(c.choices, choice)
		}
	}
	c.at = len(c.choices) - 1 // no
	return c
}

func (c *Confirmation) Paste(text string) bool {
	if c.refusing {
		c.words.Paste(text)
	}
	return c.refusing
}

// typed returns the choice of a printable key: its letter or its number.
func (c *Confirmation) typed(k tea.KeyPressMsg) (choice int, found bool) {
	for i, choice := range c.choices {
		if strings.EqualFold(k.Text, choice.Key) || k.Text == number(i) {
			return i, true
		}
	}
	return 0, false
}

// number returns the key that selects the choice i by its number; "" from the tenth.
func number(i int) string {
	if i > 8 {
		return ""
	}
	return string(rune('1' + i))
}

// Means reports that "no" is harmless: it only opens a text field that Enter sends,
// so text may follow it immediately.
func (c *Confirmation) Means(k tea.KeyPressMsg) Meaning {
	if c.refusing || k.Text == " " {
		return Harmless
	}
	switch i, found := c.typed(k); {
	case !found:
		return Stray
	case c.choices[i].Outcome == bus.Cancel:
		return Harmless
	default:
		return Answers
	}
}

func (c *Confirmation) Failed(why string) { c.wrong = why }

func (c *Confirmation) Key(k tea.KeyPressMsg) (bus.Answer, tea.Cmd) {
	c.wrong = ""
	if c.refusing {
		return c.wordKey(k), nil
	}
	switch action := keymap.Find(keymap.Approval, k.Keystroke()); action {
	case keymap.Close:
		return c.answer(bus.Cancel), nil
	case keymap.Up:
		c.at = (c.at + len(c.choices) - 1) % len(c.choices)
	case keymap.Down:
		c.at = (c.at + 1) % len(c.choices)
	case keymap.Accept:
		return c.choose(c.at)
	default:
		if c.Do(action) {
			break
		}
		if i, found := c.typed(k); found {
			c.at = i
			return c.choose(i)
		}
	}
	return nil, nil
}

// choose answers with a choice. A denial asks for its reason first.
func (c *Confirmation) choose(i int) (bus.Answer, tea.Cmd) {
	switch o := c.choices[i].Outcome; o {
	case bus.Cancel:
		c.refusing = true
		return nil, nil
	case bus.ModifyWithEditor:
		return nil, c.edit
	default:
		return c.answer(o), nil
	}
}

// wordKey handles a key while the reason for a denial is typed.
func (c *Confirmation) wordKey(k tea.KeyPressMsg) bus.Answer {
	switch action := keymap.Find(keymap.Reason, k.Keystroke()); action {
	case keymap.Accept:
		return c.answer(bus.Cancel)
	case keymap.Back: // the text remains for the next denial
		c.refusing = false
	case keymap.Close:
		c.words.Reset()
		return c.answer(bus.Cancel)
	default:
		if !c.Do(action) { // otherwise the call is read while the reason is typed
			c.words.Key(k, frame.Inside(c.look.Columns)-noWidth)
		}
	}
	return nil
}

func (c *Confirmation) answer(o bus.Outcome) bus.Answer {
	feedback := ""
	if o == bus.Cancel && c.refusing {
		feedback = strings.TrimSpace(c.words.Value())
	}
	return bus.ToolConfirmationResponse{
		CorrelationID: c.request.CorrelationID, Confirmed: o != bus.Cancel, Outcome: o,
		Payload: bus.Payload{Feedback: feedback},
	}
}

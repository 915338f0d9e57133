package approval

import (
	"context"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// answerAll puts the questions of a tool to the person, one after the other, and
// publishes the answers. Nothing typed leaves out a question that is
// optional; where an answer is needed it is asked again, so that no slip throws
// away the answers before. [giveUp] leaves all of them without an answer, as the end
// of input does. Questions that end meanwhile get none. It reports whether they
// could be shown.
func (t *Terminal) answerAll(ctx context.Context, b *bus.MessageBus, asked bus.AskUserRequest) (shown bool) {
	response := bus.AskUserResponse{CorrelationID: asked.CorrelationID, Answers: map[string]string{}}
	intro := "The model"
	switch {
	case asked.Program:
		intro = "The program"
	case asked.Server != "":
		intro = "The MCP server " + display.Line(asked.Server)
	case asked.Subagent != "":
		intro = "The subagent " + display.Line(asked.Subagent)
	}
	if len(asked.Questions) > 1 {
		intro += " asks you " + strconv.Itoa(len(asked.Questions)) + " questions."
	} else {
		intro += " asks you something."
	}
	intro = display.Paint(display.StyleBold, intro, t.colour) + display.Paint(display.StyleDim, enterAlone(asked.Questions), t.colour)
	if !t.Screen.Say("\n%s\n", display.Fold(intro, "", t.Room())) {
		return false
	}
	for i, one := range asked.Questions {
		q := question{one, i + 1, len(asked.Questions)}
		if !t.Screen.Say("%s", q.render(t.Columns(), t.colour)) {
			return false
		}
		answer, given := t.answerOne(ctx, q)
		if ctx.Err() != nil {
			t.ended(ctx)
			return true
		}
		if given && answer == "" {
			continue // it is left out
		}
		if !given {
			response.Answers, response.Cancelled = map[string]string{}, true
			break
		}
		response.Answers[strconv.Itoa(i)] = answer
	}
	t.publish(b, response)
	return true
}

// giveUp is what is typed to give no answer at all.
const giveUp = "/cancel"

// enterAlone says what typing nothing means, and how to give no answer.
func enterAlone(questions []bus.UserQuestion) string {
	for _, q := range questions {
		if q.Optional || q.Default != "" {
			return " Enter alone leaves out what is optional; " + giveUp + " gives it no answer."
		}
	}
	return " " + giveUp + " gives it no answer."
}

// answerOne reads lines until one is an answer, "" for an optional question that is
// left out. What was typed before all of the
// question was shown, or before the person was told what is wrong, does not
// count.
func (t *Terminal) answerOne(ctx context.Context, q question) (answer string, given bool) {
	t.Lines.discard(t.Tty)
	for {
		t.Screen.Say("%s", display.Fold(q.prompt(t.colour), "", t.Room()))
		line, err := t.Lines.Read(ctx)
		if ctx.Err() != nil {
			return "", false
		}
		switch strings.TrimSpace(line) {
		case giveUp:
			return "", false
		case "":
			if err != nil {
				t.Screen.Say("\n") // no Enter has ended the line
				return "", false
			}
			if q.Optional || q.Default != "" {
				return "", true
			}
			t.Screen.Say("An answer is needed; %s gives none to any question.\n", giveUp)
			continue
		}
		answer, wrong := q.answer(line)
		switch {
		case wrong == nil:
			return answer, true
		case err != nil:
			return "", false
		}
		t.Screen.Say("%s\n", display.Printable(display.Sentence(wrong.Error())))
		t.Lines.discard(t.Tty)
	}
}

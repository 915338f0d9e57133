package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
)

// answerAll puts the questions of a tool to the person, one after the other, and
// publishes the answers (TO-14). Nothing typed, or the end of input, leaves all
// of them without an answer. Questions that end meanwhile get none. It reports
// whether they could be shown.
func (t *terminal) answerAll(ctx context.Context, b *bus.MessageBus, asked bus.AskUserRequest) (shown bool) {
	response := bus.AskUserResponse{CorrelationID: asked.CorrelationID, Answers: map[string]string{}}
	intro := "The model"
	if asked.Subagent != "" {
		intro = "The subagent " + oneLine(asked.Subagent)
	}
	if len(asked.Questions) > 1 {
		intro += " asks you " + strconv.Itoa(len(asked.Questions)) + " questions."
	} else {
		intro += " asks you something."
	}
	intro = paint(styleBold, intro, t.colour) + paint(styleDim, " Enter alone gives it no answer.", t.colour)
	if !t.screen.say("\n%s\n", fold(intro, "", t.room())) {
		return false
	}
	for i, one := range asked.Questions {
		q := question{one, i + 1, len(asked.Questions)}
		if !t.screen.say("%s", q.render(t.columns(), t.colour)) {
			return false
		}
		answer, given := t.answerOne(ctx, q)
		if ctx.Err() != nil {
			t.ended(ctx)
			return true
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

// answerOne reads lines until one is an answer. What was typed before all of the
// question was shown, or before the person was told what is wrong, does not
// count.
func (t *terminal) answerOne(ctx context.Context, q question) (answer string, given bool) {
	t.lines.discard(t.tty)
	for {
		t.screen.say("%s", fold(q.prompt(t.colour), "", t.room()))
		line, err := t.lines.read(ctx)
		if ctx.Err() != nil {
			return "", false
		}
		if strings.TrimSpace(line) == "" {
			if err != nil {
				t.screen.say("\n") // no Enter has ended the line
			}
			return "", false
		}
		answer, wrong := q.answer(line)
		switch {
		case wrong == nil:
			return answer, true
		case err != nil:
			return "", false
		}
		t.screen.say("%s\n", printable(sentence(wrong.Error())))
		t.lines.discard(t.tty)
	}
}

package approval

import (
	"context"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// answerAll asks the user the questions of a tool one after another and publishes the
// answers. An empty line skips an optional question; a required answer is asked for
// again, so that a slip does not discard the earlier answers. [giveUp] and the end of
// input cancel all questions. Questions that end meanwhile get no answer. It reports
// whether the questions could be shown.
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
		intro += " asks for input."
	}
	intro = display.Paint(display.StyleBold, intro, t.colour) + display.Paint(display.StyleDim, enterAlone(asked.Questions), t.colour)
	t.ring()
	if !t.Screen.Printf("\n%s\n", display.Fold(intro, "", t.Room())) {
		return false
	}
	for i, one := range asked.Questions {
		if asked.Program { // in Markdown
			one.Question = display.PlainMarkdown(one.Question)
		}
		q := question{one, i + 1, len(asked.Questions)}
		if !t.Screen.Printf("%s", q.render(t.Columns(), t.colour)) {
			return false
		}
		answer, given := t.answerOne(ctx, q)
		if ctx.Err() != nil {
			t.ended(ctx)
			return true
		}
		if given && answer == "" {
			continue // skipped
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

// giveUp is the line that cancels all questions.
const giveUp = "/cancel"

// enterAlone explains the empty line and how to cancel.
func enterAlone(questions []bus.UserQuestion) string {
	for _, q := range questions {
		if q.Optional || q.Default != "" {
			return " Enter alone skips an optional question; " + giveUp + " cancels."
		}
	}
	return " " + giveUp + " cancels."
}

// answerOne reads lines until one is a valid answer, "" for a skipped optional
// question. Text typed before the question or a correction was shown does not count.
func (t *Terminal) answerOne(ctx context.Context, q question) (answer string, given bool) {
	t.Lines.discard(t.Tty)
	for {
		t.Screen.Prompt(ctx, display.Fold(q.prompt(t.colour), "", t.Room()))
		line, err := t.Lines.Read(ctx)
		t.Screen.Answered()
		if ctx.Err() != nil {
			return "", false
		}
		switch strings.TrimSpace(line) {
		case giveUp:
			return "", false
		case "":
			if err != nil {
				t.Screen.Printf("\n") // no Enter has ended the line
				return "", false
			}
			if q.Optional || q.Default != "" {
				return "", true
			}
			t.Screen.Printf("An answer is required; %s cancels all questions.\n", giveUp)
			continue
		}
		answer, wrong := q.answer(line)
		switch {
		case wrong == nil:
			return answer, true
		case err != nil:
			return "", false
		}
		t.Screen.Printf("%s\n", display.Printable(display.Sentence(wrong.Error())))
		t.Lines.discard(t.Tty)
	}
}

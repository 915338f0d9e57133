package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// mostTold is how much of what a command of the person's printed the model is
// told, in bytes.
const mostTold = 16 << 10

// shell runs a command line of the person's own. The model is told of it with the
// next prompt.
func (w *work) shell(ctx context.Context, line string) {
	if line == "" {
		w.message(interactive.LevelInfo, "A line that begins with ! runs a command, as !git status.")
		return
	}
	w.send(interactive.Event{Kind: interactive.EventWorking, Text: "Running " + display.Line(line)})
	result, err := w.config.RunCommand(ctx, line, nil)
	w.send(interactive.Event{Kind: interactive.EventWorking})
	if err != nil {
		w.fail(ctx, err)
		return
	}
	ending := howItEnded(result)
	w.send(interactive.Event{Kind: interactive.EventShell, Title: line, Text: strings.TrimRight(result.Text, "\n") + ending})
	printed := result.Text
	if len(printed) > mostTold {
		printed = escape.Head(printed, mostTold) + "\n[the rest is left out]"
	}
	w.tell(model.TextPart(fmt.Sprintf("The person has run a command:\n<command>%s</command>\n<output>\n%s%s\n</output>",
		tools.EscapeTag(line, "command"), tools.EscapeTag(printed, "output"), ending)))
}

// howItEnded says how a command ended that did not end well, on a line of its own.
func howItEnded(r process.Result) string {
	switch {
	case r.Ending != "":
		return fmt.Sprintf("\n[ended by: %s]", r.Ending)
	case r.Signal != "":
		return fmt.Sprintf("\n[signal %s]", r.Signal)
	case r.Code != 0:
		return fmt.Sprintf("\n[exit code %d]", r.Code)
	}
	return ""
}

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

// maxShellContext is the maximum number of output bytes of a shell line that the
// model receives.
const maxShellContext = 16 << 10

// shellContextBegin begins the text with a shell line for the model.
const shellContextBegin = "The user ran a command:\n<command>"

// shell runs a shell line of the user. The model receives it and its output with the
// next prompt.
func (w *work) shell(ctx context.Context, line string) {
	if line == "" {
		w.message(interactive.LevelInfo, "A line that begins with ! runs a shell command, such as !git status.")
		return
	}
	if command, needs := terminalLine(line); needs && command != "" && (command != line || w.hasTerminal()) {
		w.fail(ctx, w.inTerminal(ctx, command))
		return
	}
	w.send(interactive.Event{Kind: interactive.EventWorking, Text: "Running " + display.Line(line)})
	result, err := w.config.RunCommand(ctx, line, nil)
	w.send(interactive.Event{Kind: interactive.EventWorking})
	if err != nil {
		w.fail(ctx, err)
		return
	}
	ending := endingNote(result)
	w.send(interactive.Event{Kind: interactive.EventShell, Title: line, Text: strings.TrimRight(result.Text, "\n") + ending})
	printed := result.Text
	if len(printed) > maxShellContext {
		printed = escape.Head(printed, maxShellContext) + "\n[output truncated]"
	}
	w.addContext(model.TextPart(fmt.Sprintf(shellContextBegin+"%s</command>\n<output>\n%s%s\n</output>",
		tools.EscapeTag(line, "command"), tools.EscapeTag(printed, "output"), ending)))
}

// endingNote describes an unsuccessful end of a command, on a separate line.
func endingNote(r process.Result) string {
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

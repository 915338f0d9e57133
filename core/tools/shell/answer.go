package shell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// answer is what the model is told of a command: lines of what is known of it,
// and the output last, so that no output can pass for such a line.
type answer struct{ b strings.Builder }

func (a *answer) line(name, text string) {
	a.b.WriteString(name + ": " + strings.ReplaceAll(text, "\n", " ") + "\n")
}

// exit tells how the command ended, where there is something to tell. expected
// is false for a command that was ended, whose code says nothing.
func (a *answer) exit(e process.Exit, expected bool) {
	if e.Signal != "" {
		a.line("Signal", e.Signal)
	} else if e.Code != 0 && expected {
		a.line("Exit Code", strconv.Itoa(e.Code))
	}
}

// confined tells why a command may have failed that is confined.
func (a *answer) confined(by *process.Confinement, e process.Exit) {
	if by == nil || by.Kind == process.Unconfined || e.Code == 0 && e.Signal == "" {
		return
	}
	where := "the workspace"
	for _, folder := range by.Writable {
		where += ", " + printable(folder)
	}
	text := "Commands are confined by " + string(by.Kind) + ": they can write only in " + where + " and below $TMPDIR"
	switch {
	case by.NoTCP && by.Kind == process.Container:
		text += ", and reach no network"
	case by.NoTCP:
		text += ", and open no TCP connection"
	}
	a.line("Note", text+".")
}

// saved tells where the whole of a cut output is.
func (a *answer) saved(r process.Result) {
	switch {
	case r.SavedPath != "" && r.SavedBytes < r.Bytes:
		a.line("Saved Output", fmt.Sprintf("%s (the first %d of %d bytes)", r.SavedPath, r.SavedBytes, r.Bytes))
	case r.SavedPath != "":
		a.line("Saved Output", fmt.Sprintf("%s (%d bytes)", r.SavedPath, r.Bytes))
	case r.SaveError != nil:
		a.line("Saved Output", "none, as saving failed: "+r.SaveError.Error())
	}
}

// files lists paths in one line, the first of very many.
func (a *answer) files(name string, paths []string, note string) {
	const most = 20
	if len(paths) == 0 {
		return
	}
	var shown []string
	for _, p := range paths[:min(len(paths), most)] {
		shown = append(shown, printable(p))
	}
	text := strings.Join(shown, ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	a.line(name, text+" ("+note+")")
}

// process tells of a background process and of output that it lost.
func (a *answer) process(u process.Unread) {
	a.line("Background Process", state(u.Info))
	if u.Dropped > 0 {
		a.line("Dropped", fmt.Sprintf("%d bytes before this output, which nobody read in time", u.Dropped))
	}
	if u.Unread > 0 {
		a.line("Unread", fmt.Sprintf("%d bytes after this output; read again to see them", u.Unread))
	}
}

// content returns the lines, and after them the output as what it is: text
// from outside.
func (a *answer) content(output string) tools.Content {
	if strings.TrimSuffix(output, "\n") == "" {
		return tools.Text(a.b.String() + "Output: (empty)")
	}
	return tools.Text(a.b.String() + "Output:\n" + tools.Untrusted(output))
}

// state describes a background process in one line.
func state(i process.Info) string {
	how := "RUNNING"
	if !i.Running {
		how = "EXITED"
		if i.Signal != "" {
			how += " by " + i.Signal
		} else {
			how += " with code " + strconv.Itoa(i.Code)
		}
	}
	return fmt.Sprintf("%s, PID %d, %s: %s", i.ID, i.PID, how, printable(i.Command))
}

// printable returns text that fits into a line, quoted where it would not.
func printable(s string) string { return escape.Clip(escape.Quoted(s), 200) }

// display is what a person sees of a command that has run.
func display(r process.Result) tools.Display {
	note := ""
	switch {
	case r.Ending != "":
		note = "[ended: " + string(r.Ending) + "]"
	case r.Signal != "":
		note = "[" + r.Signal + "]"
	case r.Code != 0:
		note = fmt.Sprintf("[exit code %d]", r.Code)
	}
	if r.ANSI == "" {
		note = cmp.Or(note, "[no output]")
		return tools.TextDisplay(note)
	}
	shown := strings.ToValidUTF8(r.ANSI, "\ufffd")
	if note != "" {
		shown = strings.TrimSuffix(shown, "\n") + "\x1b[0m\n" + note
	}
	return tools.Display{ANSI: &tools.ANSIOutput{ANSI: shown}}
}

func join(pids []int) string {
	texts := make([]string, len(pids))
	for i, pid := range pids {
		texts[i] = strconv.Itoa(pid)
	}
	return strings.Join(texts, ", ")
}

// rename moves the argument old to name unless name is given too.
func rename(args map[string]json.RawMessage, old, name string) {
	v, ok := args[old]
	if !ok {
		return
	}
	if _, both := args[name]; both {
		return
	}
	args[name] = v
	delete(args, old)
}

// badParameter refuses a parameter by a rule of the tool's own.
func badParameter(message, remedy string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "shell.validate", message, remedy)
	e.Short = "Invalid arguments"
	return e
}

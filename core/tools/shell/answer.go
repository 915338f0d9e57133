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

// answer is the result of a command for the model: lines about the command, followed by its output, so that the output
// cannot contain such a line.
type answer struct{ b strings.Builder }

func (a *answer) line(name, text string) {
	a.b.WriteString(name + ": " + strings.ReplaceAll(text, "\n", " ") + "\n")
}

// exit writes how the command ended, if that is of interest. expected is false for a command that was ended, because its
// exit code has no meaning.
func (a *answer) exit(e process.Exit, expected bool) {
	if e.Signal != "" {
		a.line("Signal", e.Signal)
	} else if e.Code != 0 && expected {
		a.line("Exit Code", strconv.Itoa(e.Code))
	}
}

// confined writes the limits of a confined command, which may be the cause of a failure.
func (a *answer) confined(by *process.Confinement, e process.Exit) {
	if by == nil || by.Kind == process.Unconfined || e.Code == 0 && e.Signal == "" {
		return
	}
	where := "the workspace"
	for _, dir := range by.Writable {
		where += ", " + printable(dir)
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

// saved writes where the complete output is saved.
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

// files writes paths on one line, limited to the first ones.
func (a *answer) files(name string, paths []string, note string) {
	if len(paths) > 0 {
		a.line(name, escape.Paths(paths)+" ("+note+")")
	}
}

// process writes the state of a background process and the amount of dropped output.
func (a *answer) process(u process.Unread) {
	a.line("Background Process", state(u.Info))
	if u.Dropped > 0 {
		a.line("Dropped", fmt.Sprintf("%d bytes before this output, which were not read in time", u.Dropped))
	}
	if u.Unread > 0 {
		a.line("Unread", fmt.Sprintf("%d bytes after this output; read again to see them", u.Unread))
	}
	a.removed(u.Removed, u.RemoveError)
}

// removed writes which protected paths were moved away, and why some were not.
func (a *answer) removed(paths []string, why error) {
	a.files("Removed Protected Paths", paths, "which commands may not create, because they decide what runs later; a file tool or an unconfined command can; fettle recover tells where they are kept")
	if why != nil {
		a.line("Remaining Protected Paths", printable(why.Error())+" (tell the user to inspect and remove them)")
	}
}

// content returns the lines followed by the output, marked as untrusted.
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

// printable returns text for a line, quoted if needed.
func printable(s string) string { return escape.Clip(escape.Quoted(s), 200) }

// display returns the result of a command for the user.
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
	return tools.Display{ANSI: &tools.ANSIOutput{ANSI: shown, SavedPath: r.SavedPath}}
}

func join(pids []int) string {
	texts := make([]string, len(pids))
	for i, pid := range pids {
		texts[i] = strconv.Itoa(pid)
	}
	return strings.Join(texts, ", ")
}

// rename moves the argument old to name unless name is present too.
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

// badParameter returns the error for a parameter that violates a rule of the tool.
func badParameter(message, remedy string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "shell.validate", message, remedy)
	e.Short = "Invalid arguments"
	return e
}

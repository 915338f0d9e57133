package discovered

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/plaintext"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// The number of bytes of a program's output that are shown: in a result, and of each stream in a failure.
const (
	maxResult  = 256 << 10
	maxFailure = 32 << 10
)

// result returns the result of a call whose program has run.
func (t *tool) result(out process.Output) tools.Result {
	r := t.outcome(out)
	for _, note := range RemovedNotes(out.Removed, out.RemoveError) {
		r.LLMContent.Parts = append(r.LLMContent.Parts, tools.Part{Text: "\n" + note})
	}
	return r
}

// RemovedNotes returns what a result says about the protected paths that a confined program has
// created: those that were moved away, and why some were not. nil: nothing.
func RemovedNotes(removed []string, why error) []string {
	var notes []string
	if len(removed) > 0 {
		notes = append(notes, "Removed Protected Paths (which confined programs may not create; fettle recover lists where they are kept): "+escape.Paths(removed))
	}
	if why != nil {
		notes = append(notes, "Remaining Protected Paths (tell the user to inspect and remove them): "+escape.Clip(escape.Quoted(why.Error()), 500))
	}
	return notes
}

func (t *tool) outcome(out process.Output) tools.Result {
	e := t.failure(out)
	if e == nil {
		text := shown(out.Stdout, maxResult)
		if text == "" {
			return tools.Result{LLMContent: tools.Text("(empty)"), ReturnDisplay: tools.TextDisplay("[no output]")}
		}
		return tools.Result{LLMContent: tools.Text(tools.Untrusted(text)), ReturnDisplay: tools.TextDisplay(text)}
	}
	code, signal := "(none)", "(none)"
	if out.Signal != "" {
		signal = out.Signal
	} else {
		code = strconv.Itoa(out.Code)
	}
	stdout, stderr := shown(out.Stdout, maxFailure), shown(out.Stderr, maxFailure)
	return tools.Result{
		LLMContent: tools.Text(labelled("Stdout", stdout) + "\n" + labelled("Stderr", stderr) +
			"\nError: " + e.Message + "\nExit Code: " + code + "\nSignal: " + signal),
		ReturnDisplay: tools.TextDisplay(e.Message + "\n" + strings.TrimSpace(stderr+"\n"+stdout)),
		Error:         e,
	}
}

// failure returns why a call failed, or nil.
func (t *tool) failure(out process.Output) *fault.Error {
	fail := func(why, remedy string) *fault.Error {
		return fault.New(fault.DiscoveredToolFailed, "discovered.call",
			fmt.Sprintf("The program of the tool %s failed: %s.", t.spec.Name, why), remedy)
	}
	const look = "Check its output."
	switch {
	case out.Ending == process.Cancelled:
		return fault.New(fault.Cancelled, "discovered.call", "The call was cancelled, and its program ended.", "")
	case out.Ending == process.Closed:
		return fault.New(fault.Cancelled, "discovered.call", "The session ended, and the program with it.", "")
	case out.Ending == process.TotalLimit:
		return fail(fmt.Sprintf("it ran for more than %v and was ended", t.o.CallTotal), "Request less in one call.").Because(fault.TotalLimit)
	case out.Ending == process.OutputLimit:
		return fail(fmt.Sprintf("it printed more than %d bytes and was ended", t.o.MaxBytes), "Request less in one call.")
	case out.Signal != "":
		return fail("it was ended by "+out.Signal, look)
	case out.Code != 0:
		return fail(fmt.Sprintf("it exited with code %d", out.Code), look)
	case len(out.Stderr) > 0:
		return fail("it printed to stderr, which counts as failure", look)
	}
	return nil
}

// shown returns a stream as text, with the middle of a long one omitted.
func shown(b []byte, most int) string {
	text := plaintext.Of(string(b))
	head, tail, omitted := escape.Ends(text, most/2, most/2)
	if omitted == 0 {
		return text
	}
	return fmt.Sprintf("%s\n... [%d bytes omitted] ...\n%s", head, omitted, tail)
}

// labelled returns a stream after its label, marked as untrusted.
func labelled(label, text string) string {
	if text == "" {
		return label + ": (empty)"
	}
	return label + ":\n" + tools.Untrusted(text)
}

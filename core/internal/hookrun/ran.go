package hookrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

// ran is the outcome of one hook, as long as it is not complete.
type ran struct {
	hookresult.Ran
	ok bool // exit code 0, or no error: all of the output applies

	// Of a hook of Claude Code.
	call      claudeCall
	plainText bool // the message is what it printed
}

func (r *ran) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// noReason is used for a hook without a reason.
const noReason = "No reason was given."

// because returns the first text that is not blank.
func because(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return noReason
}

// maxPlain bounds a plain text that is used as message or reason, in bytes.
const maxPlain = 16 << 10

// blocks is the exit code of a hook that blocks.
const blocks = 2

// understand derives the output of a hook from the printed text and the exit code of its
// command.
func (r *ran) understand(e hooks.Event, out Outcome) {
	r.Exit, r.Signal, r.TimedOut, r.Duration = out.Code, out.Signal, out.TimedOut, out.Duration
	r.Stdout, r.Stderr = string(out.Stdout), string(out.Stderr)
	r.ok = out.Code == 0 && out.Signal == "" && !out.TimedOut
	if out.Dropped > 0 {
		r.warn("It printed more than the maximum of %[2]d bytes; %[1]d bytes were dropped.", out.Dropped, MaxOutput)
	}
	text := bytes.TrimSpace(out.Stdout)
	if len(text) == 0 && !(r.Hook.Claude && r.ok) {
		text = bytes.TrimSpace(out.Stderr)
	}
	if r.Hook.Claude {
		text = claudeOutput(text, r.call)
		defer r.settleClaude(e, r.call)
	}
	o, invalid, warnings, isJSON := parseOutput(text)
	r.Warnings = append(r.Warnings, warnings...)
	r.settle(e, &o, invalid)
	switch {
	case r.ok && isJSON:
		r.Output = o
	case r.ok:
		r.plain(text)
	case r.Exit == blocks && !r.TimedOut:
		reason := o.Reason
		if !isJSON {
			reason = because(clip(out.Stderr), clip(out.Stdout))
		}
		r.Output = tighter(o)
		r.Output.Decision, r.Output.Reason = hooks.Block, because(reason, o.StopReason, plainOf(out.Stderr))
	default:
		output := ""
		if !isJSON && len(text) > 0 {
			output = " It printed: " + oneLine(clip(text))
		}
		r.warn("It %s, so its output is ignored unless it denies or asks.%s", r.ended(), output)
		r.Output = tighter(o)
	}
}

// settle computes the effect of a decision at an event. At a gating event an invalid
// decision, and a continue that is not a boolean, denies: a gate fails closed. If a user
// can be asked, an invalid decision asks.
func (r *ran) settle(e hooks.Event, o *hooks.Output, invalid odd) {
	if p := invalid.permission; p != "" && e != hooks.BeforeTool {
		r.warn("permissionDecision has no effect at %s.", e)
	} else if strictness(p) > max(strictness(hooks.Allow), strictness(o.Decision)) {
		o.Decision = p
		if strings.TrimSpace(invalid.because) != "" {
			o.Reason = invalid.because
		}
	}
	if value := invalid.decision; value != "" {
		const must = "decision must be block, deny, ask, allow or approve, and not %.60s. "
		switch {
		case e == hooks.BeforeTool:
			o.Decision = stricter(o.Decision, hooks.Ask)
			r.warn(must+"It counts as ask.", value)
		case gates(e):
			o.Decision, o.Reason = hooks.Block, because(o.Reason, "Its decision is invalid.")
			r.warn(must+"It counts as block, because approval is not possible at %s.", value, e)
		default:
			r.warn(must+"It is ignored.", value)
		}
	}
	if value := invalid.goOn; value != "" && gates(e) {
		no := false
		o.Continue, o.StopReason = &no, because(o.StopReason, o.Reason, "The hook's value of continue is invalid.")
		r.warn("continue must be true or false, and not %.60s. It counts as false.", value)
	} else if value != "" {
		r.warn("continue must be true or false, and not %.60s. It is ignored.", value)
	}
	if o.Decision == hooks.Ask && e != hooks.BeforeTool {
		o.Decision = ""
		r.warn("It asks for approval, which is not possible at %s; that has no effect.", e)
	}
}

// stricter returns the stricter of two decisions.
func stricter(a, b hooks.Decision) hooks.Decision {
	if strictness(a) >= strictness(b) {
		return a
	}
	return b
}

// plain uses a text that is not JSON as a message to the user.
func (r *ran) plain(text []byte) {
	switch {
	case len(text) == 0:
	case text[0] == '{':
		r.warn("It printed an invalid JSON object, which has no effect.")
	case json.Valid(text):
		r.warn("It printed JSON that is not an object, which has no effect.")
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		r.warn("It printed invalid UTF-8, which has no effect.")
	default:
		r.Output.SystemMessage, r.plainText = clip(text), true
	}
}

// tighter returns the part of a failed hook's output that applies: deny, ask, stop, and
// the message.
func tighter(o hooks.Output) hooks.Output {
	kept := hooks.Output{Continue: o.Continue, StopReason: o.StopReason, SuppressOutput: o.SuppressOutput, SystemMessage: o.SystemMessage, Reason: o.Reason}
	if strictness(o.Decision) > strictness(hooks.Allow) {
		kept.Decision = o.Decision
	}
	return kept
}

// ended describes how the hook ended.
func (r *ran) ended() string {
	switch {
	case r.TimedOut:
		return fmt.Sprintf("was ended at its time limit of %s", limit(r.Hook))
	case r.Signal != "":
		return "was ended by " + r.Signal
	}
	return fmt.Sprintf("ended with exit code %d", r.Exit)
}

// clip returns a short text without surrounding spaces.
func clip(text []byte) string {
	return strings.ToValidUTF8(escape.ClipBytes(string(bytes.TrimSpace(text)), maxPlain+len("…")), "\ufffd")
}

// plainOf returns a text, "" if it is a JSON object.
func plainOf(text []byte) string {
	if _, _, _, isJSON := parseOutput(text); isJSON {
		return ""
	}
	return clip(text)
}

package hookrun

import (
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/hooks"
)

// event is the description of a [hooks.Event].
type event struct {
	name     hooks.Event
	ofTools  bool     // about a tool call
	gates    bool     // the next step depends on the hooks
	advisory bool     // a hook cannot stop anything, and matchers are not compared
	triggers []string // the texts for matchers; nil: matchers are not compared with a text
}

// events has one row for each event, in the order of [hooks.Events].
var events = []event{
	{name: hooks.BeforeTool, ofTools: true, gates: true},
	{name: hooks.AfterTool, ofTools: true, gates: true},
	{name: hooks.BeforeAgent, gates: true},
	{name: hooks.AfterAgent},
	{name: hooks.Notification, advisory: true},
	{name: hooks.SessionStart, triggers: []string{"startup", "resume", "clear"}},
	{name: hooks.SessionEnd, triggers: []string{"exit", "clear", "logout", "prompt_input_exit", "other"}},
	{name: hooks.PreCompress, triggers: []string{"auto", "manual"}},
	{name: hooks.BeforeModel, gates: true},
	{name: hooks.AfterModel, gates: true},
	{name: hooks.BeforeToolSelection, advisory: true},
}

// row returns the description of the event; the zero value for an unknown event.
func row(e hooks.Event) event {
	for _, r := range events {
		if r.name == e {
			return r
		}
	}
	return event{}
}

// known reports whether the event exists.
func known(e hooks.Event) bool { return e != "" && row(e).name == e }

// OfTools reports whether the event is about a tool call, so that matchers are compared
// with the tool's names.
func OfTools(e hooks.Event) bool { return row(e).ofTools }

// triggers returns the possible texts of the event; nil: its matchers are not compared
// with a text.
func triggers(e hooks.Event) []string { return row(e).triggers }

// matchesText reports whether matchers are compared with a single word.
func matchesText(e hooks.Event) bool { return triggers(e) != nil }

// advisory reports whether hooks of the event cannot stop anything: a decision is
// reported and has no effect.
func advisory(e hooks.Event) bool { return row(e).advisory || matchesText(e) }

// gates reports whether the next step depends on the hooks of the event. Then an invalid
// output denies.
func gates(e hooks.Event) bool { return row(e).gates }

// order returns the position of a source.
func order(s hooks.Source) int {
	return slices.Index([]hooks.Source{hooks.SourceRuntime, hooks.SourceProject, hooks.SourceUser, hooks.SourceSystem, hooks.SourceExtension}, s)
}

// limit returns the time limit of the hook.
func limit(h *hooks.Hook) time.Duration {
	if h.Timeout <= 0 {
		return hooks.DefaultTimeout
	}
	return h.Timeout
}

// oneLine returns a short text without line breaks.
func oneLine(text string) string { return escape.ClipBytes(escape.OneLine(text), 2000) }

package hookrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Hooks of Claude Code have other names of events, time limits in seconds, and another
// form of input and output; see claudeInput and claudeOutput. A hook that may refuse a
// call and cannot be used here is replaced by a question about each call that it matches.

// claudeEvents maps the events of Claude Code.
var claudeEvents = map[string]hooks.Event{
	"PreToolUse": hooks.BeforeTool, "PostToolUse": hooks.AfterTool, "UserPromptSubmit": hooks.BeforeAgent, "Stop": hooks.AfterAgent,
	"SubagentStop": hooks.AfterTool, "PreCompact": hooks.PreCompress, "SessionStart": hooks.SessionStart, "SessionEnd": hooks.SessionEnd,
	"Notification": hooks.Notification,
}

const (
	subagentStop     = "SubagentStop"
	anyAgent         = "invoke_agent"      // the name of every agent in matchers
	permissionPrompt = "permission_prompt" // the only notification
)

// claudeRoot is the variable with the directory of the plugin.
const claudeRoot = "CLAUDE_PLUGIN_ROOT"

// IsClaude reports whether the hooks of an extension with a manifest of its own are in the
// form of Claude Code: all of their events exist there, and one of them only there, or a
// text names the directory of the plugin.
func IsClaude(data []byte) bool {
	root, err := readJSON(data)
	if err != nil {
		return false
	}
	top, _ := root.Value.(*position.Table)
	if top == nil || top.Find("hooks") == nil {
		return false
	}
	claude := bytes.Contains(data, []byte(claudeRoot))
	for _, m := range top.Find("hooks").Node.Members() {
		if _, ok := claudeEvents[m.Key]; !ok {
			return false
		}
		claude = claude || !known(hooks.Event(m.Key))
	}
	return claude
}

// claudeEvent returns the name of an event for a hook.
func claudeEvent(h *hooks.Hook) string {
	if h.Event == hooks.AfterTool && h.Matcher == anyAgent {
		return subagentStop
	}
	for name, e := range claudeEvents {
		if e == h.Event && name != subagentStop {
			return name
		}
	}
	return string(h.Event)
}

// claudeGroups reads the groups of all events of a definition.
func (r *reader) claudeGroups(given *position.Table) {
	for _, name := range given.Keys() {
		at := given.Find(name).Node
		e, ok := claudeEvents[name]
		if !ok {
			r.tell(at.Line, "The event %.80q has no counterpart; its hooks do not run.", name)
			continue
		}
		groups := at.List()
		if groups == nil {
			groups = []position.Node{at}
		}
		for _, n := range groups {
			r.claudeGroup(name, e, n)
		}
	}
}

func (r *reader) claudeGroup(name string, e hooks.Event, n position.Node) {
	g, ok := n.Value.(*position.Table)
	if !ok {
		r.tell(n.Line, "A group of %s is %s, and not a table.", name, kind(n))
		r.instead(e, "", n.Line)
		return
	}
	matcher, runs := r.claudeMatcher(name, e, g)
	if !runs {
		return
	}
	list := g.Find("hooks")
	if list == nil || kind(list.Node) != "a list" {
		r.tell(n.Line, "A group of %s has no list hooks.", name)
		r.instead(e, matcher, n.Line)
		return
	}
	for _, item := range list.List() {
		h, ok := r.claudeHook(item)
		if !ok {
			r.instead(e, matcher, item.Line)
			continue
		}
		h.Event, h.Matcher = e, matcher
		r.hooks = append(r.hooks, h)
	}
}

// instead adds a question about each call in place of a hook that cannot be used, if it
// might have refused calls.
func (r *reader) instead(e hooks.Event, matcher string, line int) {
	if e != hooks.BeforeTool {
		return
	}
	r.hooks = append(r.hooks, hooks.Hook{
		Event: e, Matcher: matcher, Name: "in place of a hook of " + r.Extension, Source: r.Source, Path: r.Path, Line: line, Extension: r.Extension,
		Run: func(context.Context, hooks.Input) (hooks.Output, error) {
			return hooks.Output{Decision: hooks.Ask, Reason: "A hook of the extension " + r.Extension + " that decides about this call cannot be run."}, nil
		},
	})
}

// claudeMatcher returns the matcher of a group; false if its hooks never run. One that is
// not understood matches everything.
func (r *reader) claudeMatcher(name string, e hooks.Event, g *position.Table) (matcher string, runs bool) {
	m := g.Find("matcher")
	if m != nil && m.Value != nil {
		var ok bool
		if matcher, ok = m.Text(); !ok {
			r.tell(m.Node.Line, "The matcher of %s is %s, and not a text; its hooks run for everything.", name, kind(m.Node))
		}
	}
	matcher = strings.TrimSpace(matcher)
	if name == subagentStop {
		return anyAgent, true
	}
	if r.Extension != "" { // the tools of a plugin's own servers
		matcher = strings.ReplaceAll(matcher, "mcp__plugin_"+r.Extension+"_", "mcp__")
	}
	text := matcher
	if e == hooks.Notification && matcher != "" && matcher != "*" {
		whole, err := regexp.Compile("^(?:" + matcher + ")$")
		if err == nil && !whole.MatchString(permissionPrompt) {
			r.tell(m.Node.Line, "The notification %.120q does not exist here; its hooks do not run.", matcher)
			return "", false
		}
		return "", true
	}
	switch _, err := newMatcher(e, text); {
	case err != nil && OfTools(e):
		r.tell(m.Node.Line, "The matcher %.120q is not a valid regular expression (%s); its hooks run for all tools.", matcher, oneLine(err.Error()))
		return "", true
	case matchesText(e) && !Matches(&hooks.Hook{Event: e, Matcher: text}):
		r.tell(m.Node.Line, "The matcher %.120q of %s matches none of %s; its hooks do not run.", matcher, name, strings.Join(triggers(e), ", "))
		return "", false
	}
	if m != nil {
		r.unmatched(e, matcher, m.Node.Line)
	}
	return text, true
}

// claudeHook reads one hook; false with a report if it cannot be used.
func (r *reader) claudeHook(n position.Node) (hooks.Hook, bool) {
	t, ok := n.Value.(*position.Table)
	if !ok {
		r.tell(n.Line, "A hook is %s, and not a table; it does not run.", kind(n))
		return hooks.Hook{}, false
	}
	if kind, ok := r.text(t, "type"); !ok || kind != "" && kind != "command" {
		r.tell(n.Line, "A hook of type %.80q does not run: fettle runs commands.", kind)
		return hooks.Hook{}, false
	}
	if with, ok := r.text(t, "shell"); !ok || with != "" && with != "bash" && with != "sh" {
		r.tell(n.Line, "A hook for the shell %.80q does not run: fettle runs bash.", with)
		return hooks.Hook{}, false
	}
	command, ok := r.text(t, "command")
	if !ok || strings.TrimSpace(command) == "" {
		r.tell(n.Line, "A hook has no command; it does not run.")
		return hooks.Hook{}, false
	}
	if args := t.Find("args"); args != nil {
		words := []string{command}
		for _, item := range args.List() {
			word, ok := item.Text()
			if !ok {
				r.tell(args.Node.Line, "The arguments of a hook are not texts; it does not run.")
				return hooks.Hook{}, false
			}
			words = append(words, word)
		}
		for i := range words {
			words[i] = r.expand(words[i])
		}
		command = shell.Quote(words)
	}
	if t.Find("if") != nil {
		r.tell(n.Line, "The condition of a hook is not supported; it runs for each call that its matcher matches.")
	}
	h := hooks.Hook{Source: r.Source, Path: r.Path, Line: n.Line, Extension: r.Extension, Claude: true, Timeout: r.claudeTimeout(t)}
	h.Command, h.Env = r.command(t, command)
	return h, true
}

// claudeTimeout reads a time limit in seconds.
func (r *reader) claudeTimeout(t *position.Table) time.Duration {
	m := t.Find("timeout")
	if m == nil {
		return 0
	}
	seconds, ok := m.Number()
	if !ok || !(seconds > 0 && seconds <= maxTimeout.Seconds()) {
		r.tell(m.Node.Line, "timeout must be a number of seconds, at most %.0f; the hook has the default of %.0f.", maxTimeout.Seconds(), hooks.DefaultTimeout.Seconds())
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// claudeOutput translates the JSON that a hook printed: updatedInput becomes the arguments
// of the tool; a change that they cannot have refuses the call. Any other text is returned as it is.
func claudeOutput(text []byte, call claudeCall) []byte {
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil {
		return text
	}
	specific := membersOf(given["hookSpecificOutput"])
	if specific == nil {
		return text
	}
	if updated := membersOf(specific["updatedInput"]); updated != nil {
		specific["tool_input"], _ = json.Marshal(call.ours(updated)) // decoded values can be encoded
		if call.lost(updated) {
			specific["permissionDecision"] = json.RawMessage(`"deny"`)
			specific["permissionDecisionReason"] = json.RawMessage(`"A hook changes arguments of this call that the tool does not have."`)
		}
	}
	for _, key := range []string{"updatedInput", "updatedMCPToolOutput", "sessionTitle"} {
		delete(specific, key)
	}
	given["hookSpecificOutput"], _ = json.Marshal(specific) // likewise
	translated, err := json.Marshal(given)
	if err != nil {
		return text
	}
	return translated
}

// settleClaude applies the differences of Claude Code to the output of a hook: after a
// call a refusal is a remark for the model, because the tool has run, and a plain text at
// the beginning of a session or a prompt is context.
func (r *ran) settleClaude(e hooks.Event, call claudeCall) {
	o := &r.Output
	switch {
	case e == hooks.AfterTool && o.Decision == hooks.Block:
		o.Specific.AdditionalContext = strings.TrimSpace(o.Specific.AdditionalContext + "\n" + o.Reason)
		o.Decision, o.Reason = "", ""
	case slices.Contains([]hooks.Event{hooks.SessionStart, hooks.BeforeAgent}, e) && o.SystemMessage != "" && r.plainText:
		o.Specific.AdditionalContext, o.SystemMessage = o.SystemMessage, ""
	case e == hooks.BeforeTool && call.partly && strictness(o.Decision) < strictness(hooks.Ask):
		o.Decision, o.Reason = hooks.Ask, fmt.Sprintf("The hook %s cannot see all files of this call.", r.Hook.Label())
	}
}

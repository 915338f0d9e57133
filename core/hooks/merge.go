package hooks

import (
	"encoding/json"
	"slices"
	"strings"
)

// Message is a message of a hook for the user.
type Message struct {
	Hook *Hook
	Text string
	// Quiet: it is not shown, at the request of the hook; its text for the system prompt
	// is still used.
	Quiet bool
}

// Effect is the combined output of the hooks of an event. Its zero value has no effect.
type Effect struct {
	Ran []Ran // in the order of the hooks

	Stop       bool // a hook stops the current operation
	StopReason string
	Decision   Decision // the strictest: Block, Ask, Allow, or "" without a decision
	Reason     string   // of the hooks with that decision, a line each; never empty with Block and Ask
	By         string   // their names

	Messages []Message
	Context  string // additional context, a line each

	ToolInput    json.RawMessage // for [Overlay]; nil: the arguments are unchanged
	Rewriters    string          // the names of the hooks that set ToolInput
	TailToolCall *ToolCall
	ClearContext bool
	LLMRequest   json.RawMessage
	LLMResponse  json.RawMessage
	ToolConfig   *ToolConfig
}

// Warnings are the problems of the hooks, each with its hook.
func (e *Effect) Warnings() []Message {
	var all []Message
	for i := range e.Ran {
		for _, text := range e.Ran[i].Warnings {
			all = append(all, Message{Hook: e.Ran[i].Hook, Text: text})
		}
	}
	return all
}

// merge combines outputs: the strictest decision wins, one stop is enough, texts are
// joined, and of the other fields the last one wins.
func merge(e Event, ran []Ran) Effect {
	effect := Effect{Ran: ran}
	strictest := 0
	var stops, stopped, rewrote []string
	for i := range ran {
		o := &ran[i].Output
		strictest = max(strictest, o.Decision.strictness())
		if o.Stops() {
			effect.Stop = true
			stops = append(stops, because(o.StopReason, o.Reason))
			stopped = append(stopped, ran[i].Hook.Label())
		}
		if o.SystemMessage != "" {
			effect.Messages = append(effect.Messages, Message{Hook: ran[i].Hook, Text: o.SystemMessage, Quiet: o.SuppressOutput})
		}
		if o.Specific.ToolInput != nil {
			rewrote = append(rewrote, ran[i].Hook.Label())
		}
		effect.take(e, &o.Specific)
	}
	effect.Rewriters = strings.Join(unique(rewrote), ", ")
	effect.StopReason = lines(stops)
	effect.decide(strictest)
	if effect.Stop {
		effect.By = strings.Join(unique(stopped), ", ")
	}
	return effect
}

// decide takes the strictest decision with its reasons.
func (e *Effect) decide(strictest int) {
	if strictest == 0 {
		return
	}
	e.Decision = []Decision{Allow, Ask, Block}[strictest-1]
	var reasons, by []string
	for i := range e.Ran {
		o := &e.Ran[i].Output
		if o.Decision.strictness() != strictest {
			continue
		}
		by = append(by, e.Ran[i].Hook.Label())
		if reason := because(o.Reason, o.StopReason); reason != noReason {
			reasons = append(reasons, reason)
		}
	}
	e.By = strings.Join(unique(by), ", ")
	if e.Reason = lines(reasons); e.Reason == "" && strictest > 1 {
		e.Reason = noReason
	}
}

// take adds the event-specific output.
func (e *Effect) take(event Event, s *Specific) {
	if s.AdditionalContext != "" {
		if e.Context != "" {
			e.Context += "\n"
		}
		e.Context += s.AdditionalContext
	}
	if s.ToolInput != nil {
		e.ToolInput = overlay(e.ToolInput, s.ToolInput, false)
	}
	if s.TailToolCall != nil {
		e.TailToolCall = s.TailToolCall
	}
	e.ClearContext = e.ClearContext || s.ClearContext
	if s.LLMRequest != nil {
		e.LLMRequest = overlay(e.LLMRequest, s.LLMRequest, false)
	}
	if s.LLMResponse != nil {
		e.LLMResponse = overlay(e.LLMResponse, s.LLMResponse, false)
	}
	if s.ToolConfig != nil && event == BeforeToolSelection {
		e.ToolConfig = narrower(e.ToolConfig, s.ToolConfig)
	}
}

// narrower combines two tool configurations: NONE before ANY before AUTO, with the names
// of both.
func narrower(a, b *ToolConfig) *ToolConfig {
	if a == nil {
		a = &ToolConfig{}
	}
	c := &ToolConfig{Mode: ToolsAuto}
	for _, mode := range []string{ToolsAny, ToolsNone} {
		if a.Mode == mode || b.Mode == mode {
			c.Mode = mode
		}
	}
	if c.Mode != ToolsNone {
		c.AllowedFunctionNames = unique(slices.Concat(a.AllowedFunctionNames, b.AllowedFunctionNames))
		slices.Sort(c.AllowedFunctionNames)
	}
	return c
}

// lines joins distinct texts.
func lines(texts []string) string { return strings.Join(unique(texts), "\n") }

// unique returns the distinct texts, in order.
func unique(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	return kept
}

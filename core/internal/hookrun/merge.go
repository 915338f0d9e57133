package hookrun

import (
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"slices"
	"strings"
)

// merge combines outputs: the strictest decision wins, one stop is enough, texts are
// joined, and of the other fields the last one wins.
func merge(e hooks.Event, all []ran) hookresult.Effect {
	effect := hookresult.Effect{Ran: make([]hookresult.Ran, len(all))}
	for i := range all {
		effect.Ran[i] = all[i].Ran
	}
	ran := effect.Ran
	strictest := 0
	var why, stopped, rewrote []string
	for i := range ran {
		o := &ran[i].Output
		strictest = max(strictest, strictness(o.Decision))
		if stops(o) {
			effect.Stop = true
			why = append(why, because(o.StopReason, o.Reason))
			stopped = append(stopped, ran[i].Hook.Label())
		}
		if o.SystemMessage != "" {
			effect.Messages = append(effect.Messages, hookresult.Message{Hook: ran[i].Hook, Text: o.SystemMessage, Quiet: o.SuppressOutput})
		}
		if o.Specific.ToolInput != nil {
			rewrote = append(rewrote, ran[i].Hook.Label())
		}
		take(&effect, e, &o.Specific)
	}
	effect.Rewriters = strings.Join(unique(rewrote), ", ")
	effect.StopReason = lines(why)
	decide(&effect, strictest)
	if effect.Stop {
		effect.By = strings.Join(unique(stopped), ", ")
	}
	return effect
}

// Warnings returns the problems of the hooks, each with its hook.
func Warnings(e *hookresult.Effect) []hookresult.Message {
	var all []hookresult.Message
	for i := range e.Ran {
		for _, text := range e.Ran[i].Warnings {
			all = append(all, hookresult.Message{Hook: e.Ran[i].Hook, Text: text})
		}
	}
	return all
}

// decide takes the strictest decision with its reasons.
func decide(e *hookresult.Effect, strictest int) {
	if strictest == 0 {
		return
	}
	e.Decision = []hooks.Decision{hooks.Allow, hooks.Ask, hooks.Block}[strictest-1]
	var reasons, by []string
	for i := range e.Ran {
		o := &e.Ran[i].Output
		if strictness(o.Decision) != strictest {
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
func take(e *hookresult.Effect, event hooks.Event, s *hooks.Specific) {
	if s.AdditionalContext != "" {
		if e.AdditionalContext != "" {
			e.AdditionalContext += "\n"
		}
		e.AdditionalContext += s.AdditionalContext
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
	if s.ToolConfig != nil && event == hooks.BeforeToolSelection {
		e.ToolConfig = narrower(e.ToolConfig, s.ToolConfig)
	}
}

// narrower combines two tool configurations: NONE before ANY before AUTO, with the names
// of both.
func narrower(a, b *hooks.ToolConfig) *hooks.ToolConfig {
	if a == nil {
		a = &hooks.ToolConfig{}
	}
	c := &hooks.ToolConfig{Mode: ToolsAuto}
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

package hookrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/fettle-dev/fettle/core/hooks"
	"slices"
	"strings"
)

// strictness orders decisions.
func strictness(d hooks.Decision) int {
	switch d {
	case hooks.Block, hooks.Deny:
		return 3
	case hooks.Ask:
		return 2
	case hooks.Allow, hooks.Approve:
		return 1
	}
	return 0
}

// odd is invalid output, whose effect depends on the event.
type odd struct {
	decision   string // an invalid decision, as written; "" if valid
	goOn       string // likewise, of continue
	permission hooks.Decision
	because    string // of the permission
}

// The modes of a [hooks.ToolConfig].
const (
	ToolsAuto = "AUTO"
	ToolsAny  = "ANY"
	ToolsNone = "NONE"
)

// stops reports whether the hook stops the current operation.
func stops(o *hooks.Output) bool { return o.Continue != nil && !*o.Continue }

// outputKeys and specificKeys are the known keys.
var (
	outputKeys   = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
	specificKeys = []string{"additionalContext", "tool_input", "tailToolCallRequest", "clearContext", "llm_request", "llm_response", "toolConfig", "hookEventName",
		"permissionDecision", "permissionDecisionReason"}
)

// parseOutput parses the JSON object that a command has printed; false if the text is
// none. A field of the wrong type is ignored with a warning; see [ran.settle] for
// continue and decision.
func parseOutput(text []byte) (o hooks.Output, invalid odd, warnings []string, ok bool) {
	for range 2 { // an object may be encoded as a string
		text = bytes.TrimSpace(text)
		var inner string
		if len(text) == 0 || text[0] != '"' || json.Unmarshal(text, &inner) != nil {
			break
		}
		text = []byte(inner)
	}
	if len(text) == 0 || text[0] != '{' {
		return hooks.Output{}, odd{}, nil, false
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil {
		return hooks.Output{}, odd{}, nil, false
	}
	f := &fields{given: given}
	f.unknown(outputKeys)
	if value, given := given["continue"]; given && string(value) != "null" {
		if json.Unmarshal(value, &o.Continue) != nil {
			o.Continue, invalid.goOn = nil, string(value)
		}
	}
	f.read("stopReason", &o.StopReason, "a text")
	f.read("suppressOutput", &o.SuppressOutput, "true or false")
	f.read("systemMessage", &o.SystemMessage, "a text")
	f.read("reason", &o.Reason, "a text")
	o.Decision, invalid.decision = f.decision("decision")
	var specific map[string]json.RawMessage
	if f.read("hookSpecificOutput", &specific, "an object") {
		inner := &fields{given: specific, under: "hookSpecificOutput."}
		o.Specific = inner.specific()
		permission, unclear := inner.decision("permissionDecision")
		if invalid.permission = permission; unclear != "" && invalid.decision == "" {
			invalid.decision = unclear
		}
		inner.read("permissionDecisionReason", &invalid.because, "a text")
		f.warnings = append(f.warnings, inner.warnings...)
	}
	return o, invalid, f.warnings, true
}

// fields reads the members of an object.
type fields struct {
	given    map[string]json.RawMessage
	under    string // prefix of keys in messages
	warnings []string
}

func (f *fields) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// read decodes a member; false if it is absent, null or of another type. Then into is
// unchanged.
func (f *fields) read(key string, into any, wanted string) bool {
	value, given := f.given[key]
	if !given || string(value) == "null" {
		return false
	}
	if json.Unmarshal(value, into) != nil {
		f.warn("%s%s must be %s, and is ignored.", f.under, key, wanted)
		return false
	}
	return true
}

// unknown reports keys that resemble a known key.
func (f *fields) unknown(known []string) {
	names := make([]string, 0, len(f.given))
	for name := range f.given {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if word := nearest(name, known); word != "" {
			f.warn("%s%.60s is unknown. Did you mean %s?", f.under, name, word)
		}
	}
}

// decision reads a decision, in any letter case, or returns an invalid one as written.
func (f *fields) decision(key string) (d hooks.Decision, odd string) {
	var text string
	value, given := f.given[key]
	if !given || string(value) == "null" || string(value) == `""` {
		return "", ""
	}
	_ = json.Unmarshal(value, &text) // a decision must be a string
	if d = hooks.Decision(strings.ToLower(strings.TrimSpace(text))); strictness(d) == 0 {
		return "", string(value)
	}
	return d, ""
}

func (f *fields) specific() hooks.Specific {
	f.unknown(specificKeys)
	var s hooks.Specific
	f.read("additionalContext", &s.AdditionalContext, "a text")
	f.read("clearContext", &s.ClearContext, "true or false")
	s.ToolInput = f.object("tool_input")
	s.LLMRequest = f.object("llm_request")
	s.LLMResponse = f.object("llm_response")
	if raw := f.object("tailToolCallRequest"); raw != nil {
		inner := &fields{given: membersOf(raw), under: f.under + "tailToolCallRequest."}
		call := hooks.ToolCall{Args: inner.object("args")}
		if inner.read("name", &call.Name, "a string") && call.Name != "" {
			s.TailToolCall = &call
		} else {
			inner.warn("%sname is missing, so no tool is called.", inner.under)
		}
		f.warnings = append(f.warnings, inner.warnings...)
	}
	if raw := f.object("toolConfig"); raw != nil {
		inner := &fields{given: membersOf(raw), under: f.under + "toolConfig."}
		s.ToolConfig = inner.toolConfig()
		f.warnings = append(f.warnings, inner.warnings...)
	}
	return s
}

func (f *fields) toolConfig() *hooks.ToolConfig {
	var c hooks.ToolConfig
	f.read("mode", &c.Mode, "AUTO, ANY or NONE")
	f.read("allowedFunctionNames", &c.AllowedFunctionNames, "a list of strings")
	c.Mode = strings.ToUpper(c.Mode)
	if !slices.Contains([]string{ToolsAuto, ToolsAny, ToolsNone, ""}, c.Mode) {
		f.warn("%smode must be AUTO, ANY or NONE, and is ignored.", f.under)
		c.Mode = ""
	}
	return &c
}

// object returns a member that is an object; nil for any other value.
func (f *fields) object(key string) json.RawMessage {
	var raw json.RawMessage
	if !f.read(key, &raw, "an object") {
		return nil
	}
	if membersOf(raw) == nil {
		f.warn("%s%s must be an object, and is ignored.", f.under, key)
		return nil
	}
	return raw
}

// membersOf returns the members of an object; nil for any other value.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// overlay returns an object in which the members of another replace its own. With drop,
// null removes a member. base may be nil.
func overlay(base, over json.RawMessage, drop bool) json.RawMessage {
	merged := membersOf(base)
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}
	for name, value := range membersOf(over) {
		if drop && string(value) == "null" {
			delete(merged, name)
			continue
		}
		merged[name] = value
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(merged) != nil {
		return base // decoded values can be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}

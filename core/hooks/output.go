package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Decision is the decision of a hook on the next or the last step.
type Decision string

// The decisions, the strictest first. Deny is a synonym of block, and approve of allow.
// Allow has no effect: it never overrides another deny or ask.
const (
	Block   Decision = "block"
	Deny    Decision = "deny"
	Ask     Decision = "ask"
	Allow   Decision = "allow"
	Approve Decision = "approve"
)

// strictness orders decisions.
func (d Decision) strictness() int {
	switch d {
	case Block, Deny:
		return 3
	case Ask:
		return 2
	case Allow, Approve:
		return 1
	}
	return 0
}

// Blocks reports whether the decision is block or deny.
func (d Decision) Blocks() bool { return d.strictness() == 3 }

// Output is the output of a hook; a command prints it as JSON. Its zero value has no
// effect.
type Output struct {
	Continue       *bool    `json:"continue,omitempty"` // false: stop the current operation
	StopReason     string   `json:"stopReason,omitempty"`
	SuppressOutput bool     `json:"suppressOutput,omitempty"` // SystemMessage is not shown to the user
	SystemMessage  string   `json:"systemMessage,omitempty"`
	Decision       Decision `json:"decision,omitempty"`
	Reason         string   `json:"reason,omitempty"` // of the decision
	Specific       Specific `json:"hookSpecificOutput,omitzero"`

	odd odd
}

// odd is invalid output, whose effect depends on the event.
type odd struct {
	decision   string // an invalid decision, as written; "" if valid
	goOn       string // likewise, of continue
	permission Decision
	because    string // of the permission
}

// Specific is the event-specific part of an [Output].
type Specific struct {
	AdditionalContext string          `json:"additionalContext,omitempty"`   // AfterTool, BeforeAgent, SessionStart: for the model
	ToolInput         json.RawMessage `json:"tool_input,omitempty"`          // BeforeTool: arguments that replace those of the same name; null removes one
	TailToolCall      *ToolCall       `json:"tailToolCallRequest,omitempty"` // AfterTool: its result replaces the result of the call
	ClearContext      bool            `json:"clearContext,omitempty"`        // AfterAgent: clear the history
	LLMRequest        json.RawMessage `json:"llm_request,omitempty"`         // BeforeModel: parts of an LLMRequest
	LLMResponse       json.RawMessage `json:"llm_response,omitempty"`        // BeforeModel: replaces the request to the model; AfterModel: replaces the chunk
	ToolConfig        *ToolConfig     `json:"toolConfig,omitempty"`          // BeforeToolSelection
}

// ToolCall is a call that a hook requests.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // an object
}

// Stops reports whether the hook stops the current operation.
func (o *Output) Stops() bool { return o.Continue != nil && !*o.Continue }

// outputKeys and specificKeys are the known keys.
var (
	outputKeys   = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
	specificKeys = []string{"additionalContext", "tool_input", "tailToolCallRequest", "clearContext", "llm_request", "llm_response", "toolConfig", "hookEventName",
		"permissionDecision", "permissionDecisionReason"}
)

// parseOutput parses the JSON object that a command has printed; false if the text is
// none. A field of the wrong type is ignored with a warning; see [Ran.settle] for
// continue and decision.
func parseOutput(text []byte) (o Output, warnings []string, ok bool) {
	for range 2 { // an object may be encoded as a string
		text = bytes.TrimSpace(text)
		var inner string
		if len(text) == 0 || text[0] != '"' || json.Unmarshal(text, &inner) != nil {
			break
		}
		text = []byte(inner)
	}
	if len(text) == 0 || text[0] != '{' {
		return Output{}, nil, false
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(text, &given) != nil {
		return Output{}, nil, false
	}
	f := &fields{given: given}
	f.unknown(outputKeys)
	if value, given := given["continue"]; given && string(value) != "null" {
		if json.Unmarshal(value, &o.Continue) != nil {
			o.Continue, o.odd.goOn = nil, string(value)
		}
	}
	f.read("stopReason", &o.StopReason, "a text")
	f.read("suppressOutput", &o.SuppressOutput, "true or false")
	f.read("systemMessage", &o.SystemMessage, "a text")
	f.read("reason", &o.Reason, "a text")
	o.Decision, o.odd.decision = f.decision("decision")
	var specific map[string]json.RawMessage
	if f.read("hookSpecificOutput", &specific, "an object") {
		inner := &fields{given: specific, under: "hookSpecificOutput."}
		o.Specific = inner.specific()
		permission, unclear := inner.decision("permissionDecision")
		if o.odd.permission = permission; unclear != "" && o.odd.decision == "" {
			o.odd.decision = unclear
		}
		inner.read("permissionDecisionReason", &o.odd.because, "a text")
		f.warnings = append(f.warnings, inner.warnings...)
	}
	return o, f.warnings, true
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
func (f *fields) decision(key string) (d Decision, odd string) {
	var text string
	value, given := f.given[key]
	if !given || string(value) == "null" || string(value) == `""` {
		return "", ""
	}
	_ = json.Unmarshal(value, &text) // a decision must be a string
	if d = Decision(strings.ToLower(strings.TrimSpace(text))); d.strictness() == 0 {
		return "", string(value)
	}
	return d, ""
}

func (f *fields) specific() Specific {
	f.unknown(specificKeys)
	var s Specific
	f.read("additionalContext", &s.AdditionalContext, "a text")
	f.read("clearContext", &s.ClearContext, "true or false")
	s.ToolInput = f.object("tool_input")
	s.LLMRequest = f.object("llm_request")
	s.LLMResponse = f.object("llm_response")
	if raw := f.object("tailToolCallRequest"); raw != nil {
		inner := &fields{given: membersOf(raw), under: f.under + "tailToolCallRequest."}
		call := ToolCall{Args: inner.object("args")}
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

func (f *fields) toolConfig() *ToolConfig {
	var c ToolConfig
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

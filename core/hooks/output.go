package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Decision is what a hook says of what is about to happen, or has.
type Decision string

// The decisions, the strictest first. Deny is another word for block, and
// approve for allow. Allowing changes nothing: it never lifts what somebody else
// denies or asks about.
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

// Output is what a hook wants, for a command the JSON that it prints (EX-09).
// Its zero value is nothing.
type Output struct {
	Continue       *bool    `json:"continue,omitempty"` // false: what is going on ends here
	StopReason     string   `json:"stopReason,omitempty"`
	SuppressOutput bool     `json:"suppressOutput,omitempty"` // SystemMessage is not shown to the person
	SystemMessage  string   `json:"systemMessage,omitempty"`
	Decision       Decision `json:"decision,omitempty"`
	Reason         string   `json:"reason,omitempty"` // of the decision
	Specific       Specific `json:"hookSpecificOutput,omitzero"`

	odd odd
}

// odd is what a command has printed that depends on the event.
type odd struct {
	decision   string // what is no decision, as it stands; "": nothing
	goOn       string // likewise of continue
	permission Decision
	because    string // of the permission
}

// Specific is the part of an [Output] that is an event's own.
type Specific struct {
	AdditionalContext string          `json:"additionalContext,omitempty"`   // AfterTool, BeforeAgent, SessionStart: for the model
	ToolInput         json.RawMessage `json:"tool_input,omitempty"`          // BeforeTool: arguments that take the place of those of the same name; null takes one away
	TailToolCall      *ToolCall       `json:"tailToolCallRequest,omitempty"` // AfterTool: its result takes the place of the call's
	ClearContext      bool            `json:"clearContext,omitempty"`        // AfterAgent: the history is emptied
	LLMRequest        json.RawMessage `json:"llm_request,omitempty"`         // BeforeModel: parts of an LLMRequest
	LLMResponse       json.RawMessage `json:"llm_response,omitempty"`        // BeforeModel: taken instead of asking the model; AfterModel: in place of the piece
	ToolConfig        *ToolConfig     `json:"toolConfig,omitempty"`          // BeforeToolSelection
}

// ToolCall is a call that a hook asks for.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // an object
}

// Stops reports whether the hook ends what is going on.
func (o *Output) Stops() bool { return o.Continue != nil && !*o.Continue }

// outputKeys and specificKeys are the names that are read.
var (
	outputKeys   = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
	specificKeys = []string{"additionalContext", "tool_input", "tailToolCallRequest", "clearContext", "llm_request", "llm_response", "toolConfig", "hookEventName",
		"permissionDecision", "permissionDecisionReason"}
)

// parseOutput reads the JSON object that a command has printed; false: the text is
// none. A field that is of the wrong type is left out with a warning; see
// [Ran.settle] for continue and decision.
func parseOutput(text []byte) (o Output, warnings []string, ok bool) {
	for range 2 { // an object may stand in a text
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
	under    string // stands before names, for people
	warnings []string
}

func (f *fields) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// read decodes a member; false where it is absent, null or of another type, which
// leaves into as it was.
func (f *fields) read(key string, into any, wanted string) bool {
	value, given := f.given[key]
	if !given || string(value) == "null" {
		return false
	}
	if json.Unmarshal(value, into) != nil {
		f.warn("%s%s must be %s, and is left out.", f.under, key, wanted)
		return false
	}
	return true
}

// unknown tells of names that are nearly one that is read.
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
			f.warn("%s%.60s means nothing here. Perhaps %s is meant.", f.under, name, word)
		}
	}
}

// decision reads a decision, in any case of letters, or returns what is none as it
// stands.
func (f *fields) decision(key string) (d Decision, odd string) {
	var text string
	value, given := f.given[key]
	if !given || string(value) == "null" || string(value) == `""` {
		return "", ""
	}
	_ = json.Unmarshal(value, &text) // what is no text is no decision
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
		if inner.read("name", &call.Name, "a text") && call.Name != "" {
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
	f.read("allowedFunctionNames", &c.AllowedFunctionNames, "a list of texts")
	c.Mode = strings.ToUpper(c.Mode)
	if !slices.Contains([]string{ToolsAuto, ToolsAny, ToolsNone, ""}, c.Mode) {
		f.warn("%smode must be AUTO, ANY or NONE, and is left out.", f.under)
		c.Mode = ""
	}
	return &c
}

// object returns a member that is an object; nil where it is none.
func (f *fields) object(key string) json.RawMessage {
	var raw json.RawMessage
	if !f.read(key, &raw, "an object") {
		return nil
	}
	if membersOf(raw) == nil {
		f.warn("%s%s must be an object, and is left out.", f.under, key)
		return nil
	}
	return raw
}

// membersOf returns the members of an object; nil for what is none.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// overlay returns an object with the members of another over its own. With drop,
// a member that is null is taken away. base may be nil.
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
		return base // what was decoded can be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}

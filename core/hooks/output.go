package hooks

import (
	"encoding/json"
	"time"
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

// Ran is the outcome of one hook.
type Ran struct {
	Hook     *Hook
	Exit     int    // of a command; -1: ended by a signal, or not started
	Signal   string // that ended it; "" if none
	TimedOut bool
	Duration time.Duration
	Stdout   string // of a command, truncated
	Stderr   string
	Output   Output   // as far as it applies
	Warnings []string // sentences
}

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

	// Specific is the combined event-specific output: additional context, a line each;
	// objects with the parts of all hooks; nil ToolInput leaves the arguments unchanged.
	Specific
	Rewriters string // the names of the hooks that set ToolInput
}

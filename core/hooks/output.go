package hooks

import "encoding/json"

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

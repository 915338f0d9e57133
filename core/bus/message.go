package bus

import (
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/confirmation"
)

// Message is a message of the bus: one of the message structs of this package, by value. [Types] lists their types; the
// bus accepts no others.
//
// Slices, maps and pointers in a message are shared by all receivers. Neither the publisher nor a receiver may modify
// them.
type Message interface {
	messageType() Type
}

// Type is the kind of a message: the value of "type" in JSON.
type Type string

// The types.
const (
	typeToolConfirmationRequest  Type = "tool-confirmation-request"
	typeToolConfirmationResponse Type = "tool-confirmation-response"
	typeToolPolicyRejection      Type = "tool-policy-rejection"
	typeUpdatePolicy             Type = "update-policy"
	typeAskUserRequest           Type = "ask-user-request"
	typeAskUserResponse          Type = "ask-user-response"
	typeToolExecutionSuccess     Type = "tool-execution-success"
	typeToolExecutionFailure     Type = "tool-execution-failure"
	typeToolCallsUpdate          Type = "tool-calls-update"
	typeSubagentActivity         Type = "subagent-activity"
	typeToolOutput               Type = "tool-output"
	typeConfigChanged            Type = "config-changed"
	typeHookMessage              Type = "hook-message"
)

// messages has a row for each message, in the order of [Types].
var messages = []message{
	row[ToolConfirmationRequest](), row[ToolConfirmationResponse](), row[ToolPolicyRejection](), row[UpdatePolicy](),
	row[AskUserRequest](), row[AskUserResponse](),
	row[ToolExecutionSuccess](), row[ToolExecutionFailure](), row[ToolCallsUpdate](), row[SubagentActivity](), row[ToolOutput](),
	row[ConfigChanged](), row[HookMessage](),
}

// ToolCall is a call as it will be executed.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // a JSON object
}

// Failure is an error for users and programs. Its fields are those of fault.Error.
type Failure struct {
	Type    string `json:"type"` // class, such as "file_not_found"
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // next step
	Reason  string `json:"reason,omitempty"` // narrower cause within Type
}

// ToolPolicyRejection reports that policy denied a call.
type ToolPolicyRejection struct {
	ToolCall   ToolCall                 `json:"toolCall"`
	CallID     string                   `json:"callId,omitempty"`
	ServerName string                   `json:"serverName,omitempty"` // MCP server of the tool
	Subagent   string                   `json:"subagent,omitempty"`   // the calling subagent; "": the main agent
	Decision   confirmation.Explanation `json:"decision"`
}

func (ToolPolicyRejection) messageType() Type { return typeToolPolicyRejection }

// UpdatePolicy reports that an approval has become a rule that allows calls from now on. Each message describes one
// rule.
type UpdatePolicy struct {
	ToolName         string   `json:"toolName"`
	Persist          bool     `json:"persist,omitempty"`      // saved for later sessions
	PersistScope     string   `json:"persistScope,omitempty"` // policy file of a saved approval: "user" or "workspace"
	ArgsPattern      string   `json:"argsPattern,omitempty"`
	CommandPrefix    []string `json:"commandPrefix,omitempty"`
	MCPName          string   `json:"mcpName,omitempty"`
	AllowRedirection bool     `json:"allowRedirection,omitempty"`
	Modes            []string `json:"modes,omitempty"`    // approval modes that it applies in; empty: all but plan
	Subagent         string   `json:"subagent,omitempty"` // the subagent it applies to; "": all agents
	Words            string   `json:"words,omitempty"`    // the rule as shown with the question: see [Remembered]
}

func (UpdatePolicy) messageType() Type { return typeUpdatePolicy }

// ToolExecutionSuccess reports that a call has succeeded.
type ToolExecutionSuccess struct {
	ToolCall ToolCall        `json:"toolCall"`
	CallID   string          `json:"callId,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"` // the result of the tool
}

func (ToolExecutionSuccess) messageType() Type { return typeToolExecutionSuccess }

// ToolExecutionFailure reports that a call was executed and failed.
type ToolExecutionFailure struct {
	ToolCall ToolCall `json:"toolCall"`
	CallID   string   `json:"callId,omitempty"`
	Error    Failure  `json:"error"`
}

func (ToolExecutionFailure) messageType() Type { return typeToolExecutionFailure }

// ToolCallsUpdate is a snapshot of all calls of one batch, in call order. One is published after each change of state,
// so that the next one compensates for a dropped one.
type ToolCallsUpdate struct {
	SchedulerID string          `json:"schedulerId"`
	ToolCalls   []ToolCallState `json:"toolCalls"`
}

func (ToolCallsUpdate) messageType() Type { return typeToolCallsUpdate }

// ToolCallState is the state of one call.
type ToolCallState struct {
	CallID      string          `json:"callId"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"` // description of the call, one line
	Args        json.RawMessage `json:"args,omitempty"`
	Status      CallStatus      `json:"status"`
	Subagent    string          `json:"subagent,omitempty"` // the calling subagent; "": the main agent
	// Preview is set if plan mode previewed the call instead of running it: the status is success, and nothing was
	// changed.
	Preview       bool            `json:"preview,omitempty"`
	CorrelationID string          `json:"correlationId,omitempty"` // of the open question, while awaiting approval
	Outcome       Outcome         `json:"outcome,omitempty"`       // the approver's choice, once answered
	StartTime     time.Time       `json:"startTime,omitzero"`      // start of the execution
	Display       json.RawMessage `json:"display,omitempty"`       // the result for the user, once available
	Error         *Failure        `json:"error,omitempty"`         // why the call did not succeed
}

// CallStatus is the state of a call.
type CallStatus string

// The states, in the order in which a call passes through them. The last four are final.
const (
	StatusValidating       CallStatus = "validating"
	StatusAwaitingApproval CallStatus = "awaiting_approval"
	StatusScheduled        CallStatus = "scheduled"
	StatusExecuting        CallStatus = "executing"
	StatusSuccess          CallStatus = "success"
	StatusError            CallStatus = "error"
	StatusDenied           CallStatus = "denied" // by policy or the user, or without an approver
	StatusCancelled        CallStatus = "cancelled"
)

// Final reports whether a call in this state has ended.
func (s CallStatus) Final() bool {
	return s == StatusSuccess || s == StatusError || s == StatusDenied || s == StatusCancelled
}

// ToolOutput is a piece of live output of an executing call.
type ToolOutput struct {
	CallID string `json:"callId"`
	Chunk  string `json:"chunk"` // directly follows the call's previous chunk
}

func (ToolOutput) messageType() Type { return typeToolOutput }

// ConfigChanged reports that a setting has a new value: a caller changed a running session, or a settings file changed.
// It is published once the value is in force. Messages about one key of one conversation arrive in the order in which
// the values came into force. A call that sets the current value publishes nothing. The new value of a file is published
// even if a stricter value stays in force; Value is then the stricter one.
type ConfigChanged struct {
	SessionID string `json:"sessionId"`
	// Subagent is the conversation concerned; "": the main agent. A change of a file applies to subagents too and is
	// published once, for the main agent. If the approval mode of a subagent yields to it, that is published as well
	// when the subagent continues.
	Subagent string `json:"subagent,omitempty"`
	// Key is the setting, such as "general.defaultApprovalMode". "": no value has changed, but the list of problems or
	// of values that wait for the next session has; Value and Origin are then empty.
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value,omitempty"`  // the value in force, as in a settings file; null: unset
	Origin string          `json:"origin,omitempty"` // path of the settings file that sets it, "default" for none; "": a call in the program
	// Notice is a sentence about a value that has less effect here than its name says: the approval mode auto where
	// commands cannot be confined by mounts. It occurs once in a session.
	Notice string `json:"notice,omitempty"`
}

func (ConfigChanged) messageType() Type { return typeConfigChanged }

// HookMessage reports that a hook runs, its message, or a problem with it.
type HookMessage struct {
	Event    string    `json:"event,omitempty"` // such as "BeforeTool"
	Hook     string    `json:"hook,omitempty"`  // its name or its command; "": several hooks
	Level    HookLevel `json:"level"`
	Text     string    `json:"text,omitempty"`     // for the user; "" while the hook runs
	Subagent string    `json:"subagent,omitempty"` // the subagent's conversation; "": the main agent
}

func (HookMessage) messageType() Type { return typeHookMessage }

// HookLevel is the kind of a [HookMessage].
type HookLevel string

// The levels.
const (
	HookRuns    HookLevel = "running" // it has started; its end is not reported
	HookInfo    HookLevel = "info"    // a message of the hook
	HookWarning HookLevel = "warning" // the hook has a problem, or does not run
)

// SubagentActivity reports a step of a subagent.
type SubagentActivity struct {
	SubagentName string   `json:"subagentName"`
	Activity     Activity `json:"activity"`
}

func (SubagentActivity) messageType() Type { return typeSubagentActivity }

// Activity is one step of a subagent. A later one with the same ID replaces it.
type Activity struct {
	ID      string         `json:"id"`
	Type    ActivityType   `json:"type"`
	Content string         `json:"content"`
	Status  ActivityStatus `json:"status"`
}

// ActivityType is the kind of a step.
type ActivityType string

// The types of steps.
const (
	ActivityThought  ActivityType = "thought"
	ActivityToolCall ActivityType = "tool_call"
)

// ActivityStatus is the state of a step.
type ActivityStatus string

// The states of steps.
const (
	ActivityRunning   ActivityStatus = "running"
	ActivityCompleted ActivityStatus = "completed"
	ActivityError     ActivityStatus = "error"
	ActivityCancelled ActivityStatus = "cancelled"
)

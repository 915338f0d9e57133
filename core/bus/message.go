package bus

import (
	"encoding/json"
	"time"
)

// Message is what the bus carries: one of this package's message structs, by
// value (AR-22). [Types] lists them all; nothing else is carried.
//
// Slices, maps and pointers in a message are shared by all that receive it:
// neither who publishes one nor who receives it changes what they lead to.
type Message interface {
	Type() Type
}

// Type names a kind of message, on the wire too.
type Type string

// The types.
const (
	TypeToolConfirmationRequest  Type = "tool-confirmation-request"
	TypeToolConfirmationResponse Type = "tool-confirmation-response"
	TypeToolPolicyRejection      Type = "tool-policy-rejection"
	TypeUpdatePolicy             Type = "update-policy"
	TypeAskUserRequest           Type = "ask-user-request"
	TypeAskUserResponse          Type = "ask-user-response"
	TypeToolExecutionSuccess     Type = "tool-execution-success"
	TypeToolExecutionFailure     Type = "tool-execution-failure"
	TypeToolCallsUpdate          Type = "tool-calls-update"
	TypeSubagentActivity         Type = "subagent-activity"
	TypeToolOutput               Type = "tool-output"
	TypeConfigChanged            Type = "config-changed"
	TypeHookMessage              Type = "hook-message"
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

// Failure is an error as people and programs see it; its fields are those of
// fault.Error.
type Failure struct {
	Type    string `json:"type"` // class, as "file_not_found"
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // next step
	Reason  string `json:"reason,omitempty"` // narrower cause within Type
}

// ToolPolicyRejection tells that policy did not let a call run (AR-26).
type ToolPolicyRejection struct {
	ToolCall   ToolCall    `json:"toolCall"`
	CallID     string      `json:"callId,omitempty"`
	ServerName string      `json:"serverName,omitempty"` // MCP server that the tool belongs to
	Subagent   string      `json:"subagent,omitempty"`   // who called; "" is the main agent
	Decision   Explanation `json:"decision"`
}

// Type returns [TypeToolPolicyRejection].
func (ToolPolicyRejection) Type() Type { return TypeToolPolicyRejection }

// UpdatePolicy tells that a person's answer has become a rule that allows
// calls from now on (AR-15, AR-21). One message is one rule.
type UpdatePolicy struct {
	ToolName         string       `json:"toolName"`
	Persist          bool         `json:"persist,omitempty"`      // saved for later sessions
	PersistScope     PersistScope `json:"persistScope,omitempty"` // where, if saved
	ArgsPattern      string       `json:"argsPattern,omitempty"`
	CommandPrefix    []string     `json:"commandPrefix,omitempty"`
	MCPName          string       `json:"mcpName,omitempty"`
	AllowRedirection bool         `json:"allowRedirection,omitempty"`
	Modes            []string     `json:"modes,omitempty"`    // approval modes it holds in; empty: all but plan
	Subagent         string       `json:"subagent,omitempty"` // whose calls it holds for; "" is everybody's
	Words            string       `json:"words,omitempty"`    // the rule as its question had it: see [Remembered]
}

// Type returns [TypeUpdatePolicy].
func (UpdatePolicy) Type() Type { return TypeUpdatePolicy }

// PersistScope says whose policy a saved approval belongs to.
type PersistScope string

// The scopes.
const (
	PersistWorkspace PersistScope = "workspace"
	PersistUser      PersistScope = "user"
)

// ToolExecutionSuccess tells that a call has succeeded.
type ToolExecutionSuccess struct {
	ToolCall ToolCall        `json:"toolCall"`
	CallID   string          `json:"callId,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"` // the tool's result (AR-17)
}

// Type returns [TypeToolExecutionSuccess].
func (ToolExecutionSuccess) Type() Type { return TypeToolExecutionSuccess }

// ToolExecutionFailure tells that a call was executed and has failed.
type ToolExecutionFailure struct {
	ToolCall ToolCall `json:"toolCall"`
	CallID   string   `json:"callId,omitempty"`
	Error    Failure  `json:"error"`
}

// Type returns [TypeToolExecutionFailure].
func (ToolExecutionFailure) Type() Type { return TypeToolExecutionFailure }

// ToolCallsUpdate is a snapshot of all calls of one batch, in call order. One
// follows each change of state, so that a lost one is made good by the next.
type ToolCallsUpdate struct {
	SchedulerID string          `json:"schedulerId"`
	ToolCalls   []ToolCallState `json:"toolCalls"`
}

// Type returns [TypeToolCallsUpdate].
func (ToolCallsUpdate) Type() Type { return TypeToolCallsUpdate }

// ToolCallState is where one call stands.
type ToolCallState struct {
	CallID      string          `json:"callId"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"` // what the call does, one line
	Args        json.RawMessage `json:"args,omitempty"`
	Status      CallStatus      `json:"status"`
	Subagent    string          `json:"subagent,omitempty"` // whose call it is; "" is the main agent's
	// Preview says that plan mode has shown what the call would do instead of
	// doing it: the status is success, and nothing was changed.
	Preview       bool            `json:"preview,omitempty"`
	CorrelationID string          `json:"correlationId,omitempty"` // of the open question, while awaiting approval
	Outcome       Outcome         `json:"outcome,omitempty"`       // what a person chose, once asked
	StartTime     time.Time       `json:"startTime,omitzero"`      // when execution began
	Display       json.RawMessage `json:"display,omitempty"`       // the result for people (AR-18), once there is one
	Error         *Failure        `json:"error,omitempty"`         // why it did not succeed
}

// CallStatus is the state of a call.
type CallStatus string

// The states, in the order that a call takes them. The last four are final.
const (
	StatusValidating       CallStatus = "validating"
	StatusAwaitingApproval CallStatus = "awaiting_approval"
	StatusScheduled        CallStatus = "scheduled"
	StatusExecuting        CallStatus = "executing"
	StatusSuccess          CallStatus = "success"
	StatusError            CallStatus = "error"
	StatusDenied           CallStatus = "denied" // by policy or a person, or for want of one
	StatusCancelled        CallStatus = "cancelled"
)

// Final reports whether a call in this state has ended.
func (s CallStatus) Final() bool {
	return s == StatusSuccess || s == StatusError || s == StatusDenied || s == StatusCancelled
}

// ToolOutput is a piece of live output of a call that executes.
type ToolOutput struct {
	CallID string `json:"callId"`
	Chunk  string `json:"chunk"` // follows the call's previous chunk without a break
}

// Type returns [TypeToolOutput].
func (ToolOutput) Type() Type { return TypeToolOutput }

// ConfigChanged tells that a setting has another value from now on: somebody
// has turned a knob of a running session, or a settings file has changed. It is
// sent once the value is in force. Messages about one key of one conversation
// come in the order in which its values came into force. A call that sets the
// value that is in force already is no change and announces nothing. A file's
// new value is announced even where what is in force is stricter and stays: it
// is Value then.
type ConfigChanged struct {
	SessionID string `json:"sessionId"`
	// Subagent is whose conversation it is; "" is the main agent. What a file
	// changes holds for subagents too and is announced once, for the main agent;
	// only where an approval mode of a subagent's own gives way to it, that is
	// announced too, once the subagent goes on.
	Subagent string `json:"subagent,omitempty"`
	// Key is that of the setting, as "general.defaultApprovalMode". "": no value
	// has changed, but what is wrong in the settings, or waits for the next
	// session, is something else now; Value and Origin are empty.
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value,omitempty"`  // in force now, as a settings file holds it; null: nobody gives one
	Origin string          `json:"origin,omitempty"` // path of the settings file that it comes from now, "default" for none; "": a call in the program
}

// Type returns [TypeConfigChanged].
func (ConfigChanged) Type() Type { return TypeConfigChanged }

// HookMessage tells that a hook runs, what it has to say, or what is wrong with it.
type HookMessage struct {
	Event    string    `json:"event,omitempty"` // as "BeforeTool"
	Hook     string    `json:"hook,omitempty"`  // its name, or its command; "": it is about several
	Level    HookLevel `json:"level"`
	Text     string    `json:"text,omitempty"`     // for people; "" while it runs
	Subagent string    `json:"subagent,omitempty"` // in whose conversation; "" is the main agent
}

// Type returns [TypeHookMessage].
func (HookMessage) Type() Type { return TypeHookMessage }

// HookLevel is what a [HookMessage] is.
type HookLevel string

// The levels.
const (
	HookRuns    HookLevel = "running" // it has begun; nothing tells its end
	HookInfo    HookLevel = "info"    // the hook says it
	HookWarning HookLevel = "warning" // something is wrong with it, or it does not run
)

// SubagentActivity tells what a subagent does.
type SubagentActivity struct {
	SubagentName string   `json:"subagentName"`
	Activity     Activity `json:"activity"`
}

// Type returns [TypeSubagentActivity].
func (SubagentActivity) Type() Type { return TypeSubagentActivity }

// Activity is one step of a subagent. A later one with the same ID replaces it.
type Activity struct {
	ID      string         `json:"id"`
	Type    ActivityType   `json:"type"`
	Content string         `json:"content"`
	Status  ActivityStatus `json:"status"`
}

// ActivityType is what a step is.
type ActivityType string

// The types of steps.
const (
	ActivityThought  ActivityType = "thought"
	ActivityToolCall ActivityType = "tool_call"
)

// ActivityStatus is where a step stands.
type ActivityStatus string

// The states of steps.
const (
	ActivityRunning   ActivityStatus = "running"
	ActivityCompleted ActivityStatus = "completed"
	ActivityError     ActivityStatus = "error"
	ActivityCancelled ActivityStatus = "cancelled"
)

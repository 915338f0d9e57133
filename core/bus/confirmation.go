package bus

import "github.com/fettle-dev/fettle/core/confirmation"

// ToolConfirmationRequest asks an approver whether a call may run.
type ToolConfirmationRequest struct {
	CorrelationID   string                   `json:"correlationId"` // may be empty: [Ask] generates one
	CallID          string                   `json:"callId,omitempty"`
	ToolCall        ToolCall                 `json:"toolCall"`
	ServerName      string                   `json:"serverName,omitempty"`      // MCP server of the tool
	ToolAnnotations map[string]any           `json:"toolAnnotations,omitempty"` // annotations that the server sent; not verified
	Subagent        string                   `json:"subagent,omitempty"`        // the subagent that calls; "": the main agent
	Details         Confirmation             `json:"details"`
	Decision        confirmation.Explanation `json:"decision"`            // why approval is required
	Outcomes        []Outcome                `json:"outcomes"`            // the accepted outcomes, in the order to offer them
	Remembers       []Remembered             `json:"remembers,omitempty"` // the rules that the lasting outcomes store, in the same order
	Modified        bool                     `json:"modified,omitempty"`  // Details show content that the user has modified
	// Unasked names the flag or rule that would let such a call run without approval, in words for the user.
	Unasked string `json:"unasked,omitempty"`
}

// Remembered lists the rules that an outcome stores.
type Remembered struct {
	Outcome Outcome `json:"outcome"`
	// Rules describes each rule that the answer puts in force, such as "commands that begin with git status". Each text
	// is one line and safe to print. There is at least one.
	Rules []string `json:"rules"`
}

func (ToolConfirmationRequest) messageType() Type { return typeToolConfirmationRequest }

// Correlation returns the id of the question.
func (m ToolConfirmationRequest) Correlation() string { return m.CorrelationID }

func (m ToolConfirmationRequest) correlated(id string) question { m.CorrelationID = id; return m }

func (ToolConfirmationRequest) answeredBy(ToolConfirmationResponse) {}

func (ToolConfirmationRequest) takes(a Answer) bool { _, ok := a.(ToolConfirmationResponse); return ok }

// ToolConfirmationResponse answers a [ToolConfirmationRequest].
type ToolConfirmationResponse struct {
	CorrelationID string  `json:"correlationId"`
	Confirmed     bool    `json:"confirmed"`
	Outcome       Outcome `json:"outcome,omitempty"` // "": proceed_once if Confirmed, else cancel
	Payload       Payload `json:"payload,omitzero"`
	// RequiresUserConfirmation is set by a client that cannot decide without a user; it is not an approval. It ends the
	// question only if no other subscriber can answer. A front end that cannot decide should call
	// [Subscription.Decline].
	RequiresUserConfirmation bool `json:"requiresUserConfirmation,omitempty"`
}

func (ToolConfirmationResponse) messageType() Type { return typeToolConfirmationResponse }

func (m ToolConfirmationResponse) correlation() string { return m.CorrelationID }

func (ToolConfirmationResponse) answers() {}

// Payload is the data that accompanies an outcome.
type Payload struct {
	NewContent *string `json:"newContent,omitempty"` // for modify_with_editor: the whole content that replaces the proposed one
	Approved   *bool   `json:"approved,omitempty"`   // for a plan: false is a denial whatever Confirmed and Outcome are; true alone is not an approval
	Feedback   string  `json:"feedback,omitempty"`   // the user's own words for the model, with an approval or a denial
}

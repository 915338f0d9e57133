package bus

// ToolConfirmationRequest asks a person whether a call may run.
type ToolConfirmationRequest struct {
	CorrelationID   string         `json:"correlationId"` // "" when asked: [Ask] makes one
	CallID          string         `json:"callId,omitempty"`
	ToolCall        ToolCall       `json:"toolCall"`
	ServerName      string         `json:"serverName,omitempty"`      // MCP server that the tool belongs to
	ToolAnnotations map[string]any `json:"toolAnnotations,omitempty"` // what that server says of the tool; not verified
	Subagent        string         `json:"subagent,omitempty"`        // who calls; "" is the main agent
	Details         Confirmation   `json:"details"`
	Decision        Explanation    `json:"decision"`            // why it is asked
	Outcomes        []Outcome      `json:"outcomes"`            // the answers that are taken, in the order to offer them
	Remembers       []Remembered   `json:"remembers,omitempty"` // what those of them stand for that last, in the same order
	Modified        bool           `json:"modified,omitempty"`  // Details show what a person has changed
	// Unasked says, for people, what would let such a call run without a question:
	// a flag, a rule.
	Unasked string `json:"unasked,omitempty"`
}

// Remembered is what an outcome would let run from then on.
type Remembered struct {
	Outcome Outcome `json:"outcome"`
	// Rules are all rules that the answer puts in force, in words, one each, as
	// "commands that begin with git status": texts of one line that are safe to
	// show. There is at least one.
	Rules []string `json:"rules"`
}

// Type returns [TypeToolConfirmationRequest].
func (ToolConfirmationRequest) Type() Type { return TypeToolConfirmationRequest }

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
	// RequiresUserConfirmation says that whoever answers is no person and
	// cannot tell; it is not a yes. It ends the question only if nobody else
	// is asked: a front end that cannot tell uses [Subscription.Decline].
	RequiresUserConfirmation bool `json:"requiresUserConfirmation,omitempty"`
}

// Type returns [TypeToolConfirmationResponse].
func (ToolConfirmationResponse) Type() Type { return TypeToolConfirmationResponse }

// Correlation returns the id of the question that is answered.
func (m ToolConfirmationResponse) Correlation() string { return m.CorrelationID }

func (ToolConfirmationResponse) answers() {}

// Payload is what comes with an outcome.
type Payload struct {
	NewContent *string `json:"newContent,omitempty"` // of modify_with_editor: the whole content that replaces the proposed one
	Approved   *bool   `json:"approved,omitempty"`   // of a plan; false is a no, whatever Confirmed and Outcome say, and true is no yes without them
	Feedback   string  `json:"feedback,omitempty"`   // the person's own words for the model, with a yes or a no
}

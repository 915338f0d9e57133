package bus

// AskUserRequest asks the user questions other than the approval of a call.
type AskUserRequest struct {
	CorrelationID string `json:"correlationId"`      // may be empty: [Ask] generates one
	CallID        string `json:"callId,omitempty"`   // the call that asks; "": unknown
	Subagent      string `json:"subagent,omitempty"` // the subagent that asks; "": the main agent
	Server        string `json:"server,omitempty"`   // MCP server that asks instead of a model; "": none
	// Program is set if the program itself asks instead of a model, for example before a command of the user takes
	// effect.
	Program   bool           `json:"program,omitempty"`
	Questions []UserQuestion `json:"questions"`
}

func (AskUserRequest) messageType() Type { return typeAskUserRequest }

// Correlation returns the id of the question.
func (m AskUserRequest) Correlation() string { return m.CorrelationID }

func (m AskUserRequest) correlated(id string) question { m.CorrelationID = id; return m }

func (AskUserRequest) answeredBy(AskUserResponse) {}

func (AskUserRequest) takes(a Answer) bool { _, ok := a.(AskUserResponse); return ok }

// UserQuestion is one question of an [AskUserRequest].
type UserQuestion struct {
	Question    string           `json:"question"`
	Header      string           `json:"header"` // a word or two, as a tab's label
	Type        UserQuestionType `json:"type"`
	Options     []UserOption     `json:"options,omitempty"`     // of a choice
	MultiSelect bool             `json:"multiSelect,omitempty"` // more than one option may be chosen
	Placeholder string           `json:"placeholder,omitempty"` // shown in an empty text field
	Optional    bool             `json:"optional,omitempty"`    // it may be left blank while others are answered
	Default     string           `json:"default,omitempty"`     // the meaning of a blank answer; "": none
}

// UserQuestionType is the kind of answer that a question takes.
type UserQuestionType string

// The types of questions.
const (
	QuestionChoice UserQuestionType = "choice"
	QuestionText   UserQuestionType = "text"
	QuestionYesNo  UserQuestionType = "yesno"
)

// UserOption is one option of a choice.
type UserOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// AskUserResponse answers an [AskUserRequest].
//
// Answers are keyed by the index of the question: "0", "1", …. A missing or blank answer means that the user left the
// question out. The answer to a choice is the label of an option, several labels joined by ", ", or the user's own
// words. The answer to yesno is yes or no; the first letter in either case suffices, and other words reach the model as
// the user's own. The answer to text is the text that was typed.
type AskUserResponse struct {
	CorrelationID string            `json:"correlationId"`
	Answers       map[string]string `json:"answers"`
	Cancelled     bool              `json:"cancelled,omitempty"` // the user declined to answer
}

func (AskUserResponse) messageType() Type { return typeAskUserResponse }

func (m AskUserResponse) correlation() string { return m.CorrelationID }

func (AskUserResponse) answers() {}

package bus

// AskUserRequest asks a person questions that are not about a call's leave to
// run.
type AskUserRequest struct {
	CorrelationID string `json:"correlationId"`      // "" when asked: [Ask] makes one
	CallID        string `json:"callId,omitempty"`   // the call that asks; "" is unknown
	Subagent      string `json:"subagent,omitempty"` // who asks; "" is the main agent
	Server        string `json:"server,omitempty"`   // MCP server that asks, in the place of a model; "": none
	// Program says that the program itself asks, in the place of a model, as before a
	// command of the person's does something.
	Program   bool           `json:"program,omitempty"`
	Questions []UserQuestion `json:"questions"`
}

// Type returns [TypeAskUserRequest].
func (AskUserRequest) Type() Type { return TypeAskUserRequest }

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
	Placeholder string           `json:"placeholder,omitempty"` // shown where text goes
	Optional    bool             `json:"optional,omitempty"`    // it may be left out while others are answered
	Default     string           `json:"default,omitempty"`     // what leaving it out means; "": nothing
}

// UserQuestionType says how a question is answered.
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
// Answers are by the index of the question: "0", "1", …; one that is missing or
// blank was left out. To a choice the answer is the label of an option, several
// of them joined by ", ", or the person's own words; to yesno it is yes or no,
// of which the first letter will do in any case of letters; to text it is what
// was typed. Other words to a yesno reach the model as the person's own.
type AskUserResponse struct {
	CorrelationID string            `json:"correlationId"`
	Answers       map[string]string `json:"answers"`
	Cancelled     bool              `json:"cancelled,omitempty"` // the person did not want to answer
}

// Type returns [TypeAskUserResponse].
func (AskUserResponse) Type() Type { return TypeAskUserResponse }

// Correlation returns the id of the question that is answered.
func (m AskUserResponse) Correlation() string { return m.CorrelationID }

func (AskUserResponse) answers() {}

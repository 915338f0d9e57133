// Package communicate provides the tool ask_user, which asks the user questions.
package communicate

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools; they must be safe for concurrent use.
type Services struct {
	User User // nil: no user can be asked
}

// User is the user at a front end.
type User interface {
	// Ask shows all questions and waits for the answers until ctx ends or the front end disconnects. Its error is a
	// *fault.Error with code nobody_to_ask if there is no front end, or if it has disconnected; or ctx's.
	Ask(ctx context.Context, questions []Question) (Answers, error)
}

// Question is a question to the user. The caller of [User] has validated it: its texts are not blank, and only a
// choice has options.
type Question struct {
	Question    string       `json:"question" jsonschema:"minLength=1" jsonschema_description:"The whole question, as shown to the user; line breaks are kept."`
	Header      string       `json:"header" jsonschema:"minLength=1" jsonschema_description:"A label of one or two words for the question: Database, Test runner."`
	Type        QuestionType `json:"type" jsonschema:"enum=choice,enum=text,enum=yesno" jsonschema_description:"How it is answered: choice among options, free text, or yesno."`
	Options     []Option     `json:"options,omitempty" jsonschema:"maxItems=4" jsonschema_description:"Only for a choice, which needs 2 to 4 options. Add no option for other answers: the user can always answer in other words."`
	MultiSelect bool         `json:"multiSelect,omitempty" jsonschema_description:"For a choice: several options may be selected. Default: false."`
	Placeholder string       `json:"placeholder,omitempty" jsonschema_description:"A hint shown in the empty text field."`
}

// QuestionType is the kind of answer that a question takes.
type QuestionType string

// The types of questions.
const (
	Choice QuestionType = "choice"
	Text   QuestionType = "text"
	YesNo  QuestionType = "yesno"
)

// Option is one option of a choice.
type Option struct {
	Label       string `json:"label" jsonschema:"minLength=1" jsonschema_description:"The choice in a few words; labels must be unique."`
	Description string `json:"description" jsonschema_description:"The effect of this choice, in a sentence."`
}

// Answers are the user's answers.
type Answers struct {
	// ByIndex holds the answers by the index of their question: "0", "1", …; a skipped question is missing or empty. The
	// answer to a choice is the label of an option, or several labels joined by ", ". The answer to yesno is yes or no,
	// or y or n, in any case. For both, any other text is an answer in the user's own words.
	ByIndex   map[string]string
	Dismissed bool // the user declined to answer
}

// AskUser is the name of the tool.
const AskUser = "ask_user"

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package. They are immutable and shared by every session of the
// process. A session without a front end may omit them.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	f, err := newAskUser()
	if err != nil {
		return nil, err
	}
	return []*Factory{f}, nil
})

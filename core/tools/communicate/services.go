// Package communicate holds the tool that asks the person at the front end.
package communicate

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools; they must be safe for
// concurrent use.
type Services struct {
	Person Person // nil: there is nobody to ask
}

// Person is whoever sits at the front end.
type Person interface {
	// Ask puts the questions, all at once, and waits for the answers as long
	// as somebody is there to give them and ctx lasts. Its error is a
	// *fault.Error of code nobody_to_ask where nobody is, at once, or where
	// whoever was asked has left; or ctx's.
	Ask(ctx context.Context, questions []Question) (Answers, error)
}

// Question is one question to a person. The caller of [Person] has checked it:
// its texts are not blank, and only a choice has options.
type Question struct {
	Question    string       `json:"question" jsonschema:"minLength=1" jsonschema_description:"The whole question, as it is shown; a line break in it stays one."`
	Header      string       `json:"header" jsonschema:"minLength=1" jsonschema_description:"A word or two that name the question, as the label of a tab: Database, Test runner."`
	Type        QuestionType `json:"type" jsonschema:"enum=choice,enum=text,enum=yesno" jsonschema_description:"How it is answered: choice among options, free text, or yesno."`
	Options     []Option     `json:"options,omitempty" jsonschema:"maxItems=4" jsonschema_description:"Of a choice, which needs 2 to 4 of them, and of nothing else. Leave out an option for anything else: the person can always answer in other words."`
	MultiSelect bool         `json:"multiSelect,omitempty" jsonschema_description:"Of a choice: more than one option may be chosen. Default: false."`
	Placeholder string       `json:"placeholder,omitempty" jsonschema_description:"A hint that is shown where text is typed."`
}

// QuestionType says how a question is answered.
type QuestionType string

// The types of questions.
const (
	Choice QuestionType = "choice"
	Text   QuestionType = "text"
	YesNo  QuestionType = "yesno"
)

// Option is one option of a choice.
type Option struct {
	Label       string `json:"label" jsonschema:"minLength=1" jsonschema_description:"What the person chooses, in a few words; no two are the same."`
	Description string `json:"description" jsonschema_description:"What choosing it means, in a sentence."`
}

// Answers are what a person said.
type Answers struct {
	// ByIndex holds the answers by the index of their question: "0", "1", …;
	// what the person left out is missing or empty. The answer to a choice is
	// the label of an option, or several of them joined by ", ", and to yesno it
	// is yes or no, or y or n, in any case of letters; to both, anything else is
	// an answer in the person's own words.
	ByIndex   map[string]string
	Dismissed bool // the person did not want to answer
}

// AskUser is the name of the tool.
const AskUser = "ask_user"

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package. They are
// immutable and shared by every session of the process. A session without a
// front end may leave them out.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	f, err := newAskUser()
	if err != nil {
		return nil, err
	}
	return []*Factory{f}, nil
})

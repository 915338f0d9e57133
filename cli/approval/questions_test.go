package approval

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

var (
	choose = bus.UserQuestion{Header: "Database", Question: "Which database?", Type: bus.QuestionChoice, Options: []bus.UserOption{
		{Label: "PostgreSQL", Description: "What the others use."}, {Label: "SQLite", Description: "A file."}, {Label: "none"}}}
	several = bus.UserQuestion{Header: "Checks", Question: "Which checks?", Type: bus.QuestionChoice, MultiSelect: true, Options: choose.Options}
	free    = bus.UserQuestion{Header: "Name", Question: "What is it called?", Type: bus.QuestionText, Placeholder: "one word"}
	yesNo   = bus.UserQuestion{Header: "Sure", Question: "Shall I?", Type: bus.QuestionYesNo}
)

// TO-14: each kind of question, with the typed lines.
func TestQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		questions []bus.UserQuestion
		typed     string
		want      map[string]string // nil: no answer
		shown     string            // shown besides the questions
	}{
		"a number":            {[]bus.UserQuestion{choose}, "2\n", map[string]string{"0": "SQLite"}, ""},
		"a label":             {[]bus.UserQuestion{choose}, " postgresql \n", map[string]string{"0": "PostgreSQL"}, ""},
		"own words":           {[]bus.UserQuestion{choose}, "2 files, I think\n", map[string]string{"0": "2 files, I think"}, ""},
		"no such number":      {[]bus.UserQuestion{choose}, "4\n0\n1\n", map[string]string{"0": "PostgreSQL"}, "There is no option 4.\n"},
		"too many":            {[]bus.UserQuestion{choose}, "1,2\n1\n", map[string]string{"0": "PostgreSQL"}, "Choose one of the options.\n"},
		"several":             {[]bus.UserQuestion{several}, "3, 1 1\n", map[string]string{"0": "PostgreSQL, none"}, ""},
		"one of several":      {[]bus.UserQuestion{several}, "2\n", map[string]string{"0": "SQLite"}, ""},
		"several, one is not": {[]bus.UserQuestion{several}, "1,9\n1\n", map[string]string{"0": "PostgreSQL"}, "There is no option 9.\n"},
		"text":                {[]bus.UserQuestion{free}, "  fettle two\r\n", map[string]string{"0": "fettle two"}, ""},
		"bad bytes":           {[]bus.UserQuestion{free}, "a\xffb\n", map[string]string{"0": "a\ufffdb"}, ""},
		"the end after text":  {[]bus.UserQuestion{free}, "last", map[string]string{"0": "last"}, ""},
		"yes":                 {[]bus.UserQuestion{yesNo}, "Y\n", map[string]string{"0": "yes"}, ""},
		"no":                  {[]bus.UserQuestion{yesNo}, "no\n", map[string]string{"0": "no"}, ""},
		"neither":             {[]bus.UserQuestion{yesNo}, "maybe\nyes\n", map[string]string{"0": "yes"}, "Type y or n.\n"},
		"neither, the end":    {[]bus.UserQuestion{yesNo}, "maybe", nil, ""},
		"all in order": {[]bus.UserQuestion{choose, several, free, yesNo}, "1\n1,2\nx\ny\n",
			map[string]string{"0": "PostgreSQL", "1": "PostgreSQL, SQLite", "2": "x", "3": "yes"}, "The model asks you 4 questions."},
		"Enter":                             {[]bus.UserQuestion{choose}, "\n1\n", map[string]string{"0": "PostgreSQL"}, "An answer is required"},
		"given up":                          {[]bus.UserQuestion{choose, free}, "1\n /cancel \n", nil, ""},
		"Enter alone throws no answer away": {[]bus.UserQuestion{choose, free}, "1\n\n \nx\n", map[string]string{"0": "PostgreSQL", "1": "x"}, ""},
		"the end":                           {[]bus.UserQuestion{choose}, "", nil, ""},
		"the last one":                      {[]bus.UserQuestion{choose, free}, "1\n ", nil, ""},
		"no options":                        {[]bus.UserQuestion{{Question: "q", Type: bus.QuestionChoice}}, "x\n", map[string]string{"0": "x"}, ""},
		"unknown kind":                      {[]bus.UserQuestion{{Question: "q", Type: "scale"}}, "5\n", map[string]string{"0": "5"}, ""},
		"none was asked":                    {nil, "", map[string]string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestUser(t, strings.NewReader(c.typed))
			r, err := bus.Ask(t.Context(), p.bus, bus.AskUserRequest{Questions: c.questions})
			require.NoError(t, err)
			require.Equal(t, c.want == nil, r.Cancelled)
			if c.want != nil {
				require.Equal(t, c.want, r.Answers)
			} else {
				require.Empty(t, r.Answers)
			}
			require.Contains(t, p.sees(), c.shown)
		})
	}
}

// The requester is named.
func TestSubagentAsks(t *testing.T) {
	p := newTestUser(t, strings.NewReader("1\n1\nx\n"))
	for _, questions := range [][]bus.UserQuestion{{choose}, {choose, free}} {
		_, err := bus.Ask(t.Context(), p.bus, bus.AskUserRequest{Subagent: "re\x1bviewer", Questions: questions})
		require.NoError(t, err)
	}
	require.Contains(t, p.sees(), "\nThe subagent re<U+001B>viewer asks for input. /cancel")
	require.Contains(t, p.sees(), "\nThe subagent re<U+001B>viewer asks you 2 questions. /cancel")
}

// A form of an MCP server: the requester is named, optional questions can be skipped,
// and the effect of skipping is explained.
func TestServerAsks(t *testing.T) {
	p := newTestUser(t, strings.NewReader("\nBob\n\n"))
	name, age, sure := free, free, yesNo
	age.Optional, sure.Optional, sure.Default = true, true, "true"
	answer, err := bus.Ask(t.Context(), p.bus, bus.AskUserRequest{Server: "she\x1blf", Questions: []bus.UserQuestion{age, name, sure}})
	require.NoError(t, err)
	require.False(t, answer.Cancelled)
	require.Equal(t, map[string]string{"1": "Bob"}, answer.Answers)
	require.Contains(t, p.sees(), "The MCP server she<U+001B>lf asks you 3 questions. Enter alone skips")
	require.Contains(t, p.sees(), "(Enter: true) [y]es")

	p = newTestUser(t, strings.NewReader("30\n\n/cancel\n"))
	answer, err = bus.Ask(t.Context(), p.bus, bus.AskUserRequest{Server: "shelf", Questions: []bus.UserQuestion{age, name, sure}})
	require.NoError(t, err)
	require.True(t, answer.Cancelled, "an answer is needed")
}

// The text of each kind of question.
func TestRenderQuestions(t *testing.T) {
	p := newTestUser(t, strings.NewReader("1\n2\nx\nn\n"))
	p.Columns = func() int { return 30 }
	long := choose
	long.Question = "Which database should the new service use for its sessions?"
	_, err := bus.Ask(t.Context(), p.bus, bus.AskUserRequest{Questions: []bus.UserQuestion{long, several, free, yesNo}})
	require.NoError(t, err)
	require.Equal(t, `
The model asks you 4 questions. /cancel cancels.

Database (1 of 4)
Which database should the new
service use for its sessions?
  1  PostgreSQL
     What the others use.
  2  SQLite
     A file.
  3  none
[1-3] or your own answer > 
Checks (2 of 4)
Which checks?
  1  PostgreSQL
     What the others use.
  2  SQLite
     A file.
  3  none
[1-3] several as 1,2, or your own answer > 
Name (3 of 4)
What is it called?
your answer (for example one word) > 
Sure (4 of 4)
Shall I?
[y]es  [n]o > `, p.sees())
}

// The questions of a model cannot act on the terminal.
func TestQuestionsAreSafeToShow(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07\rAllow\u202e\x9b1m\xff\n\n[y]es  [n]o > "
	for _, kind := range []bus.UserQuestionType{bus.QuestionChoice, bus.QuestionText, bus.QuestionYesNo} {
		q := question{bus.UserQuestion{Header: hostile, Question: hostile, Placeholder: hostile, Type: kind,
			Options: []bus.UserOption{{Label: hostile, Description: hostile}}}, 1, 1}
		shown := q.render(80, false) + q.prompt(false)
		require.False(t, strings.ContainsFunc(shown, display.Obeyed), "%q", shown)
		require.Contains(t, shown, "<U+001B>")
	}
}

// Questions to the user and a simultaneous approval request are shown one after
// another.
func TestQuestionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		p := newTestUser(t, in)
		answered := make(chan string, 2)
		go func() {
			r, _ := bus.Ask(t.Context(), p.bus, bus.AskUserRequest{Questions: []bus.UserQuestion{free}})
			answered <- r.Answers["0"]
		}()
		synctest.Wait()
		go func() {
			r, _ := bus.Ask(t.Context(), p.bus, editQuestion(bus.ProceedOnce))
			answered <- string(r.Outcome)
		}()
		synctest.Wait()
		require.NotContains(t, p.sees(), "Confirm Write")
		_, err := io.WriteString(keys, "y\n")
		require.NoError(t, err)
		require.Equal(t, "y", <-answered)
		synctest.Wait()
		require.Contains(t, p.sees(), "Confirm Write")
		_, err = io.WriteString(keys, "n\n")
		require.NoError(t, err)
		require.Equal(t, string(bus.Cancel), <-answered)
		require.NoError(t, keys.Close())
	})
}

// AR-29, AR-24: a question ends with its call, with the answer of another front end,
// and if it cannot be shown.
func TestQuestionsEnd(t *testing.T) {
	ask := bus.AskUserRequest{CorrelationID: "q1", Questions: []bus.UserQuestion{free}}
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		p := newTestUser(t, in)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := bus.Ask(ctx, p.bus, ask)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		synctest.Wait()
		require.True(t, strings.HasSuffix(p.sees(), "> \n"))

		ask.CorrelationID = "q2"
		go func() {
			_, err := bus.Ask(t.Context(), p.bus, ask)
			ended <- err
		}()
		synctest.Wait()
		require.NoError(t, p.bus.Publish(bus.AskUserResponse{CorrelationID: "q2"}))
		require.NoError(t, <-ended)
		synctest.Wait()
		require.True(t, strings.HasSuffix(p.sees(), "\nAnother approver has answered.\n"))
		require.NoError(t, keys.Close())
	})
	b := bus.New(bus.Options{})
	detach := NewTerminal(strings.NewReader("x\n"), display.NewScreen(brokenWriter{}), false).Attach(t.Context(), b)
	_, err := bus.Ask(t.Context(), b, ask)
	require.Equal(t, bus.ErrNoApprover, err)
	detach()
}

package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/tui/dialogs"
	"github.com/fettle-dev/fettle/cli/tui/pager"
	"github.com/fettle-dev/fettle/core/bus"
)

// AR-21, UI-02: every outcome has its key, its number and its line; outcomes that are
// not offered have none. Enter without a selection allows nothing.
func TestOutcomeKeys(t *testing.T) {
	tests := map[string]struct {
		keys     string
		outcome  bus.Outcome
		feedback string
	}{
		"once":             {"y", bus.ProceedOnce, ""},
		"always":           {"a", bus.ProceedAlways, ""},
		"save":             {"s", bus.ProceedAlwaysAndSave, ""},
		"tool":             {"t", bus.ProceedAlwaysTool, ""},
		"server":           {"v", bus.ProceedAlwaysServer, ""},
		"capital":          {"Y", bus.ProceedOnce, ""},
		"no":               {"n enter", bus.Cancel, ""},
		"no with words":    {"n a space b enter", bus.Cancel, "a b"},
		"no, then esc":     {"n x esc esc", bus.Cancel, ""},
		"no, then yes":     {"n x esc y", bus.ProceedOnce, ""},
		"no, then ctrl-c":  {"n x ctrl+c", bus.Cancel, ""},
		"number":           {"3", bus.ProceedAlwaysAndSave, ""},
		"number of no":     {"6 x enter", bus.Cancel, "x"},
		"enter alone":      {"enter enter", bus.Cancel, ""},
		"down":             {"down enter", bus.ProceedOnce, ""},
		"up":               {"up enter", bus.ProceedAlwaysServer, ""},
		"down, down":       {"tab down up tab enter", bus.ProceedAlways, ""},
		"esc":              {"esc", bus.Cancel, ""},
		"ctrl-c":           {"ctrl+c", bus.Cancel, ""},
		"other keys first": {"tab down pgdown end space home shift+down up y", bus.ProceedOnce, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake())
			q := serverQuestion()
			q.Outcomes = []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ProceedAlwaysTool, bus.ProceedAlwaysServer, bus.ModifyWithEditor, bus.Cancel}
			answers := asks(r, q)
			r.press(strings.Fields(tt.keys)...)
			a := receive(t, answers)
			require.Equal(t, tt.outcome, a.Outcome)
			require.Equal(t, tt.outcome != bus.Cancel, a.Confirmed)
			require.Equal(t, tt.feedback, a.Payload.Feedback)
			require.Nil(t, r.m.question())
		})
	}
	r := newRig(t, newFake())
	answers := asks(r, infoQuestion())
	for _, key := range []string{"a", "s", "t", "v", "e"} {
		r.press(key)
		require.NotNil(t, r.m.question())
		r.pass(quietFor)
	}
	r.press("y")
	require.Equal(t, bus.ProceedOnce, receive(t, answers).Outcome)
}

// A dialog does not interrupt typing: it waits for a pause, and the typed text goes
// to the input.
func TestTypedAheadDoesNotAnswer(t *testing.T) {
	r := newRig(t, newFake())
	r.typeIn("an")
	answers := asksOnly(r, editQuestion())
	r.until(func() bool { return len(r.m.questions) == 1 })
	require.NotContains(t, r.text(), "Apply this change?")
	r.pass(quietFor / 2)
	r.typeIn("y")
	r.pass(quietFor - time.Millisecond)
	r.typeIn("y")
	require.Equal(t, "anyy", r.m.input.Text())
	r.pass(quietFor)
	require.Contains(t, r.text(), "Apply this change?")
	require.NotContains(t, r.text(), "enter answers") // displayed, but accepts no keys yet
	require.NotContains(t, r.text(), "> 5")
	require.Contains(t, r.text(), "keys count after a pause")
	r.press("y", "y", "esc", "ctrl+c")
	require.Empty(t, answers)
	r.pass(quietFor - time.Millisecond)
	require.NotContains(t, r.text(), "enter answers")
	r.pass(time.Millisecond)
	require.Contains(t, r.text(), "enter answers")
	r.press("y")
	require.True(t, receive(t, answers).Confirmed)
	require.Equal(t, "anyy", r.m.input.Text())
}

// UI-02: keys that recall older input do not select a choice of a dialog that opens
// meanwhile, and Enter after a letter is part of the same answer.
func TestKeysForTheInputDoNotAnswer(t *testing.T) {
	r := newRig(t, newFake())
	r.press("up")
	answers := asksOnly(r, serverQuestion())
	r.until(func() bool { return len(r.m.questions) == 1 })
	r.press("up", "enter")
	require.NotContains(t, r.text(), "Call this tool?")
	r.pass(quietFor)
	r.pass(armAfter)
	require.Contains(t, r.text(), "> 4  [n]o")
	require.Empty(t, answers)

	r.send(keyOf("y"))
	r.send(keyOf("enter"))
	require.NotContains(t, r.text(), "What should be done instead?")
	r.pass(heldFor)
	require.Equal(t, bus.ProceedOnce, receive(t, answers).Outcome)
}

// Words typed at a dialog answer nothing, whatever letters they contain; a single key
// does.
func TestWordsDoNotAnswer(t *testing.T) {
	for _, words := range []string{"please stop", "read @my", "zzzzy", "queued one", "always", "yes", "stay"} {
		r := newRig(t, newFake())
		q := serverQuestion()
		q.Outcomes = []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ProceedAlwaysTool, bus.ProceedAlwaysServer, bus.Cancel}
		answered := asks(r, q)
		for _, c := range words {
			r.typeIn(string(c))
			r.pass(heldFor - time.Millisecond)
		}
		r.press("enter")
		r.pass(heldFor)
		require.NotNil(t, r.m.question(), words)
		require.NotContains(t, r.text(), "enter answers", words)
		require.Empty(t, answered)
		r.pass(quietFor)
		require.Contains(t, r.text(), "enter answers", words)
		r.press("a")
		require.Equal(t, bus.ProceedAlways, receive(t, answered).Outcome)
	}
	sure := []bus.UserQuestion{{Question: "Sure?", Type: bus.QuestionYesNo}}
	which := []bus.UserQuestion{{Question: "Which?", Type: bus.QuestionChoice, Options: []bus.UserOption{{Label: "Red"}}}}
	for _, questions := range [][]bus.UserQuestion{sure, which} {
		r := newRig(t, newFake())
		asks(r, bus.AskUserRequest{Questions: questions})
		r.typeIn("not now")
		r.press("enter")
		r.pass(heldFor)
		require.NotNil(t, r.m.question())
	}
}

// Text pasted at a dialog without a text field is kept for the input.
func TestPasteAtQuestion(t *testing.T) {
	r := newRig(t, newFake())
	answers := asks(r, editQuestion())
	r.send(tea.PasteMsg{Content: "for later"})
	r.press("n")
	r.send(tea.PasteMsg{Content: "because"})
	r.press("enter")
	require.Equal(t, "because", receive(t, answers).Payload.Feedback)
	require.Equal(t, "for later", r.m.input.Text())
}

// Requests are shown one at a time, in order, and a held key answers only one.
func TestQuestionsQueue(t *testing.T) {
	r := newRig(t, newFake())
	first := asks(r, editQuestion())
	second := asksOnly(r, commandQuestion())
	r.until(func() bool { return len(r.m.questions) == 2 })
	require.NotContains(t, r.text(), "Run this command?")
	r.press("y")
	require.True(t, receive(t, first).Confirmed)
	require.Contains(t, r.text(), "Run this command?")
	r.pass(armAfter)
	r.press("y")
	require.Empty(t, second)
	r.pass(quietFor)
	r.press("y")
	require.True(t, receive(t, second).Confirmed)
}

// A request that is withdrawn or answered elsewhere closes, also while it waits
// behind another.
func TestQuestionsThatEnd(t *testing.T) {
	r := newRig(t, newFake())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := bus.Ask(ctx, r.s.bus, editQuestion())
		ended <- err
	}()
	r.sees("Apply this change?")
	q := commandQuestion()
	q.CorrelationID = "second"
	second := asksOnly(r, q)
	r.until(func() bool { return len(r.m.questions) == 2 })
	cancel()
	r.sees("its request is closed")
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Contains(t, r.text(), "Run this command?")
	publish(r, bus.ToolConfirmationResponse{CorrelationID: "second", Confirmed: true})
	r.sees("Another approver has answered")
	require.True(t, receive(t, second).Confirmed)
	require.Empty(t, r.m.questions)
}

// UI-02: the body scrolls by keys and by the wheel while a choice is selected, also
// while a denial is explained; the selection stays.
func TestBodyScrolls(t *testing.T) {
	r := newRig(t, newFake())
	answers := asks(r, editQuestion())
	r.press("down", "down")
	for _, tt := range []struct {
		keys string
		top  int
	}{
		{"shift+down shift+down shift+up", 1}, {"pgdown", 11}, {"pgup", 1}, {"space", 11}, {"home", 0}, {"end", 23}, {"home", 0},
	} {
		r.press(strings.Fields(tt.keys)...)
		require.Equal(t, tt.top, r.m.question().dialog.(*dialogs.Confirmation).Offset, tt.keys)
		require.Contains(t, r.text(), "> 2  [a]lways")
	}
	r.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	require.Equal(t, 3, r.m.question().dialog.(*dialogs.Confirmation).Offset)
	r.press("n", "pgdown", "shift+up")
	require.Greater(t, r.m.question().dialog.(*dialogs.Confirmation).Offset, 3)
	r.press("x", "esc")
	require.Contains(t, r.text(), "> 4  [n]o")
	r.press("enter", "enter")
	require.Equal(t, "x", receive(t, answers).Payload.Feedback)
}

// A late answer is reported.
func TestLateAnswer(t *testing.T) {
	r := newRig(t, newFake())
	q := editQuestion()
	q.CorrelationID = "late"
	answers := asks(r, q)
	publish(r, bus.ToolConfirmationResponse{CorrelationID: "late"})
	r.press("y") // before the screen knows
	require.Contains(t, r.text(), "your answer has no effect")
	require.False(t, receive(t, answers).Confirmed)
}

// Resizing loses neither an answer nor the position in a diff.
func TestResizeDuringDiff(t *testing.T) {
	r := newRig(t, newFake())
	answers := asks(r, editQuestion())
	r.press("pgdown")
	require.NotContains(t, r.text(), " line 1 ")
	r.press("n")
	r.typeIn("bec")
	for _, size := range []struct{ w, h int }{{40, 10}, {200, 60}, {20, 5}, {1, 1}, {60, 16}, {80, 24}} {
		r.size(size.w, size.h)
		rows, _ := r.m.draw()
		require.Len(t, rows, size.h)
	}
	require.Contains(t, r.text(), "no: bec")
	require.Contains(t, r.text(), "Apply this change?")
	r.typeIn("ause")
	r.press("enter")
	require.Equal(t, "because", receive(t, answers).Payload.Feedback)
}

// The visible part of a diff stays visible after resizing.
func TestResizeKeepsPlace(t *testing.T) {
	r := newRig(t, newFake())
	q := editQuestion()
	var diff strings.Builder
	diff.WriteString("--- a/x\n+++ b/x\n@@ -0,0 +1,200 @@\n")
	for i := range 200 {
		fmt.Fprintf(&diff, "+word%03d %s\n", i, strings.Repeat("and more ", 10))
	}
	q.Details.EditDetails.FileDiff = diff.String()
	asks(r, q)
	r.size(80, 24)
	for !strings.Contains(r.text(), "word100") {
		r.press("pgdown")
	}
	top := r.m.question().dialog.(*dialogs.Confirmation).Offset
	rows, _ := r.m.draw()
	first := ""
	for _, line := range rows {
		if i := strings.Index(line, "word"); i >= 0 && first == "" {
			first = line[i : i+7]
		}
	}
	for _, size := range []struct{ w, h int }{{50, 24}, {140, 40}, {40, 18}} {
		r.size(size.w, size.h)
		require.Contains(t, r.text(), first, size)
	}
	r.size(80, 24)
	require.InDelta(t, top, r.m.question().dialog.(*dialogs.Confirmation).Offset, 1)
	r.press("end")
	for _, size := range []struct{ w, h int }{{50, 24}, {140, 40}, {80, 24}} {
		r.size(size.w, size.h)
		require.Contains(t, r.text(), "word199", size)
	}
}

// Edited content replaces the proposal; a failed edit is reported.
func TestEdit(t *testing.T) {
	tests := map[string]struct {
		content string
		err     error
		wrong   string
	}{
		"changed":   {content: "mine\n"},
		"unchanged": {content: "new\n", wrong: "no change was made in the editor"},
		"failed":    {err: errors.New("there is no editor"), wrong: "there is no editor"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake(), func(o *Options) {
				o.Edit = func(_ context.Context, file, content string) (string, error) {
					require.Equal(t, "main.go", file)
					require.Equal(t, "new\n", content)
					return tt.content, tt.err
				}
			})
			answers := asks(r, editQuestion())
			before := len(r.cmds)
			r.press("e")
			require.Len(t, r.cmds[before:], 1) // releases the terminal to the editor
			r.send(r.execute())
			if tt.wrong != "" {
				require.Contains(t, r.text(), tt.wrong)
				r.press("esc")
				require.False(t, receive(t, answers).Confirmed)
				return
			}
			a := receive(t, answers)
			require.Equal(t, bus.ModifyWithEditor, a.Outcome)
			require.Equal(t, "mine\n", *a.Payload.NewContent)
		})
	}
}

// execute runs the terminal command of the last key, as a program does.
func (r *rig) execute() tea.Msg {
	q := editQuestion()
	q.CorrelationID = r.m.question().id
	return r.m.editorFor(r.Context(), q)()
}

// Every type of question, and every way to skip one (TO-14).
func TestForm(t *testing.T) {
	options := []bus.UserOption{{Label: "Red", Description: "as a rose"}, {Label: "Green"}, {Label: "Blue"}}
	text := bus.UserQuestion{Question: "Name?", Type: bus.QuestionText, Placeholder: "first"}
	optional := bus.UserQuestion{Question: "Nick?", Type: bus.QuestionText, Optional: true}
	sure := bus.UserQuestion{Question: "Sure?", Type: bus.QuestionYesNo, Default: "no"}
	one := bus.UserQuestion{Question: "Which?", Type: bus.QuestionChoice, Options: options}
	some := bus.UserQuestion{Question: "Which ones?", Type: bus.QuestionChoice, Options: options, MultiSelect: true}
	tests := map[string]struct {
		questions []bus.UserQuestion
		keys      string
		want      map[string]string // nil: cancelled
	}{
		"text":                   {[]bus.UserQuestion{text}, "E d enter", map[string]string{"0": "Ed"}},
		"text, two lines":        {[]bus.UserQuestion{text}, "a ctrl+j b enter", map[string]string{"0": "a\nb"}},
		"text is needed":         {[]bus.UserQuestion{text}, "enter tab x enter", map[string]string{"0": "x"}},
		"none":                   {[]bus.UserQuestion{text, one}, "x enter esc", nil},
		"ctrl-c":                 {[]bus.UserQuestion{one}, "ctrl+c", nil},
		"left out with enter":    {[]bus.UserQuestion{optional, text}, "enter x enter", map[string]string{"1": "x"}},
		"left out with tab":      {[]bus.UserQuestion{optional, sure, text}, "tab tab x enter", map[string]string{"2": "x"}},
		"yes":                    {[]bus.UserQuestion{sure}, "Y", map[string]string{"0": "yes"}},
		"no":                     {[]bus.UserQuestion{sure}, "n", map[string]string{"0": "no"}},
		"enter is no":            {[]bus.UserQuestion{sure}, "enter", map[string]string{"0": "no"}},
		"up, enter":              {[]bus.UserQuestion{sure}, "up enter", map[string]string{"0": "yes"}},
		"up, down, enter":        {[]bus.UserQuestion{sure}, "up down enter", map[string]string{"0": "no"}},
		"first option":           {[]bus.UserQuestion{one}, "enter", map[string]string{"0": "Red"}},
		"down":                   {[]bus.UserQuestion{one}, "down down enter", map[string]string{"0": "Blue"}},
		"number":                 {[]bus.UserQuestion{one}, "9 2 enter", map[string]string{"0": "Green"}},
		"own words":              {[]bus.UserQuestion{one}, "4 P i n k enter", map[string]string{"0": "Pink"}},
		"several":                {[]bus.UserQuestion{some}, "enter down down space up up space enter", map[string]string{"0": "Red, Blue"}},
		"several by number":      {[]bus.UserQuestion{some}, "3 2 2 enter", map[string]string{"0": "Blue"}},
		"several, own words":     {[]bus.UserQuestion{some}, "1 down down down n o n e enter", map[string]string{"0": "none"}},
		"back":                   {[]bus.UserQuestion{one, text}, "enter shift+tab down enter x enter", map[string]string{"0": "Green", "1": "x"}},
		"a choice of nothing":    {[]bus.UserQuestion{{Question: "?", Type: bus.QuestionChoice}}, "x enter", map[string]string{"0": "x"}},
		"no questions":           {nil, "x", map[string]string{}},
		"left out, then changed": {[]bus.UserQuestion{optional, text}, "tab shift+tab N enter x enter", map[string]string{"0": "N", "1": "x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake())
			answers := asks(r, bus.AskUserRequest{Questions: tt.questions})
			for i, key := range strings.Fields(tt.keys) {
				if i == 1 {
					r.size(40, 10) // nothing is lost
				}
				r.press(key)
			}
			a := receive(t, answers)
			require.Equal(t, tt.want == nil, a.Cancelled)
			if tt.want != nil {
				require.Equal(t, tt.want, a.Answers)
			} else {
				require.Empty(t, a.Answers)
			}
		})
	}
}

// A request covers an open pager, which is displayed again afterwards.
func TestQuestionOverPager(t *testing.T) {
	r := newRig(t, newFake())
	r.m.pager = pager.New("Help", lines(100, "- line"))
	r.size(80, 24)
	r.press("pgdown")
	at := r.text()
	require.NotContains(t, at, "- line 1\n")
	answers := asks(r, infoQuestion())
	require.NotContains(t, r.text(), "── Help")
	r.press("y")
	receive(t, answers)
	require.Equal(t, at, r.text())
	r.press("q")
	require.Nil(t, r.m.pager)
}

// The title names the requester.
func TestWhoAsks(t *testing.T) {
	tests := map[string]bus.AskUserRequest{
		"╭─ The model asks ─":            {},
		"╭─ The subagent helper asks ─":  {Subagent: "helper"},
		"╭─ The MCP server store asks ─": {Server: "store"},
		"╭─ One question ─":              {Program: true},
	}
	for title, q := range tests {
		r := newRig(t, newFake())
		q.Questions = []bus.UserQuestion{{Question: "Well?", Type: bus.QuestionYesNo}}
		answers := asks(r, q)
		require.Contains(t, r.text(), title)
		r.press("y")
		receive(t, answers)
	}
}

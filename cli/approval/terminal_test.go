package approval

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// everyOutcome offers all answers, in the order of AR-20.
var everyOutcome = []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave,
	bus.ProceedAlwaysTool, bus.ProceedAlwaysServer, bus.ModifyWithEditor, bus.Cancel}

const everyKey = "[y]es once  [a]lways this session  [s]ave always  [t]ool always  ser[v]er always  [e]dit  [n]o > "

// editQuestion returns a request for a change of one line.
func editQuestion(outcomes ...bus.Outcome) bus.ToolConfirmationRequest {
	before := "one\ntwo\nthree\n"
	return bus.ToolConfirmationRequest{
		CallID: "1", ToolCall: bus.ToolCall{Name: "write_file"},
		Details: bus.Confirmation{Type: confirmation.Edit, Title: "Confirm Write: a.txt", EditDetails: &confirmation.EditDetails{
			FileName: "a.txt", FilePath: "/w/a.txt", OriginalContent: &before, NewContent: "one\nTWO\nthree\n",
			FileDiff: "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
		}},
		Decision: confirmation.Explanation{Decision: "ask_user", Reason: "Tools of kind edit need approval.", Tier: "default", Source: "built-in"},
		Outcomes: outcomes,
		Remembers: []bus.Remembered{
			{Outcome: bus.ProceedAlways, Rules: []string{"write_file on /w/a.txt"}}, {Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"write_file on /w/a.txt"}},
			{Outcome: bus.ProceedAlwaysTool, Rules: []string{"any call of write_file"}}, {Outcome: bus.ProceedAlwaysServer, Rules: []string{"any tool of the MCP server s, with any arguments"}},
		},
	}
}

// testUser is a session with a user who types.
type testUser struct {
	*Terminal
	bus   *bus.MessageBus
	shown *lockedBuffer
}

func newTestUser(t *testing.T, in io.Reader) *testUser {
	t.Helper()
	p := &testUser{bus: bus.New(bus.Options{}), shown: new(lockedBuffer)}
	p.Terminal = NewTerminal(in, display.NewScreen(p.shown), false)
	p.edit = func(context.Context, string, string) (string, error) {
		return "", errors.New("there is no editor here")
	}
	detach := p.Attach(t.Context(), p.bus)
	t.Cleanup(func() {
		detach()
		require.NoError(t, p.bus.Close())
	})
	return p
}

func (p *testUser) sees() string { return p.shown.String() }

// lockedBuffer is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// AR-20, AR-24: each key; only offered outcomes are accepted.
func TestKeys(t *testing.T) {
	once := []bus.Outcome{bus.ProceedOnce, bus.Cancel}
	for name, c := range map[string]struct {
		typed   string
		offered []bus.Outcome
		want    bus.Outcome
	}{
		"y":                        {"y\n", once, bus.ProceedOnce},
		"yes":                      {"Yes\r\n", once, bus.ProceedOnce},
		"a":                        {"a\n", everyOutcome, bus.ProceedAlways},
		"s":                        {"s\n", everyOutcome, bus.ProceedAlwaysAndSave},
		"t":                        {"t\n", everyOutcome, bus.ProceedAlwaysTool},
		"v":                        {"v\n", everyOutcome, bus.ProceedAlwaysServer},
		"n":                        {"n\n", everyOutcome, bus.Cancel},
		"no":                       {" no \n", once, bus.Cancel},
		"Enter":                    {"\n", everyOutcome, bus.Cancel},
		"the end":                  {"", everyOutcome, bus.Cancel},
		"something else":           {"what?\ny\n", once, bus.ProceedOnce},
		"something else, the end":  {"what?", once, bus.Cancel},
		"not offered":              {"a\ns\nt\nv\ne\ny\n", once, bus.ProceedOnce},
		"more than a word":         {"yes please\n", once, bus.Cancel},
		"nothing offered":          {"y\n", nil, bus.Cancel},
		"an outcome without a key": {"x\ny\n", []bus.Outcome{"proceed_twice", bus.ProceedOnce}, bus.ProceedOnce},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestUser(t, strings.NewReader(c.typed))
			r, err := bus.Ask(t.Context(), p.bus, editQuestion(c.offered...))
			require.NoError(t, err)
			require.Equal(t, c.want, r.Outcome)
			require.Equal(t, c.want != bus.Cancel, r.Confirmed)
			require.Nil(t, r.Payload.NewContent)
		})
	}
}

// The comment after a no is for the model. An invalid line is answered with the valid
// keys.
func TestFeedback(t *testing.T) {
	for name, c := range map[string]struct {
		typed    string
		feedback string
		sees     string // after the first key line
	}{
		"a no":                      {"n\nuse make\n", "", ""},
		"a no and words":            {"n use make\n", "use make", ""},
		"a whole no and words":      {" No, \tuse  make \r\n", "use  make", ""},
		"words and the end":         {"n use make", "use make", ""},
		"words that are no text":    {"n a\xff\n", "a\ufffd", ""},
		"a word that begins with n": {"nothing more\n", "", "Type y or n, or n and a comment.\n[y]es once  [n]o > "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestUser(t, strings.NewReader(c.typed))
			r, err := bus.Ask(t.Context(), p.bus, editQuestion(bus.ProceedOnce, bus.Cancel))
			require.NoError(t, err)
			require.Equal(t, bus.Cancel, r.Outcome)
			require.False(t, r.Confirmed)
			require.Equal(t, c.feedback, r.Payload.Feedback)
			_, sees, _ := strings.Cut(p.sees(), "[y]es once  [n]o > ")
			require.Equal(t, c.sees, sees)
		})
	}
	require.Equal(t, "Type n, or n and a comment.", whichKeys(Replies(nil)))
}

func TestKeyLine(t *testing.T) {
	require.Equal(t, everyKey, renderKeys(Replies(everyOutcome), false))
	require.Equal(t, "[y]es once  [n]o > ", renderKeys(Replies([]bus.Outcome{bus.Cancel, bus.ProceedOnce}), false))
	require.Equal(t, "\x1b[1m[n]\x1b[0mo > ", renderKeys(Replies(nil), true))
}

// AR-21: edited content is sent with the answer; without a change the request stays
// open.
func TestEditKey(t *testing.T) {
	p := newTestUser(t, strings.NewReader("e\ne\ne\n"))
	tries := 0
	p.edit = func(_ context.Context, name, content string) (string, error) {
		tries++
		require.Equal(t, "a.txt", name)
		require.Equal(t, "one\nTWO\nthree\n", content)
		switch tries {
		case 1:
			return "", errors.New("the editor failed")
		case 2:
			return content, nil
		}
		return "mine\n", nil
	}
	r, err := bus.Ask(t.Context(), p.bus, editQuestion(everyOutcome...))
	require.NoError(t, err)
	require.Equal(t, bus.ModifyWithEditor, r.Outcome)
	require.Equal(t, "mine\n", *r.Payload.NewContent)
	require.Contains(t, p.sees(), everyKey+"The editor failed.\n"+everyKey+"No change was made in the editor.\n"+everyKey)
}

func TestEditKeyWithoutContent(t *testing.T) {
	p := newTestUser(t, strings.NewReader("e\nn\n"))
	r, err := bus.Ask(t.Context(), p.bus, bus.ToolConfirmationRequest{Outcomes: everyOutcome, Details: bus.Confirmation{InfoDetails: &confirmation.InfoDetails{Prompt: "p"}}})
	require.NoError(t, err)
	require.Equal(t, bus.Cancel, r.Outcome)
	require.Contains(t, p.sees(), "No content to edit.\n")
}

// Of two simultaneous requests, one is shown after the other.
func TestQuestionsComeOneAtATime(t *testing.T) {
	in, keys := io.Pipe()
	p := newTestUser(t, in)
	answers := make(chan bus.Outcome)
	for range 2 {
		go func() {
			r, _ := bus.Ask(t.Context(), p.bus, editQuestion(bus.ProceedOnce))
			answers <- r.Outcome
		}()
	}
	_, err := io.WriteString(keys, "y\n")
	require.NoError(t, err)
	require.Equal(t, bus.ProceedOnce, <-answers)
	_, err = io.WriteString(keys, "n\n")
	require.NoError(t, err)
	require.Equal(t, bus.Cancel, <-answers)
	require.Equal(t, 2, strings.Count(p.sees(), "Confirm Write: a.txt"))
	require.NoError(t, keys.Close())
}

// AR-24: another front end may answer first. That is reported, and a late key does
// not answer the next request.
func TestAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		p := newTestUser(t, in)
		q := editQuestion(everyOutcome...)
		q.CorrelationID = "q1"
		first := make(chan bus.Outcome, 1)
		go func() {
			r, _ := bus.Ask(t.Context(), p.bus, q)
			first <- r.Outcome
		}()
		synctest.Wait() // the request is on the screen
		require.True(t, strings.HasSuffix(p.sees(), everyKey))
		require.NoError(t, p.bus.Publish(bus.ToolConfirmationResponse{CorrelationID: "q1", Confirmed: true, Outcome: bus.ProceedOnce}))
		synctest.Wait()
		require.Equal(t, bus.ProceedOnce, <-first)
		require.True(t, strings.HasSuffix(p.sees(), everyKey+"\nAnother approver has answered.\n"))

		second := make(chan bus.Outcome, 1)
		go func() {
			r, _ := bus.Ask(t.Context(), p.bus, editQuestion(everyOutcome...))
			second <- r.Outcome
		}()
		synctest.Wait()
		_, err := io.WriteString(keys, "n\n")
		require.NoError(t, err)
		require.Equal(t, bus.Cancel, <-second)
		require.NoError(t, keys.Close())
	})
}

// An answer may cross another answer or the end of the call; that is reported, too.
func TestAnswerComesTooLate(t *testing.T) {
	for want, end := range map[string]func(b *bus.MessageBus, cancel context.CancelFunc){
		"Another approver has already answered; your answer has no effect.\n": func(b *bus.MessageBus, _ context.CancelFunc) {
			_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: "q1", Confirmed: true})
		},
		"The call has ended; your answer has no effect.\n": func(_ *bus.MessageBus, cancel context.CancelFunc) { cancel() },
		"Your answer was not delivered: bus: closed\n":     func(b *bus.MessageBus, _ context.CancelFunc) { _ = b.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := bus.New(bus.Options{})
			another := bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolConfirmationRequest) {})
			ctx, cancel := context.WithCancel(t.Context())
			q := editQuestion(bus.ProceedOnce)
			q.CorrelationID = "q1"
			go func() { _, _ = bus.Ask(ctx, b, q) }()
			synctest.Wait()
			end(b, cancel)
			synctest.Wait()

			var shown bytes.Buffer
			NewTerminal(strings.NewReader("y\n"), display.NewScreen(&shown), false).answer(t.Context(), b, q)
			require.True(t, strings.HasSuffix(shown.String(), want), "%s", shown.String())
			another.Unsubscribe()
			cancel()
		})
	}
}

// AR-29: the end of a call closes its request.
func TestQuestionEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		p := newTestUser(t, in)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := bus.Ask(ctx, p.bus, editQuestion(bus.ProceedOnce))
			ended <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		synctest.Wait()
		require.True(t, strings.HasSuffix(p.sees(), "[n]o > \n"))
		require.NoError(t, keys.Close())
	})
}

// Detaching a front end during a request closes the request (AR-24).
func TestDetachEndsTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		b := bus.New(bus.Options{})
		detach := NewTerminal(in, display.NewScreen(io.Discard), false).Attach(t.Context(), b)
		require.True(t, b.Listening(bus.ToolConfirmationRequest{}))
		ended := make(chan error, 1)
		go func() {
			_, err := bus.Ask(t.Context(), b, editQuestion(bus.ProceedOnce))
			ended <- err
		}()
		synctest.Wait()
		detach()
		require.ErrorIs(t, <-ended, bus.ErrNoApprover)
		require.False(t, b.Listening(bus.ToolConfirmationRequest{}))
		require.NoError(t, keys.Close())
	})
}

// A request that could not be shown is not approved by any input (AR-24).
func TestQuestionThatCannotBeShown(t *testing.T) {
	b := bus.New(bus.Options{})
	detach := NewTerminal(strings.NewReader("y\n"), display.NewScreen(brokenWriter{}), false).Attach(t.Context(), b)
	_, err := bus.Ask(t.Context(), b, editQuestion(bus.ProceedOnce))
	require.Equal(t, bus.ErrNoApprover, err)
	detach()
}

// A terminal that cannot show a request leaves it to other front ends.
func TestQuestionIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		detach := NewTerminal(strings.NewReader("y\n"), display.NewScreen(brokenWriter{}), false).Attach(t.Context(), b)
		other := bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolConfirmationRequest) {})
		q := editQuestion(bus.ProceedOnce)
		q.CorrelationID = "q1"
		asked := make(chan bus.Outcome, 1)
		go func() {
			r, _ := bus.Ask(t.Context(), b, q)
			asked <- r.Outcome
		}()
		synctest.Wait()
		require.Empty(t, asked)
		require.NoError(t, b.Publish(bus.ToolConfirmationResponse{CorrelationID: "q1", Confirmed: true, Outcome: bus.ProceedOnce}))
		require.Equal(t, bus.ProceedOnce, <-asked)
		other.Unsubscribe()
		detach()
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

// AR-21: a stored approval is printed in words.
func TestRememberedIsTold(t *testing.T) {
	for want, u := range map[string]bus.UpdatePolicy{
		"commands that begin with git push; until this session ends.": {ToolName: "run_shell_command", Words: "commands that begin with git push"},
		"write_file on /w/a.txt; kept for later sessions.":            {ToolName: "write_file", Words: "write_file on /w/a.txt", Persist: true, PersistScope: "user"},
	} {
		require.Equal(t, want, Remembered(u))
	}
	synctest.Test(t, func(t *testing.T) {
		p := newTestUser(t, strings.NewReader(""))
		require.NoError(t, p.bus.Publish(bus.UpdatePolicy{ToolName: "a", Words: "a\x1bb"}))
		synctest.Wait()
		require.Equal(t, "Remembered: a<U+001B>b; until this session ends.\n", p.sees())
	})
}

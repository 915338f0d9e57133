package approval

import (
	"bytes"
	"context"
	"encoding/json"
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

// AR-19, FS-56: the text of each kind of request.
func TestRenderQuestion(t *testing.T) {
	edit := editQuestion(everyOutcome...)
	created := editQuestion(bus.ProceedOnce, bus.Cancel)
	created.Details.EditDetails = &confirmation.EditDetails{FilePath: "/w/n.txt", NewContent: "a\nb", FileDiff: "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"}
	created.Details.Title = "Confirm Write: n.txt"
	modified := editQuestion(bus.ProceedOnce)
	modified.Modified = true
	modified.Details.EditDetails.DiffStat = &confirmation.DiffStat{ModelAddedLines: 1, ModelRemovedLines: 1, UserAddedLines: 3, UserRemovedLines: 2}
	modified.Details.SystemMessage = "A hook says: mind the gap."
	modified.Subagent = "helper"

	for name, c := range map[string]struct {
		q    bus.ToolConfirmationRequest
		want string
	}{
		"edit": {edit, `
Confirm Write: a.txt
/w/a.txt  +1 −1
1 1  one
2   -two
  2 +TWO
3 3  three
why: Tools of kind edit need approval. (default tier, built-in)
  [a] until this session ends: write_file on /w/a.txt
  [s] from now on, kept in your policy file: write_file on /w/a.txt
  [t] until this session ends: any call of write_file
  [v] until this session ends: any tool of the MCP server s, with any arguments
`},
		"new file": {created, `
Confirm Write: n.txt
new file: /w/n.txt  +2 −0
  1 +a
  2 +b
    \ No newline at end of file
why: Tools of kind edit need approval. (default tier, built-in)
`},
		"modified": {modified, `
Confirm Write: a.txt
requested by the subagent helper
note: A hook says: mind the gap.
/w/a.txt  +1 −1
with your changes: +3 −2, proposed +1 −1
1 1  one
2   -two
  2 +TWO
3 3  three
why: Tools of kind edit need approval. (default tier, built-in)
`},
		"command": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command"},
			Details: bus.Confirmation{Type: confirmation.Exec, Title: "Confirm: Shell", Paths: []string{"/w/out.txt"}, ExecDetails: &confirmation.ExecDetails{
				Command: "git status && make >out.txt", RootCommand: "git, make", RootCommands: []string{"git", "make"},
				Parts: []confirmation.Part{
					{Text: "git status", Decision: "allow", Rule: "git-read", Tier: "user", Source: "/h/policies.toml", Line: 3},
					{Text: "git log", Decision: "allow", Reason: "git-read (/h/policies.toml:3) allows it.", Rule: "git-read", Tier: "user", Source: "/h/policies.toml", Line: 3},
					{Text: "make", Decision: "ask_user", Reason: "No rule speaks of make."},
					{Text: "> out.txt", Decision: "deny", Reason: "a file"},
				},
			}},
			Decision: confirmation.Explanation{Decision: "ask_user", Reason: "The part make needs an answer.", Rule: "ask shell", Tier: "admin", Source: "/etc/p.toml", Line: 12},
			Outcomes: []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.Cancel},
			Remembers: []bus.Remembered{ // 18020, 22169
				{Outcome: bus.ProceedAlways, Rules: []string{"commands that begin with make", "write_file on /w/out.txt"}},
				{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"commands that begin with make\x1b"}},
			},
		}, `
Confirm: Shell
git status && make >out.txt
  allowed  git status  (rule git-read, user tier, /h/policies.toml:3)
  allowed  git log  git-read (/h/policies.toml:3) allows it.
  asks     make  No rule speaks of make.
  denied   > out.txt  a file
changes /w/out.txt
why: The part make needs an answer. (rule ask shell, admin tier, /etc/p.toml:12)
  [a] until this session ends:
    - commands that begin with make
    - write_file on /w/out.txt
  [s] from now on, kept in your policy file: commands that begin with make<U+001B>
`},
		"command that no rule allows": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command", Args: json.RawMessage(`{"command":"make && cd x","dir_path":"sub","description":"Builds\n\u001b[2J it.","is_background":true}`)},
			Details: bus.Confirmation{Title: "Confirm: Shell", ExecDetails: &confirmation.ExecDetails{Command: "make && cd x", Parts: []confirmation.Part{
				{Text: "make", Decision: "ask_user", Reason: `No rule allows "make".`, Rule: "kinds that are asked about", Tier: "default", Source: "built-in"},
				{Text: "cd x", Decision: "allow", Reason: "It changes nothing outside of the shell.", Rule: "own", Tier: "default", Source: "built-in"},
			}}},
			Decision: confirmation.Explanation{Decision: "ask_user", Reason: `Of its 2 parts, "make": No rule allows "make".`, Rule: "kinds that are asked about", Tier: "default", Source: "built-in"},
		}, `
Confirm: Shell
make && cd x
  dir_path: sub
  description: Builds <U+001B>[2J it.
  is_background: true
  asks     make  No rule allows it.
  allowed  cd x  It changes nothing outside of the shell.
why: No rule allows it.
`},
		"command of several parts that no rule allows": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command", Args: json.RawMessage(`{"command":"a; b"}`)},
			Details: bus.Confirmation{Title: "Confirm: Shell", ExecDetails: &confirmation.ExecDetails{Command: "a; b", Parts: []confirmation.Part{
				{Text: "a", Decision: "ask_user", Reason: `No rule allows "a".`, Source: "built-in"},
				{Text: "b", Decision: "ask_user", Reason: `No rule allows "b".`, Source: "built-in"},
				{Text: "c", Decision: "allow", Reason: "x", Source: "built-in"},
			}}},
			Decision: confirmation.Explanation{Decision: "ask_user", Reason: `Of its 3 parts, "a": No rule allows "a".`, Source: "built-in"},
		}, `
Confirm: Shell
a; b
  asks     a  No rule allows it.
  asks     b  No rule allows it.
  allowed  c  x
why: 2 of its 3 parts need approval.
`},
		"mcp": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "mcp_hub_search", Args: json.RawMessage(`{"q":"a<b","n":1}`)}, ServerName: "hub",
			Details:  bus.Confirmation{Type: confirmation.MCP, Title: "Confirm: search", MCPDetails: &confirmation.MCPDetails{ServerName: "hub", ToolName: "search", ToolDisplayName: "Search issues"}},
			Decision: confirmation.Explanation{Reason: "Tools of servers need approval."},
			Outcomes: everyOutcome[:5],
			Remembers: []bus.Remembered{
				{Outcome: bus.ProceedAlways, Rules: []string{"the tool search of the MCP server hub, with any arguments", "x"}},
				{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"the tool search of the MCP server hub, with any arguments", "x"}},
				{Outcome: bus.ProceedAlwaysTool, Rules: []string{"the tool search of the MCP server hub, with any arguments"}},
				{Outcome: bus.ProceedAlwaysServer, Rules: []string{"any tool of the MCP server hub, with any arguments"}},
			},
		}, `
Confirm: search
tool search (Search issues) of server hub
  {
    "q": "a<b",
    "n": 1
  }
why: Tools of servers need approval.
  [a] until this session ends, [s] from now on, kept in your policy file:
    - the tool search of the MCP server hub, with any arguments
    - x
  [t] until this session ends: the tool search of the MCP server hub, with any arguments
  [v] until this session ends: any tool of the MCP server hub, with any arguments
`},
		"a plan": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "exit_plan_mode"},
			Details:  bus.Confirmation{Type: confirmation.Info, Title: "Confirm Plan: a.md", InfoDetails: &confirmation.InfoDetails{Prompt: "Carry out this plan?"}},
			Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
		}, `
Confirm Plan: a.md
Carry out this plan?
why: no rule matches
  [n] optionally with a reason: n write tests first
`},
		"a page": {bus.ToolConfirmationRequest{
			ToolCall:  bus.ToolCall{Name: "web_fetch"},
			Details:   bus.Confirmation{Type: confirmation.Info, Title: "Confirm Web Fetch", InfoDetails: &confirmation.InfoDetails{Prompt: "Fetch?", URLs: []string{"https://a.example:81/x?y"}}},
			Outcomes:  []bus.Outcome{bus.ProceedAlways, bus.ProceedAlwaysTool},
			Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"web_fetch of any page of https://a.example:81"}}, {Outcome: bus.ProceedAlwaysTool, Rules: []string{"any call of web_fetch"}}},
		}, `
Confirm Web Fetch
Fetch?
  https://a.example:81/x?y
why: no rule matches
  [a] until this session ends: web_fetch of any page of https://a.example:81
  [t] until this session ends: any call of web_fetch
`},
		"info": {bus.ToolConfirmationRequest{
			ToolCall:  bus.ToolCall{Name: "web_fetch"},
			Details:   bus.Confirmation{Type: confirmation.Info, Title: "Confirm: Fetch", InfoDetails: &confirmation.InfoDetails{Prompt: "fetch two\npages", URLs: []string{"https://a.example/ x", "https://b.example"}}},
			Outcomes:  []bus.Outcome{bus.ProceedAlways},
			Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"calls of web_fetch like this one"}}},
		}, `
Confirm: Fetch
fetch two
pages
  https://a.example/ x
  https://b.example
why: no rule matches
  [a] until this session ends: calls of web_fetch like this one
`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, renderQuestion(c.q, "", 1000, false))
			coloured := renderQuestion(c.q, "", 1000, true)
			require.Contains(t, coloured, "\x1b[")
			require.Equal(t, c.want, withoutColour(coloured), "colour changes no text")
		})
	}
}

func withoutColour(s string) string {
	for _, st := range []display.Style{display.StyleBold, display.StyleDim, display.StyleRed, display.StyleGreen, display.StyleCyan, display.StyleReset} {
		s = strings.ReplaceAll(s, string(st), "")
	}
	return s
}

// Displayed text cannot act on the terminal, whatever a file, a path, a rule or a
// server contains.
func TestQuestionIsSafeToShow(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07\rAllow\u202e\x9b1m\xff\u0085\u009b\u200e\u2028\u2066\u061c\u3164a\u200db"
	name := "a\x1b[1A\nb" + hostile
	quoted, err := json.Marshal(map[string]string{"x\u202e": "\u009b\u202e"})
	require.NoError(t, err)
	for _, c := range []bus.Confirmation{
		{EditDetails: &confirmation.EditDetails{FilePath: name, FileDiff: "--- a\n+++ b\n@@ -1 +1 @@ " + hostile + "\n-" + hostile + "\r\n+x\n@@ -1" + hostile + " +1 @@\n+y\n", OriginalContent: &hostile}},
		{ExecDetails: &confirmation.ExecDetails{Command: hostile, RootCommands: []string{name}, Parts: []confirmation.Part{{Text: name, Decision: confirmation.Verdict(name), Reason: name, Rule: name, Source: name}}}},
		{MCPDetails: &confirmation.MCPDetails{ServerName: name, ToolName: name, ToolDisplayName: hostile}},
		{InfoDetails: &confirmation.InfoDetails{Prompt: hostile, URLs: []string{name}}},
	} {
		c.Title, c.SystemMessage, c.Paths = hostile, hostile, []string{name}
		shown := renderQuestion(bus.ToolConfirmationRequest{
			Subagent: name, ServerName: name, ToolCall: bus.ToolCall{Name: name, Args: quoted}, Details: c, Outcomes: everyOutcome,
			Decision: confirmation.Explanation{Reason: name, Rule: name, Tier: name, Source: name, Line: 1},
		}, "", 1000, false)
		require.False(t, strings.ContainsFunc(shown, display.Obeyed), "%q", shown)
		require.Contains(t, shown, "<U+001B>")
	}
}

// On a narrow terminal prose is wrapped at blanks; a command is not wrapped.
func TestQuestionOnNarrowTerminal(t *testing.T) {
	command := "printf " + strings.Repeat("word ", 20) + "end"
	q := bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "web_fetch"}, Outcomes: everyOutcome, Decision: confirmation.Explanation{Reason: "Tools of kind fetch are asked about, as they reach the network."},
		Details: bus.Confirmation{Title: "Confirm what this tool is about to do for you", ExecDetails: &confirmation.ExecDetails{Command: command}},
	}
	shown := renderQuestion(q, "", 40, false)
	require.Contains(t, shown, "\n"+command+"\n")
	q.Details.ExecDetails, q.Details.InfoDetails = nil, &confirmation.InfoDetails{Prompt: strings.Repeat("word ", 20)}
	for line := range strings.Lines(renderQuestion(q, "", 40, false) + display.Fold(renderKeys(Replies(everyOutcome), false), "", 40)) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, " \n"))), 40, line)
	}
}

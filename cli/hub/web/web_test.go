package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/server"
	"github.com/fettle-dev/fettle/cli/hub/service"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/cli/hub/web"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

const patience = 30 * time.Second

// site is a page with its hub, and a session's bus.
type site struct {
	t     testing.TB
	users keys.Dir
	hub   *server.Server
	nc    *nats.Conn
	store *store.Store
	bus   *bus.MessageBus
	web   *httptest.Server
	now   time.Time
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, users: keys.Dir(t.TempDir()), now: time.Now()}
	hub, err := server.Start(server.Options{Addr: "127.0.0.1:0", Dir: t.TempDir(), NoSync: true})
	require.NoError(t, err)
	t.Cleanup(hub.Close)
	s.hub = hub
	s.nc, err = hub.Connect()
	require.NoError(t, err)
	t.Cleanup(s.nc.Close)
	js, err := jetstream.New(s.nc)
	require.NoError(t, err)
	require.NoError(t, store.Setup(t.Context(), js, store.Retention{}))
	s.store, err = store.Open(t.Context(), s.nc)
	require.NoError(t, err)
	api, err := service.Start(t.Context(), s.nc, s.store)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	s.bus = bus.New(bus.Options{})
	bridge, err := natsbus.Attach(t.Context(), s.nc, s.bus, natsbus.Options{Session: "app.j1"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bridge.Close()); require.NoError(t, s.bus.Close()) })
	page, err := web.New(t.Context(), web.Options{NC: s.nc, Service: api, Users: s.users.Users, Now: func() time.Time { return s.now }})
	require.NoError(t, err)
	s.web = httptest.NewServer(page.Handler())
	t.Cleanup(func() { require.NoError(t, page.Close()); s.web.Close() })
	return s
}

// browser is a client with cookies.
type browser struct {
	*site
	*http.Client
	csrf string
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	return &browser{site: s, Client: &http.Client{Jar: jar}}
}

// signIn signs in as a new user with roles.
func (s *site) signIn(name string, roles ...keys.Role) *browser {
	s.t.Helper()
	_, err := s.users.Add(keys.User{Name: name, Roles: roles})
	require.NoError(s.t, err)
	token, err := s.users.NewToken(name)
	require.NoError(s.t, err)
	b := s.browser()
	code, text := b.post("/login", "token", token)
	require.Equal(s.t, http.StatusOK, code, text)
	b.csrf = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(text)[1]
	return b
}

func (b *browser) do(r *http.Request) (int, string) {
	b.t.Helper()
	resp, err := b.Do(r)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	require.Contains(b.t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
	return resp.StatusCode, string(data)
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.web.URL+path, nil)
	require.NoError(b.t, err)
	return b.do(r)
}

// post sends a form; the token of the sign-in is added unless it is given.
func (b *browser) post(path string, pairs ...string) (int, string) {
	b.t.Helper()
	form := url.Values{"csrf": {b.csrf}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.web.URL+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

// shown waits until a page has a text.
func (b *browser) shown(path, text string) string {
	b.t.Helper()
	var page string
	require.Eventually(b.t, func() bool {
		_, page = b.get(path)
		return strings.Contains(page, text)
	}, patience, 10*time.Millisecond, "%s", text)
	return page
}

type reply struct {
	answer bus.Answer
	err    error
}

func ask[Q bus.Question[A], A bus.Answer](s *site, q Q) <-chan reply {
	replies := make(chan reply, 1)
	go func() {
		a, err := bus.Ask(context.Background(), s.bus, q)
		replies <- reply{a, err}
	}()
	return replies
}

func edit(id, name, diff, content string) bus.ToolConfirmationRequest {
	return bus.ToolConfirmationRequest{
		CorrelationID: id, ToolCall: bus.ToolCall{Name: "safe_patch", Args: []byte(`{}`)},
		Details:   bus.Confirmation{Type: confirmation.Edit, Title: "Change " + name + "?", EditDetails: &confirmation.EditDetails{FileName: name, FilePath: "/app/" + name, FileDiff: diff, NewContent: content}},
		Decision:  confirmation.Explanation{Decision: confirmation.AskUser, Reason: "It changes a file."},
		Outcomes:  []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ModifyWithEditor, bus.Cancel},
		Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"changes of files in this workspace"}}},
	}
}

func digestOf(page string) string {
	return regexp.MustCompile(`name="digest" value="([0-9a-f]+)"`).FindStringSubmatch(page)[1]
}

// HB-05: each outcome of a question can be chosen on the page: yes, a lasting yes, edited content,
// and no with words for the model; and the forms of tools are answered.
func TestAnswers(t *testing.T) {
	s := newSite(t)
	b := s.signIn("ann", keys.Approver)
	content := "a\nB\n"
	for outcome, want := range map[bus.Outcome]bus.ToolConfirmationResponse{
		bus.ProceedOnce:      {Confirmed: true},
		bus.ProceedAlways:    {Confirmed: true},
		bus.ModifyWithEditor: {Confirmed: true, Payload: bus.Payload{NewContent: &content}},
		bus.Cancel:           {Payload: bus.Payload{Feedback: "later"}},
	} {
		id := string(outcome)
		asked := ask(s, edit(id, id, "@@ -1 +1 @@\n-a\n+b\n", "b\n"))
		page := b.shown("/", id+"?")
		require.Contains(t, page, `<span class="added">&#43;b`)
		require.Contains(t, page, "It changes a file.")
		code, text := b.post("/answer", "digest", digestOf(page), "outcome", id, "feedback", want.Payload.Feedback, "content", "a\r\nB\r\n")
		require.Equal(t, http.StatusOK, code, text)
		want.CorrelationID, want.Outcome = id, outcome
		require.Equal(t, reply{want, nil}, <-asked)
	}

	asked := ask(s, bus.AskUserRequest{CorrelationID: "form", Questions: []bus.UserQuestion{
		{Question: "Which?", Type: bus.QuestionChoice, Options: []bus.UserOption{{Label: "red"}, {Label: "blue"}}}, {Question: "Sure?", Type: bus.QuestionYesNo}, {Question: "Name?", Type: bus.QuestionText},
	}})
	page := b.shown("/", "Which?")
	code, text := b.post("/answer", "digest", digestOf(page), "outcome", "answer", "answer-0", "blue", "answer-1", "yes", "answer-2", "fettle")
	require.Equal(t, http.StatusOK, code, text)
	require.Equal(t, map[string]string{"0": "blue", "1": "yes", "2": "fettle"}, (<-asked).answer.(bus.AskUserResponse).Answers)

	exec := bus.ToolConfirmationRequest{CorrelationID: "exec", ToolCall: bus.ToolCall{Name: "run_shell_command"}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
		Details: bus.Confirmation{Type: confirmation.Exec, Title: "Run it?", ExecDetails: &confirmation.ExecDetails{Command: "make && rm x", Parts: []confirmation.Part{{Text: "make", Decision: confirmation.Allow, Rule: "my rule"}, {Text: "rm x", Decision: confirmation.AskUser, Reason: "It deletes."}}}}}
	asked = ask(s, exec)
	page = b.shown("/jobs/j1x", "") // an unknown job is reported
	require.Contains(t, page, "Problem")
	page = b.shown("/", "make &amp;&amp; rm x")
	require.Contains(t, page, "my rule")
	require.Contains(t, page, "It deletes.")
	_, _ = b.post("/answer", "digest", digestOf(page), "outcome", "cancel")
	require.Equal(t, bus.Cancel, (<-asked).answer.(bus.ToolConfirmationResponse).Outcome)
}

// HB-05: nobody but a user who has signed in sees or does anything, and only what their roles
// allow; a forged form, a form of another sign-in, and a used or changed question are refused.
func TestAttacks(t *testing.T) {
	s := newSite(t)
	ann, sue := s.signIn("ann", keys.Approver), s.signIn("sue", keys.Submitter)
	stranger := s.browser()
	for _, path := range []string{"/", "/jobs/x", "/question/x"} {
		_, text := stranger.get(path)
		require.Contains(t, text, "<h1>Sign in</h1>", path)
	}
	code, _ := stranger.get("/changes")
	require.Equal(t, http.StatusUnauthorized, code)
	asked := ask(s, edit("1", "f.txt", "+x\n", "x\n"))
	digest := digestOf(ann.shown("/", "f.txt"))
	yes := []string{"digest", digest, "outcome", "proceed_once"}
	for name, tt := range map[string]struct {
		b    *browser
		path string
		form []string
		want int
	}{
		"signed out":           {stranger, "/answer", yes, http.StatusUnauthorized},
		"no CSRF token":        {ann, "/answer", append([]string{"csrf", ""}, yes...), http.StatusForbidden},
		"CSRF token of others": {ann, "/answer", append([]string{"csrf", sue.csrf}, yes...), http.StatusForbidden},
		"a submitter answers":  {sue, "/answer", yes, http.StatusForbidden},
		"an approver submits":  {ann, "/submit", []string{"workspace", "app", "prompt", "x"}, http.StatusForbidden},
		"an approver cancels":  {ann, "/cancel", []string{"job", "x"}, http.StatusForbidden},
		"an approver restores": {ann, "/restore", []string{"job", "x", "checkpoint", "1"}, http.StatusForbidden},
		"another digest":       {ann, "/answer", []string{"digest", strings.Repeat("0", 64), "outcome", "proceed_once"}, http.StatusConflict},
		"no outcome":           {ann, "/answer", []string{"digest", digest}, http.StatusBadRequest},
		"unknown outcome":      {ann, "/answer", []string{"digest", digest, "outcome", "yes"}, http.StatusBadRequest},
		"not offered":          {ann, "/answer", []string{"digest", digest, "outcome", "proceed_always_and_save"}, http.StatusBadGateway},
		"an invalid workspace": {sue, "/submit", []string{"workspace", "../*", "prompt", "x"}, http.StatusBadRequest},
		"a large form":         {ann, "/answer", append([]string{"feedback", strings.Repeat("x", 10<<20)}, yes...), http.StatusBadRequest},
	} {
		code, text := tt.b.post(tt.path, tt.form...)
		require.Equal(t, tt.want, code, "%s: %s", name, text)
	}
	require.Empty(t, asked)
	for header, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.web.URL+"/answer", strings.NewReader(url.Values{"csrf": {ann.csrf}, "digest": {digest}, "outcome": {"proceed_once"}}.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header, value)
		if header == "Host" {
			r.Host = value
		}
		code, _ := ann.do(r)
		require.Equal(t, http.StatusForbidden, code, header)
	}
	code, _ = ann.post("/answer", yes...)
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, (<-asked).err)
	code, _ = ann.post("/answer", yes...)
	require.Equal(t, http.StatusConflict, code) // replayed

	code, text := sue.post("/submit", "workspace", "app", "prompt", "Do it.")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "<h1>Do it.</h1>")

	// A sign-in ends with its token, with its time, and when the user leaves.
	_, err := s.users.NewToken("sue")
	require.NoError(t, err)
	_, text = sue.get("/")
	require.Contains(t, text, "<h1>Sign in</h1>")
	cookies := ann.Jar.Cookies(must(url.Parse(s.web.URL)))
	_, _ = ann.post("/logout")
	ann.Jar.SetCookies(must(url.Parse(s.web.URL)), cookies)
	_, text = ann.get("/")
	require.Contains(t, text, "<h1>Sign in</h1>")
	vic := s.signIn("vic", keys.Viewer)
	s.now = s.now.Add(13 * time.Hour)
	_, text = vic.get("/")
	require.Contains(t, text, "<h1>Sign in</h1>")
	for range 10 {
		code, _ := stranger.post("/login", "token", "guess")
		require.Equal(t, http.StatusForbidden, code)
	}
	code, _ = stranger.post("/login", "token", "guess")
	require.Equal(t, http.StatusTooManyRequests, code)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// HB-05: markup and hidden characters in names, changes, prompts, logs and output are text.
func TestMarkup(t *testing.T) {
	s := newSite(t)
	b := s.signIn("root", keys.Admin)
	const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u202e\u001b[31m"
	require.NoError(t, s.store.Submit(t.Context(), store.Job{ID: "j1", Workspace: "app", Prompt: evil, By: "root"}))
	require.NoError(t, s.store.Log(t.Context(), "app", "j1", store.Line{Kind: "text", Text: evil}))
	require.NoError(t, s.store.Log(t.Context(), "app", "j1", store.Line{Kind: "undo", Text: "1.1 " + evil}))
	require.NoError(t, s.bus.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "c", Name: evil, Description: evil, Status: bus.StatusExecuting}}}))
	require.NoError(t, s.bus.Publish(bus.ToolOutput{CallID: "c", Chunk: evil}))
	q := edit("1", evil, "+"+evil+"\n", evil)
	q.Details.SystemMessage, q.Decision.Reason = evil, evil
	_ = ask(s, q)
	_ = ask(s, bus.AskUserRequest{CorrelationID: "2", Questions: []bus.UserQuestion{{Question: evil, Type: bus.QuestionChoice, Placeholder: evil, Options: []bus.UserOption{{Label: evil, Description: evil}}}}})
	b.shown("/", "Open questions: 2")
	for _, path := range []string{"/", "/jobs/j1"} {
		page := b.shown(path, "Change &lt;script&gt;")
		require.NotContains(t, page, "<script>alert")
		require.NotContains(t, page, "<img")
		visible := regexp.MustCompile(`(?s)<textarea.*?</textarea>|<input[^>]*>`).ReplaceAllString(page, "") // their values must stay exact
		require.NotContains(t, visible, "\u202e")
		require.NotContains(t, page, "\u001b[31m\u202e</textarea")
	}
	require.Contains(t, b.shown("/jobs/j1", "Current calls"), "executing: &lt;script&gt;")
	code, text := b.get("/jobs/" + url.PathEscape(evil))
	require.Equal(t, http.StatusNotFound, code)
	require.NotContains(t, text, "<script>alert")
}

// HB-05: a change that is too large for the list is approved only on a page that shows all of it,
// and 1,000 open questions keep the page small.
func TestLargeQuestions(t *testing.T) {
	s := newSite(t)
	b := s.signIn("ann", keys.Approver)
	diff := strings.Repeat("+line\n", 20_000) + "+the last line\n"
	asked := ask(s, edit("1", "large.txt", diff, "x"))
	page := b.shown("/", "large.txt")
	require.Contains(t, page, "lines are not shown here")
	require.NotContains(t, page, "proceed_once")
	require.NotContains(t, page, "the last line")
	_, page = b.get("/question/" + digestOf(page))
	require.Contains(t, page, "the last line")
	require.Contains(t, page, "proceed_once")
	code, _ := b.post("/answer", "digest", digestOf(page), "outcome", "proceed_once")
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, (<-asked).err)

	const many = 1000
	answers := make([]<-chan reply, many)
	for i := range many {
		answers[i] = ask(s, edit(fmt.Sprint("m", i), fmt.Sprint("f", i), "+x\n", "x"))
		if i%100 == 99 { // the queue of a subscription has 256 places
			b.shown("/", fmt.Sprintf("Open questions: %d", i+1))
		}
	}
	start := time.Now()
	_, page = b.get("/")
	require.Less(t, time.Since(start), 5*time.Second)
	require.Less(t, len(page), 200<<10)
	require.Contains(t, page, "Only the oldest 20 are shown.")
}

// HB-05: a question whose session was killed leaves the page when the session continues, and
// otherwise after its time.
func TestQuestionsOfKilledSessions(t *testing.T) {
	s := newSite(t)
	b := s.signIn("ann", keys.Approver)
	messages := bus.New(bus.Options{})
	dying, err := s.hub.Connect()
	require.NoError(t, err)
	bridge, err := natsbus.Attach(t.Context(), dying, messages, natsbus.Options{Session: "app.j2"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bridge.Close(); _ = messages.Close() })
	_, _ = ask(&site{bus: messages}, edit("1", "f.txt", "+x\n", "x")), ask(s, edit("1", "g.txt", "+x\n", "x"))
	b.shown("/", "Open questions: 2")
	dying.Close()
	b.shown("/", "Open questions: 2")
	again := bus.New(bus.Options{})
	resumed, err := natsbus.Attach(t.Context(), s.nc, again, natsbus.Options{Session: "app.j2"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = resumed.Close(); _ = again.Close() })
	require.NotContains(t, b.shown("/", "Open questions: 1"), "f.txt")
	s.now = s.now.Add(12 * time.Minute)
	b.shown("/", "Open questions: 0")
}

// HB-05: the page is told of changes, and its parts can be reached by keyboard and on a small
// screen: no element has a handler of its own, each control has a label.
func TestChangesAndMarkupOfThePage(t *testing.T) {
	s := newSite(t)
	b := s.signIn("root", keys.Admin)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.web.URL+"/changes", nil)
	require.NoError(t, err)
	resp, err := b.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	buffer := make([]byte, 1<<10)
	n, err := resp.Body.Read(buffer)
	require.NoError(t, err)
	require.Contains(t, string(buffer[:n]), "event: change", "a change before the stream is not lost")
	_ = ask(s, edit("1", "f.txt", "+x\n", "x"))
	n, err = resp.Body.Read(buffer)
	require.NoError(t, err)
	require.Contains(t, string(buffer[:n]), "event: change")

	page := b.shown("/", "f.txt")
	require.NotRegexp(t, `\son[a-z]+=|\sstyle=|javascript:`, page)
	labels := map[string]bool{}
	for _, m := range regexp.MustCompile(`<label for="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		labels[m[1]] = true
	}
	controls := regexp.MustCompile(`<(?:input|textarea) id="([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.GreaterOrEqual(t, len(controls), 4)
	for _, m := range controls {
		require.True(t, labels[m[1]], "%s has no label", m[1])
	}
	code, css := b.get("/static/hub.css")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, css, "prefers-color-scheme: dark")
	require.Contains(t, page, `content="width=device-width, initial-scale=1"`)
	require.Contains(t, page, `<html lang="en">`)
}

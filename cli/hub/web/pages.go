package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/service"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/cli/hub/worker"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

const (
	maxCards = 20  // questions on a page
	maxJobs  = 100 // jobs on a page
	maxDiff  = 400 // lines of a question in a list; a longer one has its own page
	maxLog   = 5000
	backlog  = 200 // lines of a page of the log
)

// functions are those of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"text": display.Printable, "line": display.Line,
		"time":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"clock":   func(t time.Time) string { return t.UTC().Format(time.TimeOnly) },
		"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"verdict": func(v confirmation.Verdict) string { return approval.Verdict(string(v)) },
		"short":   func(id string) string { return id[:min(len(id), 12)] },
	}
}

// view is the data of a page.
type view struct {
	Title, Problem string
	Visitor        visitor
	CSRF           string
	Cards          []card
	Open           int // questions
	Refused        int // questions that could not be kept
	Jobs           []store.Job
	More           int // jobs that are not listed
	Workspaces     []string
	Job            *store.Job
	Lines          []logLine
	Calls          []bus.ToolCallState
	Output         string
	Next           string // link to further lines
}

// logLine is a line of the time line.
type logLine struct {
	store.Line
	Undo string // the checkpoint that can be restored; "": none
	Day  string // its date; "": that of the previous line, or of the submission
}

func (s *Site) view(v visitor, title string) view {
	return view{Title: title, Visitor: v, CSRF: v.csrf}
}

func (s *Site) render(w http.ResponseWriter, code int, name string, v view) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}

func (s *Site) fail(w http.ResponseWriter, code int, problem string) {
	s.render(w, code, "problem", view{Title: "Problem", Problem: problem})
}

func (s *Site) home(w http.ResponseWriter, r *http.Request, v visitor) {
	page := s.view(v, "Jobs")
	got, err := s.o.Service.Do(r.Context(), service.Jobs, v.Name, service.Request{})
	if err != nil {
		page.Problem = err.Error()
	}
	page.Jobs, page.More = got.Jobs[:min(len(got.Jobs), maxJobs)], max(0, len(got.Jobs)-maxJobs)
	known := map[string]bool{}
	for _, j := range got.Jobs {
		if !known[j.Workspace] {
			known[j.Workspace] = true
			page.Workspaces = append(page.Workspaces, j.Workspace)
		}
	}
	open, refused := s.state.open()
	page.Open, page.Refused = len(open), refused
	for _, q := range open[:min(len(open), maxCards)] {
		page.Cards = append(page.Cards, cardOf(q, maxDiff))
	}
	s.render(w, http.StatusOK, "home", page)
}

func (s *Site) question(w http.ResponseWriter, r *http.Request, v visitor) {
	q := s.state.find(r.PathValue("digest"))
	if q == nil {
		s.fail(w, http.StatusNotFound, "The question is not open.")
		return
	}
	page := s.view(v, "Question")
	page.Cards, page.Open = []card{cardOf(q, -1)}, 1
	s.render(w, http.StatusOK, "question", page)
}

func (s *Site) job(w http.ResponseWriter, r *http.Request, v visitor) {
	from, _ := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64) // 0 without one
	page := s.view(v, "Job")
	day := ""
	for len(page.Lines) < maxLog {
		got, err := s.o.Service.Do(r.Context(), service.Logs, v.Name, service.Request{ID: r.PathValue("id"), From: from})
		if err != nil {
			s.fail(w, http.StatusNotFound, err.Error())
			return
		}
		page.Job, from = got.Job, got.Next
		for _, l := range got.Lines {
			one := logLine{Line: l}
			if day == "" {
				day = page.Job.Submitted.UTC().Format(time.DateOnly)
			}
			if date := l.Time.UTC().Format(time.DateOnly); date != day {
				one.Day, day = date, date
			}
			if l.Kind == worker.CheckpointKind {
				one.Undo, one.Text, _ = strings.Cut(l.Text, " ")
			}
			page.Lines = append(page.Lines, one)
		}
		if len(got.Lines) < backlog {
			break
		}
	}
	if len(page.Lines) >= maxLog {
		page.Next = "/jobs/" + url.PathEscape(page.Job.ID) + "?from=" + strconv.FormatUint(from, 10)
	}
	session := page.Job.Workspace + "." + page.Job.ID
	if !page.Job.Status.Final() {
		now := s.state.of(session)
		page.Calls, page.Output = now.Calls, now.Output
	}
	open, _ := s.state.open()
	for _, q := range open {
		if q.Session == session {
			page.Cards = append(page.Cards, cardOf(q, maxDiff))
		}
	}
	page.Open = len(page.Cards)
	s.render(w, http.StatusOK, "job", page)
}

// card is a question as it is displayed.
type card struct {
	Session, Workspace, Job, ID, Digest string
	Expires                             time.Time
	Title                               string
	Why                                 string
	Notes                               []string
	Command                             string
	Parts                               []confirmation.Part
	Lines                               []diffLine // of a change
	Arguments                           string
	Hidden                              int // lines that only the question's own page shows
	Choices                             []approval.Choice
	Content                             *string // proposed content that the user may edit
	Form                                []bus.UserQuestion
}

// diffLine is a line with its class.
type diffLine struct{ Class, Text string }

// cardOf returns a question with up to maxLines lines of a change; negative: all. A question that
// is not displayed whole has no answers but no.
func cardOf(q *natsbus.Question, maxLines int) card {
	workspace, job, _ := strings.Cut(q.Session, ".")
	c := card{Session: q.Session, Workspace: workspace, Job: job, ID: q.ID, Digest: q.Digest, Expires: q.Expires}
	if form, ok := q.Message.(bus.AskUserRequest); ok {
		c.Title, c.Form = "Questions", form.Questions
		if form.Server != "" {
			c.Title = "Questions of the MCP server " + display.Line(form.Server)
		}
		return c
	}
	m := q.Message.(bus.ToolConfirmationRequest)
	d := m.Details
	c.Title, c.Why = d.Title, approval.Why(m)
	if m.Subagent != "" {
		c.Notes = append(c.Notes, "Requested by the subagent "+display.Line(m.Subagent)+".")
	}
	if d.SystemMessage != "" {
		c.Notes = append(c.Notes, d.SystemMessage)
	}
	change := ""
	switch {
	case d.EditDetails != nil:
		change = d.FileDiff
		content := d.NewContent
		c.Content = &content
	case d.ExecDetails != nil:
		c.Command, c.Parts = d.Command, approval.Parts(m)
		if how := approval.Confinement(m); how != "" {
			c.Notes = append(c.Notes, "The command "+how+".")
		}
	case d.MCPDetails != nil:
		c.Notes = append(c.Notes, "The tool "+display.Line(d.ToolName)+" of the MCP server "+display.Line(d.ServerName)+".")
		c.Arguments = string(m.ToolCall.Args)
	case d.InfoDetails != nil:
		change = d.Prompt
		for _, u := range d.URLs {
			change += "\n" + u
		}
	default:
		c.Arguments = string(m.ToolCall.Args)
	}
	for _, path := range d.Paths {
		c.Notes = append(c.Notes, "It changes "+display.Line(path)+".")
	}
	if change != "" {
		all := strings.Split(strings.TrimSuffix(change, "\n"), "\n")
		if maxLines >= 0 && len(all) > maxLines {
			c.Hidden = len(all) - maxLines
			all = all[:maxLines]
		}
		for _, text := range all {
			c.Lines = append(c.Lines, diffLine{classOf(text), text})
		}
	}
	if maxLines >= 0 && (len(c.Command) > 64<<10 || len(c.Arguments) > 64<<10) {
		c.Hidden, c.Command, c.Arguments = max(c.Hidden, 1), c.Command[:min(len(c.Command), 64<<10)], c.Arguments[:min(len(c.Arguments), 64<<10)]
	}
	c.Choices = approval.Choices(m, "")
	if c.Hidden > 0 {
		c.Content = nil
		var refusal []approval.Choice
		for _, choice := range c.Choices {
			if choice.Outcome == bus.Cancel {
				refusal = append(refusal, choice)
			}
		}
		c.Choices = refusal
	}
	return c
}

// Edits reports whether a choice requires the edited content.
func (card) Edits(c approval.Choice) bool { return c.Outcome == bus.ModifyWithEditor }

// Refuses reports whether a choice is no.
func (card) Refuses(c approval.Choice) bool { return c.Outcome == bus.Cancel }

func classOf(line string) string {
	switch {
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@"): // "+++ " may also be a line of the file; only the colour is at stake
		return "place"
	case strings.HasPrefix(line, "+"):
		return "added"
	case strings.HasPrefix(line, "-"):
		return "removed"
	}
	return ""
}

// answer sends an answer to the question with the posted digest, which is what the user has seen.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, v visitor) {
	if !v.Answers() {
		s.fail(w, http.StatusForbidden, "Only an approver may answer.")
		return
	}
	f := r.PostForm
	q := s.state.find(f.Get("digest"))
	if q == nil {
		s.fail(w, http.StatusConflict, "The question has ended, or has changed since the page was shown. Nothing was answered.")
		return
	}
	var a bus.Answer
	switch m := q.Message.(type) {
	case bus.ToolConfirmationRequest:
		outcome := bus.Outcome(f.Get("outcome"))
		given := bus.ToolConfirmationResponse{CorrelationID: q.ID, Outcome: outcome, Confirmed: outcome != bus.Cancel, Payload: bus.Payload{Feedback: f.Get("feedback")}}
		if _, known := outcome.Info(); !known {
			s.fail(w, http.StatusBadRequest, "The answer is none of the options.")
			return
		}
		if outcome == bus.ModifyWithEditor {
			content := strings.ReplaceAll(f.Get("content"), "\r\n", "\n") // a form sends line ends so
			if m.Details.EditDetails != nil && strings.Contains(m.Details.NewContent, "\r\n") {
				content = strings.ReplaceAll(content, "\n", "\r\n")
			}
			given.Payload.NewContent = &content
		}
		a = given
	case bus.AskUserRequest:
		given := bus.AskUserResponse{CorrelationID: q.ID, Answers: map[string]string{}, Cancelled: f.Get("outcome") == string(bus.Cancel)}
		for i := range m.Questions {
			if values := f["answer-"+strconv.Itoa(i)]; len(values) > 0 && !given.Cancelled {
				given.Answers[strconv.Itoa(i)] = strings.Join(nonEmpty(values), ", ")
			}
		}
		a = given
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	err := natsbus.SendAnswer(ctx, s.o.NC, "", v.Name, q.Session, f.Get("digest"), a)
	switch {
	case errors.Is(err, bus.ErrAnswered), errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion), errors.Is(err, natsbus.ErrGone):
		s.state.forget(q.Digest)
		s.fail(w, http.StatusConflict, "The question has ended already: "+err.Error()+".")
	case err != nil:
		s.fail(w, http.StatusBadGateway, "The answer was not accepted: "+err.Error()+".")
	default:
		s.state.forget(q.Digest)
		s.back(w, r)
	}
}

func nonEmpty(values []string) []string {
	var all []string
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			all = append(all, v)
		}
	}
	return all
}

// back returns to the page of the form.
func (s *Site) back(w http.ResponseWriter, r *http.Request) {
	to := "/"
	if id := r.PostForm.Get("job"); natsbus.CheckToken(id) == nil {
		to = "/jobs/" + id
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Site) submit(w http.ResponseWriter, r *http.Request, v visitor) {
	s.request(w, r, v, service.Submit, service.Request{Workspace: r.PostForm.Get("workspace"), Prompt: strings.ReplaceAll(r.PostForm.Get("prompt"), "\r\n", "\n")})
}

func (s *Site) cancel(w http.ResponseWriter, r *http.Request, v visitor) {
	s.request(w, r, v, service.Cancel, service.Request{ID: r.PostForm.Get("job")})
}

func (s *Site) restore(w http.ResponseWriter, r *http.Request, v visitor) {
	s.request(w, r, v, service.Restore, service.Request{ID: r.PostForm.Get("job"), Restore: r.PostForm.Get("checkpoint")})
}

// request runs a request that only a submitter may send.
func (s *Site) request(w http.ResponseWriter, r *http.Request, v visitor, method string, q service.Request) {
	if !v.Submits() {
		s.fail(w, http.StatusForbidden, "Only a submitter may do this.")
		return
	}
	got, err := s.o.Service.Do(r.Context(), method, v.Name, q)
	if err != nil {
		s.fail(w, http.StatusBadRequest, fmt.Sprintf("The request was refused: %v.", err))
		return
	}
	http.Redirect(w, r, "/jobs/"+url.PathEscape(got.Job.ID), http.StatusSeeOther)
}

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/chat"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/hub/lease"
	"github.com/fettle-dev/fettle/cli/hub/ledger"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
)

// run is one delivery of a job.
type run struct {
	*worker
	job      store.Job
	lines    *lines
	answers  answers
	messages *bus.MessageBus

	mu       sync.Mutex
	revision uint64 // of the stored state
	doubtful []store.Unfinished
	checked  time.Time     // of the last check before an exchange
	window   time.Duration // the longest time between such a check and its exchange
}

// begin reads the state of the job. If the job is to run, it sets the log. Otherwise it reports
// whether the outcome is stored; an error is about the job itself, which cannot be run.
func (r *run) begin(ctx context.Context) (stored bool, err error) {
	submitted, by := r.job, ""
	err = r.persist(ctx, func() (err error) {
		if r.job, r.revision, err = r.store.Get(ctx, submitted.Workspace, submitted.ID); err != nil {
			return err
		}
		by, err = r.store.CancelledBy(ctx, submitted.ID)
		return err
	})
	overwritten := errors.Is(err, store.ErrInvalid)
	switch {
	case overwritten:
		r.job = submitted
	case errors.Is(err, store.ErrVersion), errors.Is(err, store.ErrNoState):
		return false, err
	case err != nil:
		return false, nil
	}
	// What to do is what was submitted. Workers can write states, and only the hub can submit.
	r.job.Prompt, r.job.By, r.job.Session, r.job.Restore = submitted.Prompt, submitted.By, submitted.Session, submitted.Restore
	if r.job.Status.Final() {
		return true, nil
	}
	r.lines = newLines(func(ctx context.Context, l store.Line) error {
		return r.store.Log(ctx, submitted.Workspace, submitted.ID, l)
	})
	switch {
	case overwritten:
		stored = r.finish(ctx, store.Failed, "The state of the job was overwritten by another program. Submit it again.")
	case by != "": // before it started
		stored = r.finish(ctx, store.Cancelled, display.Sentence(cancelled(by).Error()))
	default:
		return false, nil
	}
	r.lines = nil
	return stored, nil
}

// run runs the job, and reports whether its outcome is stored.
func (r *run) run(ctx context.Context) bool {
	r.job.Status, r.job.Worker = store.Running, r.o.Name
	r.job.Attempts++
	r.job.Unfinished = slices.DeleteFunc(r.job.Unfinished, store.Unfinished.IsFile) // hashes settle them
	r.doubtful = slices.Clone(r.job.Unfinished)
	if r.save(ctx) != nil {
		r.lines.close(ctx)
		return false
	}
	r.lines.add("state", fmt.Sprintf("The worker %s runs the job, attempt %d.", r.o.Name, r.job.Attempts))
	status, text := store.Failed, fmt.Sprintf("The job was delivered %d times, and each worker ended while it ran.", maxAttempts)
	if r.job.Attempts <= maxAttempts {
		status, text = r.converse(ctx)
	}
	return r.finish(ctx, status, text)
}

// save stores the state of the job. Another write meanwhile is not expected: only the owner of the
// workspace writes.
func (r *run) save(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.saveLocked(ctx)
}

func (r *run) saveLocked(ctx context.Context) error {
	return r.persist(ctx, func() error {
		revision, err := r.store.Put(ctx, r.job, r.revision)
		if err != nil {
			// The last write may have been stored without its acknowledgement.
			if current, now, got := r.store.Get(ctx, r.job.Workspace, r.job.ID); got == nil && current.Worker == r.job.Worker && current.Attempts == r.job.Attempts {
				r.revision = now
			}
			return err
		}
		r.revision = revision
		return nil
	})
}

// finish stores the outcome. It reports false if the job must be delivered again.
func (r *run) finish(ctx context.Context, status store.Status, text string) bool {
	cause := context.Cause(ctx)
	last := context.WithoutCancel(ctx)
	switch {
	case errors.Is(cause, errCancelled):
		status, text = store.Cancelled, display.Sentence(cause.Error())
	case errors.Is(cause, lease.ErrLost):
		r.lines.close(ctx)
		return false // the new owner writes
	case ctx.Err() != nil:
		status, text = store.Queued, "The worker was stopped."
	}
	last, cancel := context.WithTimeout(last, max(r.lease.Left(), 0))
	defer cancel()
	if r.window > 0 {
		r.lines.add("notice", fmt.Sprintf("At most %s lay between the check of the lease and the exchange of a file.", r.window.Round(time.Microsecond)))
	}
	r.lines.add("state", strings.TrimSpace("The job is "+string(status)+". "+text))
	r.lines.close(last)
	r.job.Status = status
	switch status {
	case store.Done:
		r.job.Answer = text
	case store.Failed, store.Cancelled:
		r.job.Error = text
	case store.Queued, store.Running:
	}
	return r.save(last) == nil && status.Final()
}

// maxBusy is the time by which an earlier worker must have closed the session of a job.
const maxBusy = 5 * time.Minute

// converse runs the session of the job, and returns its outcome with the answer or the reason.
func (r *run) converse(ctx context.Context) (store.Status, string) {
	var status store.Status
	var text string
	var err error
	for end := time.Now().Add(maxBusy); ; {
		status, text, err = r.open(ctx, true)
		if fault.CodeOf(err) == fault.SessionNotFound {
			status, text, err = r.open(ctx, false)
		}
		// A worker that has lost its lease may still be closing the session.
		if fault.CodeOf(err) != fault.SessionUnreadable || time.Now().After(end) || !pause(ctx, retry) {
			break
		}
	}
	if err != nil {
		return store.Failed, "The session failed: " + fault.Line(err)
	}
	return status, text
}

// open opens the recorded session of the job, or a new one.
func (r *run) open(ctx context.Context, resume bool) (status store.Status, text string, err error) {
	p, g, f := *r.o.Program, *r.o.Global, r.o.Flags
	if resume {
		f.Resume, f.Exact = cmp.Or(r.job.Session, r.job.ID), true
	} else {
		f.SessionID = r.job.ID
		if r.job.Session != "" {
			return store.Failed, "The session of the job " + r.job.Session + " is not recorded in this workspace.", nil
		}
	}
	hidden := &redact.Masker{}
	options := chat.HostOptions{Program: &p, Global: &g, Flags: &f, Unsupported: builtin.Names(), Adjust: func(c *config.Parameters, hide *redact.Masker) {
		hide.Add(r.o.Secrets...)
		hidden = hide
		c.Calls.Executing = append(c.Calls.Executing, r.executing)
		c.Calls.Seam = r.seam
		always := true // an approver elsewhere must be able to undo a change
		c.Session.Checkpoints = &always
	}}
	err = chat.Host(ctx, options, func(ctx context.Context, h *chat.Hosted) error {
		r.messages = h.Bus()
		bridge, err := natsbus.Attach(ctx, r.o.NC, h.Bus(), natsbus.Options{Session: r.session(), AnswerWithin: r.o.Within, Mask: h.Masked, Answered: r.answered(ctx)})
		if err != nil {
			return err
		}
		defer func() { _ = bridge.Close() }()
		for range h.Start(ctx) { // its notices are for a user at the workspace
		}
		if r.job.Restore != "" {
			status, text = r.restore(ctx, h)
			return nil
		}
		status, text = r.prompt(ctx, h, hidden)
		r.checkpoints(context.WithoutCancel(ctx), h)
		return nil
	})
	return status, text, err
}

// Prompts of a resumed session.
const (
	continuing = "The process that worked on this task ended. Continue the task, and finish it. Read each file again before you change it."
	doubt      = "These calls had started, and their results are unknown; they may have had an effect. They are not run again. Check their effects instead:\n"
)

// prompt submits the prompt of the job, or the part of it that a resumed session needs.
func (r *run) prompt(ctx context.Context, h *chat.Hosted, hide *redact.Masker) (store.Status, string) {
	text := r.job.Prompt
	recorded, answer := r.recorded(ctx, h, hide)
	switch {
	case recorded && answer != "" && r.commandsInDoubt() == "":
		return store.Done, answer
	case recorded:
		text = continuing + "\n\nThe task:\n" + r.job.Prompt
	}
	if list := r.commandsInDoubt(); list != "" {
		if !r.agreed(ctx, "A worker ended while these commands ran, and their results are unknown:\n"+list+"\nContinue the job without running them again?") {
			return store.Failed, "The results of commands are unknown, and no approver continued the job:\n" + list
		}
		text += "\n\n" + doubt + list
	}
	r.lines.add("prompt", text)
	t := &turn{run: r, masked: h.Masked, status: store.Done}
	for e := range h.Submit(ctx, text) {
		t.event(e)
	}
	t.flush()
	if t.status == store.Done {
		return t.status, t.answer
	}
	return t.status, t.reason
}

// recorded reports whether the session has a history, and returns its last text if no call or
// answer is outstanding.
func (r *run) recorded(ctx context.Context, h *chat.Hosted, hide *redact.Masker) (recorded bool, answer string) {
	kept, err := config.NewTranscripts(h.Config(), hide.Values())
	if err != nil {
		return false, ""
	}
	session, err := kept.Load(ctx, r.job.ID)
	if err != nil {
		return false, ""
	}
	history, _ := recordings.History(session)
	if len(history) == 0 {
		return false, ""
	}
	last := history[len(history)-1]
	if last.Role != model.RoleModel {
		return true, ""
	}
	var b strings.Builder
	for _, part := range last.Parts {
		if part.Call != nil {
			return true, ""
		}
		if !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return true, b.String()
}

// turn converts the events of a prompt to lines of the log.
type turn struct {
	*run
	masked func(string) string
	text   strings.Builder // of the current answer
	answer string
	status store.Status
	reason string
}

// maxLine is the largest size of a line of the log in bytes.
const maxLine = 32 << 10

func (t *turn) event(e interactive.Event) {
	switch e.Kind {
	case interactive.EventAgent:
		t.agentEvent(*e.Agent)
	case interactive.EventMessage:
		t.lines.add("notice", t.masked(e.Text))
		if e.Level == interactive.LevelError {
			t.status, t.reason = store.Failed, t.masked(e.Text)
		}
	}
}

func (t *turn) flush() {
	if t.text.Len() > 0 {
		t.answer = t.masked(t.text.String())
		t.lines.add("text", t.answer)
		t.text.Reset()
	}
}

func (t *turn) agentEvent(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		t.text.WriteString(e.Text)
		return
	case agent.EventRetry:
		t.text.Reset()
		return
	case agent.EventToolCall:
		t.flush()
		t.lines.add("call", t.masked(e.Call.Name+" "+string(e.Call.Object())))
		return
	case agent.EventToolResponse:
		text := e.Call.Name
		if e.Response != nil {
			text += ": " + string(e.Response.Status)
			if err := e.Response.Result.Error; err != nil {
				text += ": " + fault.Line(err)
			}
		}
		t.lines.add("result", t.masked(text))
		return
	case agent.EventWarning:
		t.lines.add("notice", t.masked(e.Text))
		return
	}
	if !e.Type.Ends() {
		return
	}
	t.flush()
	if e.Type != agent.EventDone {
		t.status, t.reason = store.Failed, "The prompt ended early: "+string(e.Type)+"."
		if e.Err != nil {
			t.reason = t.masked(e.Err.Line())
		}
	}
}

// answers are the approvers of calls.
type answers struct {
	mu   sync.Mutex
	made map[string]ledger.Entry // by call ID
}

// answered returns the function that records the answers of users before they take effect.
func (r *run) answered(ctx context.Context) func(actor string, q bus.Message, a bus.Answer) error {
	return func(actor string, q bus.Message, a bus.Answer) error {
		e := ledger.Entry{Workspace: r.o.Workspace, Job: r.job.ID, Event: ledger.Answer, Actor: actor}
		switch q := q.(type) {
		case bus.ToolConfirmationRequest:
			answer := a.(bus.ToolConfirmationResponse)
			e.CallID, e.Tool, e.Approval = q.CallID, q.ToolCall.Name, string(answer.Outcome)
			if e.Approval == "" {
				e.Approval = map[bool]string{true: string(bus.ProceedOnce), false: string(bus.Cancel)}[answer.Confirmed]
			}
		case bus.AskUserRequest:
			e.CallID, e.Approval = q.CallID, "answered"
		}
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := r.ledger.Record(short, e); err != nil {
			return err
		}
		r.lines.add("question", fmt.Sprintf("%s answers the question about %s: %s", actor, e.Tool, e.Approval))
		r.answers.mu.Lock()
		defer r.answers.mu.Unlock()
		if r.answers.made == nil {
			r.answers.made = map[string]ledger.Entry{}
		}
		r.answers.made[e.CallID] = e
		return nil
	}
}

// agreed asks the approvers a question that is answered by yes or no.
func (r *run) agreed(ctx context.Context, question string) bool {
	a, err := bus.Ask(ctx, r.messages, bus.AskUserRequest{Program: true, Questions: []bus.UserQuestion{{Question: question, Header: "Resume", Type: bus.QuestionYesNo}}})
	answer := strings.ToLower(strings.TrimSpace(a.Answers["0"]))
	return err == nil && !a.Cancelled && (answer == "y" || answer == "yes")
}

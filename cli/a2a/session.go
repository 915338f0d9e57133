package a2a

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"

	"github.com/fettle-dev/fettle/cli/chat"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

// session is an open session. Its tasks run one after another.
type session struct {
	id     string // also the ID of the context
	server *server
	host   *chat.Hosted

	ctx    context.Context    // ends with the session
	close  context.CancelFunc // ends the session
	opened chan struct{}      // closed once host is set
	done   chan struct{}      // closed when the session has ended
	err    error              // why the session ended; set before done is closed
	lane   chan struct{}      // capacity 1: held by the running task
	asking chan struct{}      // capacity 1: held by the open question
	tasks  sync.WaitGroup

	mu      sync.Mutex
	pending int // tasks that have not ended
	used    time.Time
	ending  bool
	current *task // the running task; nil: none
}

// open opens the recorded session with an id, or a new one. It requires s.opening.
func (s *server) open(ctx context.Context, id string) (*session, error) {
	if id != "" && !s.flags.talk.NoRecord {
		one, err := s.host(ctx, id, true)
		if err == nil || fault.CodeOf(err) != fault.SessionNotFound {
			return one, s.failure(err)
		}
	}
	one, err := s.host(ctx, id, false)
	return one, s.failure(err)
}

// failure converts an error of the program to an error of the protocol.
func (s *server) failure(err error) error {
	if err == nil {
		return nil
	}
	return refuse(protocol.ErrServerError, "the session could not be opened: %s", display.Printable(s.program.Masked(fault.Line(err))))
}

// host opens a session and waits until it is open. ctx ends the waiting only.
func (s *server) host(ctx context.Context, id string, resume bool) (*session, error) {
	one := &session{
		server: s, opened: make(chan struct{}), done: make(chan struct{}), lane: make(chan struct{}, 1), asking: make(chan struct{}, 1), used: time.Now(),
	}
	one.ctx, one.close = context.WithCancel(context.WithoutCancel(ctx))
	p, g, f := *s.program, *s.global, s.flags.talk
	if resume {
		f.Resume, f.Exact = id, true
	} else {
		f.SessionID = id
	}
	options := chat.HostOptions{Program: &p, Global: &g, Flags: &f, Unsupported: builtin.Names(), Adjust: func(c *config.Parameters, hide *redact.Masker) {
		hide.Add(s.secrets...)
		if s.flags.web.TokenEnv != "" {
			c.Tools.Shell.Withheld = append(c.Tools.Shell.Withheld, s.flags.web.TokenEnv)
		}
	}}
	go func() {
		defer close(one.done)
		defer one.close()
		one.err = chat.Host(one.ctx, options, one.run)
	}()
	select {
	case <-one.opened:
		return one, nil
	case <-one.done:
		return nil, cmp.Or(one.err, context.Canceled)
	case <-ctx.Done():
		one.close()
		return nil, ctx.Err()
	}
}

// run runs the session until it is closed.
func (s *session) run(ctx context.Context, host *chat.Hosted) error {
	s.host, s.id = host, host.Status().SessionID
	s.server.mu.Lock()
	closed := s.server.closed
	if !closed {
		s.server.sessions[s.id] = s
	}
	s.server.mu.Unlock()
	if closed {
		return context.Canceled
	}
	defer s.forget()
	detach := s.attach(ctx)
	defer detach()
	for range host.Start(ctx) { // its notices are those of the start of the server
	}
	close(s.opened)
	<-ctx.Done()
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.tasks.Wait()
	return nil
}

func (s *session) forget() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.sessions[s.id] == s {
		delete(s.server.sessions, s.id)
	}
}

// idle reports whether no task is pending, and since when.
func (s *session) idle() (since time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.pending == 0
}

// start begins to work on a task. It reports false if the session ends.
func (s *session) start(t *task, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || s.ctx.Err() != nil {
		t.abandoned()
		return false
	}
	s.pending++
	s.tasks.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pending--
			s.used = time.Now()
		}()
		s.work(t, text)
	})
	return true
}

// work runs the prompt of a task, once the tasks before it have ended.
func (s *session) work(t *task, text string) {
	select {
	case s.lane <- struct{}{}:
		defer func() { <-s.lane }()
	case <-t.ctx.Done():
	}
	if t.ctx.Err() != nil {
		t.abandoned()
		return
	}
	s.turn(t)
	r := &running{session: s, task: t, isCommand: strings.HasPrefix(text, "/"), state: protocol.TaskStateCompleted}
	for e := range s.host.Submit(t.ctx, text) {
		if e.Kind == interactive.EventAgent && e.Agent.Type == agent.EventModel {
			t.begin() // the prompt is recorded, so that the task is known after a restart
		}
		r.event(e)
	}
	s.turn(nil)
	if t.ctx.Err() != nil {
		t.abandoned()
		return
	}
	reason := display.Printable(s.host.Masked(r.reason))
	s.keep(t, r.state, reason)
	var parts []protocol.Part
	if reason != "" {
		parts = []protocol.Part{protocol.TextPart{Text: reason}}
	}
	t.set(r.state, parts...)
}

// keep stores the outcome of a task for a time after a restart, before a client learns of it. Without a
// recording, or on a full disk, the task is unknown then.
func (s *session) keep(t *task, state protocol.TaskState, reason string) {
	if dir, ok := s.server.recorded(s.ctx, s.id); ok {
		_ = keepOutcome(dir, outcome{ID: t.id, State: state, Reason: reason, Answer: s.host.Masked(t.said()), Time: time.Now().UTC()})
	}
}

// turn sets the running task.
func (s *session) turn(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = t
}

// running converts the events of a prompt to those of its task.
type running struct {
	*session
	task      *task
	isCommand bool
	state     protocol.TaskState // how the task ends
	reason    string             // message of that state; "": none
	apart     bool               // text that follows belongs to another answer of the model
}

func (r *running) event(e interactive.Event) {
	switch e.Kind {
	case interactive.EventAgent:
		r.agentEvent(*e.Agent)
	case interactive.EventMessage:
		switch {
		case e.Level == interactive.LevelError:
			r.state, r.reason = protocol.TaskStateFailed, e.Text
		case r.isCommand:
			r.task.say(e.Text + "\n\n")
		default:
			r.task.note(map[string]any{"kind": "notice", "level": string(e.Level), "text": display.Printable(e.Text)})
		}
	}
}

func (r *running) agentEvent(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		if e.Text == "" {
			return
		}
		if r.apart {
			r.apart, e.Text = false, "\n\n"+e.Text
		}
		r.task.say(e.Text)
	case agent.EventFinished, agent.EventRetry:
		r.apart = r.task.said() != ""
	case agent.EventThought:
		if e.Thought != nil {
			r.task.note(map[string]any{"kind": "thought", "subject": display.Printable(e.Thought.Subject), "description": display.Printable(e.Thought.Description)})
		}
	case agent.EventToolCall:
		r.task.note(map[string]any{"kind": "tool-call", "id": e.Call.ID, "tool": display.Line(e.Call.Name), "description": r.describe(e.Call.Name, e.Call.Object())})
	case agent.EventToolResponse:
		r.task.note(map[string]any{"kind": "tool-result", "id": e.Call.ID, "tool": display.Line(e.Call.Name)})
	case agent.EventCitation:
		r.task.say("\n\nSources:\n" + e.Text + "\n")
	case agent.EventWarning:
		r.task.note(map[string]any{"kind": "notice", "level": "warning", "text": display.Printable(e.Text)})
	default:
		if e.Type.Ends() {
			r.end(e)
		}
	}
}

// describe returns the description of a call; "" if its arguments are invalid.
func (r *running) describe(name string, args []byte) string {
	tool, err := r.host.Tool(name)
	if err != nil {
		return ""
	}
	call, err := tool.Build(args)
	if err != nil {
		return ""
	}
	return display.Line(call.Description())
}

// end notes how a prompt ended.
func (r *running) end(e agent.Event) {
	switch e.Type {
	case agent.EventDone, agent.EventCancelled:
	case agent.EventLimit:
		r.state, r.reason = protocol.TaskStateFailed, "The limit of requests to the model was reached. Send a new message with the same context ID to continue."
	case agent.EventStopped:
		r.reason = "The run was stopped: " + e.Text
	case agent.EventBlocked:
		r.state, r.reason = protocol.TaskStateRejected, "The prompt was refused: "+e.Text
	default:
		r.state, r.reason = protocol.TaskStateFailed, "The prompt ended early: "+string(e.Type)+"."
		if e.Err != nil {
			r.reason = e.Err.Line()
		}
	}
}

// attach passes the questions of the bus to the running task until detach is called. detach returns
// once no question is open.
func (s *session) attach(ctx context.Context) (detach func()) {
	var open sync.WaitGroup
	b := s.host.Bus()
	subscriptions := []*bus.Subscription{hear(ctx, b, &open, s.approval), hear(ctx, b, &open, s.questions)}
	return func() {
		for one := range slices.Values(subscriptions) {
			one.Unsubscribe()
			<-one.Done()
		}
		open.Wait()
	}
}

// hear answers the questions of one type, each on its own goroutine. ask returns the answer, and
// whether there is one.
func hear[Q bus.Question[A], A bus.Answer](ctx context.Context, b *bus.MessageBus, open *sync.WaitGroup, ask func(context.Context, Q) (A, bool)) *bus.Subscription {
	return bus.Subscribe(ctx, b, func(ctx context.Context, q Q) {
		open.Go(func() {
			if answer, ok := ask(ctx, q); ok {
				_ = b.Publish(answer) // an answer that comes too late has no effect
			}
		})
	})
}

package a2a

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// maxTasks is the number of tasks that are kept; the oldest ended tasks are dropped first.
const maxTasks = 1000

// server handles the requests of clients. It implements [a2asrv.RequestHandler].
type server struct {
	program *program.Program
	global  *program.Flags
	flags   *serveFlags
	secrets []string // hidden from the model and from commands
	// recorded returns the side directory of a recorded session; ok is false for others.
	recorded func(ctx context.Context, session string) (dir string, ok bool)

	mu       sync.Mutex
	opening  sync.Mutex // held while a session is opened
	sessions map[string]*session
	tasks    map[protocol.TaskID]*task
	order    []protocol.TaskID // of tasks, the oldest first
	closed   bool              // no session may be opened
}

var _ a2asrv.RequestHandler = (*server)(nil)

func newServer(p *program.Program, g *program.Flags, f *serveFlags) *server {
	return &server{program: p, global: g, flags: f, sessions: map[string]*session{}, tasks: map[protocol.TaskID]*task{}, recorded: func(context.Context, string) (string, bool) { return "", false }}
}

// refuse returns an error for the client, of a class of the protocol.
func refuse(class error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", class, fmt.Sprintf(format, args...))
}

// find returns a task. The ID of a task contains that of its session, so that a task from before a
// restart is known by its recorded session, which also has the outcome of a task that had ended.
func (s *server) find(ctx context.Context, id protocol.TaskID) (*task, error) {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	session, _, ok := strings.Cut(string(id), taskMark)
	if ok = ok && transcript.CheckID(session) == nil; ok {
		if dir, recorded := s.recorded(ctx, session); recorded {
			if kept, ok := outcomeOf(dir, id); ok {
				return kept.ended(session), nil
			}
			return lostTask(id, session), nil
		}
	}
	return nil, refuse(protocol.ErrTaskNotFound, "there is no task %.80q", string(id))
}

// OnGetTask implements [a2asrv.RequestHandler].
func (s *server) OnGetTask(ctx context.Context, q *protocol.TaskQueryParams) (*protocol.Task, error) {
	t, err := s.find(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	return t.snapshot(q.HistoryLength), nil
}

// OnCancelTask implements [a2asrv.RequestHandler]. It returns once the task has ended.
func (s *server) OnCancelTask(ctx context.Context, p *protocol.TaskIDParams) (*protocol.Task, error) {
	t, err := s.find(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if !t.cancelByClient() {
		return nil, refuse(protocol.ErrTaskNotCancelable, "the task has ended in the state %s", t.state())
	}
	select {
	case <-t.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return t.snapshot(nil), nil
}

// OnSendMessage implements [a2asrv.RequestHandler]. It waits until the task has ended or requires
// input, unless the client asks not to wait.
func (s *server) OnSendMessage(ctx context.Context, p *protocol.MessageSendParams) (protocol.SendMessageResult, error) {
	r, err := s.take(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var length *int
	waits := true
	if p.Config != nil {
		length = p.Config.HistoryLength
		waits = p.Config.Blocking == nil || *p.Config.Blocking
	}
	if waits {
		for range r.events(ctx) { // the snapshot has them
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return r.task.snapshot(length), nil
}

// OnSendMessageStream implements [a2asrv.RequestHandler].
func (s *server) OnSendMessageStream(ctx context.Context, p *protocol.MessageSendParams) iter.Seq2[protocol.Event, error] {
	return func(yield func(protocol.Event, error) bool) {
		r, err := s.take(ctx, p)
		if err != nil {
			yield(nil, err)
			return
		}
		r.stream(ctx, yield)
	}
}

// OnResubscribeToTask implements [a2asrv.RequestHandler]. The first event is the task as it is.
func (s *server) OnResubscribeToTask(ctx context.Context, p *protocol.TaskIDParams) iter.Seq2[protocol.Event, error] {
	return func(yield func(protocol.Event, error) bool) {
		t, err := s.find(ctx, p.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		t.newReader().stream(ctx, yield)
	}
}

// take accepts a message: an answer of a task that requires input, or the prompt of a new task. It
// returns a reader of the events that follow.
func (s *server) take(ctx context.Context, p *protocol.MessageSendParams) (*reader, error) {
	if p == nil || p.Message == nil {
		return nil, refuse(protocol.ErrInvalidParams, "the message is missing")
	}
	m := p.Message
	if p.Config != nil && p.Config.PushConfig != nil {
		return nil, refuse(protocol.ErrPushNotificationNotSupported, "use message/stream or tasks/resubscribe")
	}
	if m.Role != protocol.MessageRoleUser {
		return nil, refuse(protocol.ErrInvalidParams, "the role of the message must be user")
	}
	text, err := textOf(m.Parts)
	if err != nil {
		return nil, err
	}
	if m.TaskID != "" {
		t, err := s.find(ctx, m.TaskID)
		if err != nil {
			return nil, err
		}
		if m.ContextID != "" && m.ContextID != t.context {
			return nil, refuse(protocol.ErrInvalidParams, "the task belongs to the context %s", t.context)
		}
		return t.reply(m, text)
	}
	in, err := s.session(ctx, m.ContextID)
	if err != nil {
		return nil, err
	}
	t := newTask(in.ctx, in.id, m)
	r := t.newReader()
	s.keep(t)
	if !in.start(t, text) {
		return nil, refuse(protocol.ErrServerError, "the session has ended; send the message again")
	}
	return r, nil
}

// keep adds a task, and drops the oldest ended ones above the limit.
func (s *server) keep(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[t.id] = t
	s.order = append(s.order, t.id)
	for i := 0; len(s.order) > maxTasks && i < len(s.order); i++ {
		if old := s.tasks[s.order[i]]; old.state().Terminal() {
			delete(s.tasks, old.id)
			s.order = append(s.order[:i], s.order[i+1:]...)
			i--
		}
	}
}

// session returns the session of a context: an open one, a recorded one, or a new one.
func (s *server) session(ctx context.Context, id string) (*session, error) {
	if id != "" && transcript.CheckID(id) != nil {
		return nil, refuse(protocol.ErrInvalidParams, "%.80q is not a valid context ID: use letters, digits, - and _, or none for a new context", id)
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	for {
		known, idlest, err := s.room(id)
		if err != nil || known != nil {
			return known, err
		}
		if idlest == nil {
			return s.open(ctx, id)
		}
		idlest.close()
		<-idlest.done
	}
}

// room returns the open session of a context, or an idle session to close before another one can be
// opened; nil, nil: another one can be opened.
func (s *server) room(id string) (known, idlest *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, refuse(protocol.ErrServerError, "the server stops")
	}
	if known := s.sessions[id]; known != nil && known.ctx.Err() == nil {
		return known, nil, nil
	}
	if known := s.sessions[id]; known != nil {
		return nil, known, nil // it ends
	}
	if len(s.sessions) < s.flags.sessions {
		return nil, nil, nil
	}
	var before time.Time
	for _, one := range s.sessions {
		if since, idle := one.idle(); idle && !s.flags.talk.NoRecord && (idlest == nil || since.Before(before)) {
			idlest, before = one, since
		}
	}
	if idlest == nil {
		return nil, nil, refuse(protocol.ErrServerError, "%d sessions are open, the maximum; try again later", len(s.sessions))
	}
	return nil, idlest, nil
}

// closeAll ends all sessions and waits for them, at most for grace.
func (s *server) closeAll(grace time.Duration) {
	s.mu.Lock()
	s.closed = true
	var all []*session
	for _, one := range s.sessions {
		all = append(all, one)
	}
	s.mu.Unlock()
	for _, one := range all {
		one.close()
	}
	late := time.After(grace)
	for _, one := range all {
		select {
		case <-one.done:
		case <-late:
			return
		}
	}
}

// textOf returns the text of a message. Data is part of it as JSON.
func textOf(parts protocol.ContentParts) (string, error) {
	var texts []string
	for _, part := range parts {
		switch part := part.(type) {
		case protocol.TextPart:
			texts = append(texts, part.Text)
		case protocol.DataPart:
			texts = append(texts, jsonOf(part.Data))
		default:
			return "", refuse(protocol.ErrUnsupportedContentType, "a message may have text and data parts only; name files of the directory in the text, as @PATH")
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n\n"))
	if text == "" {
		return "", refuse(protocol.ErrInvalidParams, "the message has no text")
	}
	return text, nil
}

// The server sends no push notifications, and its card is not extended.

// OnGetTaskPushConfig implements [a2asrv.RequestHandler].
func (*server) OnGetTaskPushConfig(context.Context, *protocol.GetTaskPushConfigParams) (*protocol.TaskPushConfig, error) {
	return nil, noPush()
}

// OnListTaskPushConfig implements [a2asrv.RequestHandler].
func (*server) OnListTaskPushConfig(context.Context, *protocol.ListTaskPushConfigParams) ([]*protocol.TaskPushConfig, error) {
	return nil, noPush()
}

// OnSetTaskPushConfig implements [a2asrv.RequestHandler].
func (*server) OnSetTaskPushConfig(context.Context, *protocol.TaskPushConfig) (*protocol.TaskPushConfig, error) {
	return nil, noPush()
}

// OnDeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (*server) OnDeleteTaskPushConfig(context.Context, *protocol.DeleteTaskPushConfigParams) error {
	return noPush()
}

// OnGetExtendedAgentCard implements [a2asrv.RequestHandler].
func (*server) OnGetExtendedAgentCard(context.Context) (*protocol.AgentCard, error) {
	return nil, protocol.ErrAuthenticatedExtendedCardNotConfigured
}

func noPush() error {
	return refuse(protocol.ErrPushNotificationNotSupported, "use message/stream or tasks/resubscribe")
}

package a2a

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// taskMark separates the session from the rest of the ID of a task.
const taskMark = "."

// maxAnswer is the largest size of the answer of a task in bytes; later text is omitted.
const maxAnswer = 8 << 20

// maxHistory is the number of messages of a task that are kept.
const maxHistory = 200

// answerID is the ID of the only artifact of a task.
const answerID protocol.ArtifactID = "answer"

// task is a prompt and its events. Its methods may be called from any goroutine.
type task struct {
	id      protocol.TaskID
	context string
	ctx     context.Context // ends when the task is cancelled
	cancel  context.CancelFunc
	ended   chan struct{} // closed in a terminal state

	mu        sync.Mutex
	status    protocol.TaskStatus
	history   []*protocol.Message
	answer    strings.Builder
	full      bool               // the rest of the answer is omitted
	asked     chan<- answer      // of the open question; nil: none
	before    protocol.TaskState // the question: it returns after it
	cancelled bool               // by the client
	readers   []*reader
}

// answer is an answer of the client to a question.
type answer struct {
	text string
	data map[string]any // nil: none
}

// TaskInfo implements [protocol.TaskInfoProvider].
func (t *task) TaskInfo() protocol.TaskInfo {
	return protocol.TaskInfo{TaskID: t.id, ContextID: t.context}
}

// newTask returns a task of a session in the state submitted.
func newTask(ctx context.Context, session string, m *protocol.Message) *task {
	t := &task{id: protocol.TaskID(session + taskMark + bus.NewID()), context: session, ended: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.status = statusOf(protocol.TaskStateSubmitted, nil)
	m.TaskID, m.ContextID = t.id, session
	t.history = []*protocol.Message{m}
	return t
}

// lostTask returns a task from before a restart.
func lostTask(id protocol.TaskID, session string) *task {
	t := &task{id: id, context: session, ended: make(chan struct{}), cancel: func() {}}
	t.status = statusOf(protocol.TaskStateFailed, protocol.NewMessageForTask(protocol.MessageRoleAgent, t, protocol.TextPart{
		Text: "The server was restarted before this task had ended. Its conversation was recorded: send a new message with the same context ID to continue it.",
	}))
	close(t.ended)
	return t
}

func statusOf(state protocol.TaskState, m *protocol.Message) protocol.TaskStatus {
	now := time.Now().UTC()
	return protocol.TaskStatus{State: state, Message: m, Timestamp: &now}
}

func (t *task) state() protocol.TaskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status.State
}

// said returns the answer so far.
func (t *task) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answer.String()
}

// paused reports whether no event follows in a state, unless the client sends a message.
func paused(s protocol.TaskState) bool {
	return s.Terminal() || s == protocol.TaskStateInputRequired
}

// active reports whether a message of a state is an activity.
func active(s protocol.TaskState) bool {
	return s == protocol.TaskStateSubmitted || s == protocol.TaskStateWorking
}

// snapshot returns the task as it is, with the last messages of its history; length nil: all.
func (t *task) snapshot(length *int) *protocol.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.copy(length)
}

// copy requires t.mu.
func (t *task) copy(length *int) *protocol.Task {
	from := 0
	if length != nil {
		from = max(0, len(t.history)-max(0, *length))
	}
	whole := &protocol.Task{ID: t.id, ContextID: t.context, Status: t.status, History: slices.Clone(t.history[from:])}
	if t.answer.Len() > 0 {
		whole.Artifacts = []*protocol.Artifact{{ID: answerID, Name: "answer", Parts: protocol.ContentParts{protocol.TextPart{Text: t.answer.String()}}}}
	}
	return whole
}

// set changes the state. parts are the message of the state; none: no message.
func (t *task) set(state protocol.TaskState, parts ...protocol.Part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(state, parts...)
}

// begin sets the state working, once.
func (t *task) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status.State == protocol.TaskStateSubmitted {
		t.change(protocol.TaskStateWorking)
	}
}

// change requires t.mu. A terminal state does not change.
func (t *task) change(state protocol.TaskState, parts ...protocol.Part) {
	if t.status.State.Terminal() {
		return
	}
	if m := t.status.Message; m != nil && !active(t.status.State) {
		t.remember(m)
	}
	var m *protocol.Message
	if len(parts) > 0 {
		m = protocol.NewMessageForTask(protocol.MessageRoleAgent, t, parts...)
	}
	t.status = statusOf(state, m)
	e := protocol.NewStatusUpdateEvent(t, state, m)
	e.Status, e.Final = t.status, paused(state)
	t.publish(e)
	if state.Terminal() {
		t.asked = nil
		close(t.ended)
		t.cancel()
	}
}

// remember requires t.mu.
func (t *task) remember(m *protocol.Message) {
	t.history = append(t.history, m)
	if len(t.history) > maxHistory {
		t.history = slices.Delete(t.history, 1, 2) // the first is the prompt
	}
}

// say adds text to the answer.
func (t *task) say(text string) {
	text = display.Printable(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" || t.status.State.Terminal() || t.full {
		return
	}
	if t.full = t.answer.Len()+len(text) > maxAnswer; t.full {
		text = "\n[The rest of the answer was omitted: it is too long.]"
	}
	e := protocol.NewArtifactUpdateEvent(t, answerID, protocol.TextPart{Text: text})
	e.Append = t.answer.Len() > 0
	e.Artifact.Name = "answer"
	t.answer.WriteString(text)
	t.publish(e)
}

// note reports an activity as data, which is not part of the answer.
func (t *task) note(data map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if active(t.status.State) { // not while a question is open
		t.change(t.status.State, protocol.DataPart{Data: data})
	}
}

// ask sets the task to input-required and waits for the answer of the client. ok is false if the
// question has ended meanwhile.
func (t *task) ask(ctx context.Context, parts ...protocol.Part) (reply answer, ok bool) {
	answers := make(chan answer, 1)
	t.mu.Lock()
	t.asked = answers
	if active(t.status.State) {
		t.before = t.status.State
	}
	t.change(protocol.TaskStateInputRequired, parts...)
	t.mu.Unlock()
	select {
	case reply := <-answers:
		return reply, true
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked != nil {
		t.asked = nil
		t.change(t.before)
	}
	return answer{}, false
}

// reply passes a message to the open question, and returns a reader of the events that follow.
func (t *task) reply(m *protocol.Message, text string) (*reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.status.State.Terminal():
		return nil, refuse(protocol.ErrInvalidParams, "the task has ended in the state %s; send the message with the context ID %s alone, as a new task", t.status.State, t.context)
	case t.asked == nil:
		return nil, refuse(protocol.ErrInvalidParams, "the task works, and requires no input; wait for it, or cancel it")
	}
	given := answer{text: text}
	for _, part := range m.Parts {
		if data, ok := part.(protocol.DataPart); ok {
			given.data = data.Data
		}
	}
	m.TaskID, m.ContextID = t.id, t.context
	t.asked <- given
	t.asked = nil
	t.change(t.before)
	t.remember(m)
	return t.reader(), nil
}

// cancelByClient cancels the task. It reports false if the task has ended.
func (t *task) cancelByClient() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status.State.Terminal() {
		return false
	}
	t.cancelled = true
	t.cancel()
	return true
}

// abandoned sets the final state of a task whose context has ended.
func (t *task) abandoned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelled {
		t.change(protocol.TaskStateCanceled)
		return
	}
	t.change(protocol.TaskStateFailed, protocol.TextPart{Text: "The session was closed before the task had ended. Send a new message with the same context ID to continue it."})
}

// reader reads the events of a task from its creation until a pause or ctx ends. The queue is
// limited by the size of the answer.
type reader struct {
	task  *task
	first *protocol.Task // the task when the reader was created
	queue []protocol.Event
	wake  chan struct{}
}

// reader requires t.mu.
func (t *task) reader() *reader {
	r := &reader{task: t, first: t.copy(nil), wake: make(chan struct{}, 1)}
	if !paused(t.status.State) {
		t.readers = append(t.readers, r)
	}
	return r
}

// newReader returns a reader of the events from now on.
func (t *task) newReader() *reader {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reader()
}

// publish requires t.mu.
func (t *task) publish(e protocol.Event) {
	for _, r := range t.readers {
		r.queue = append(r.queue, e)
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	if s, ok := e.(*protocol.TaskStatusUpdateEvent); ok && s.Final {
		t.readers = nil
	}
}

// close ends the reader.
func (r *reader) close() {
	r.task.mu.Lock()
	defer r.task.mu.Unlock()
	r.task.readers = slices.DeleteFunc(r.task.readers, func(other *reader) bool { return other == r })
}

// events yields the events up to a pause.
func (r *reader) events(ctx context.Context) iter.Seq[protocol.Event] {
	return func(yield func(protocol.Event) bool) {
		defer r.close()
		if paused(r.first.Status.State) {
			return
		}
		for {
			r.task.mu.Lock()
			batch := r.queue
			r.queue = nil
			r.task.mu.Unlock()
			for _, e := range batch {
				if !yield(e) {
					return
				}
				if s, ok := e.(*protocol.TaskStatusUpdateEvent); ok && s.Final {
					return
				}
			}
			if len(batch) > 0 {
				continue
			}
			select {
			case <-r.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// stream yields the task and then its events.
func (r *reader) stream(ctx context.Context, yield func(protocol.Event, error) bool) {
	defer r.close()
	if !yield(r.first, nil) {
		return
	}
	for e := range r.events(ctx) {
		if !yield(e, nil) {
			return
		}
	}
}

package acp

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/chat"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// setup describes a session to open.
type setup struct {
	cwd     string
	dirs    []string // additional directories of the workspace
	servers []sdk.McpServer
	load    bool   // continues a recorded session
	id      string // of that session
	replay  bool   // sends the recorded conversation to the editor
}

// session is an open session.
type session struct {
	id     string // as the editor knows it
	cwd    string
	replay bool
	agent  *server
	host   *chat.Hosted
	calls  *calls

	ctx     context.Context    // ends with the session
	close   context.CancelFunc // ends the session
	opened  chan struct{}      // closed once host is set
	begun   chan struct{}      // closed by begin
	started chan struct{}      // closed once the session accepts prompts
	done    chan struct{}      // closed when the session has ended
	err     error              // why the session ended; set before done is closed
	lane    chan struct{}      // capacity 1: held by the running turn
	watcher *bus.Subscription  // observes the bus; set by attach
	known   <-chan struct{}    // closed once the editor knows the id; set by begin

	mu    sync.Mutex
	mode  string  // as last sent
	turns []*turn // accepted prompts, the oldest first
}

// unsupported lists the built-in commands that have no meaning in an editor.
var unsupported = [...]string{"quit", "clear", "chat", "copy", "resume", "theme", "restore", "rewind", "editor", "permissions"}

// load opens a recorded session and begins its updates, one session after another.
func (a *server) load(ctx context.Context, o setup) (*session, error) {
	select {
	case a.loading <- struct{}{}:
		defer func() { <-a.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o.load = true
	s, err := a.open(ctx, o)
	if err != nil {
		return nil, err
	}
	s.begin(nil)
	if !o.replay {
		return s, nil
	}
	select {
	case <-s.started: // the conversation was sent
		return s, nil
	case <-s.done:
		return nil, invalid("The session was closed.")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open opens a session and waits until it is open. ctx ends the waiting only. An open session with the
// same recording ends once everything else is ready, so that a refused request has no effect.
func (a *server) open(ctx context.Context, o setup) (*session, error) {
	if !filepath.IsAbs(o.cwd) {
		return nil, invalid("cwd must be an absolute path, not %q.", o.cwd)
	}
	if info, err := os.Stat(o.cwd); err != nil || !info.IsDir() {
		return nil, invalid("The directory %s does not exist.", o.cwd)
	}
	if i := slices.IndexFunc(o.dirs, func(dir string) bool { return !filepath.IsAbs(dir) }); i >= 0 {
		return nil, invalid("additionalDirectories must be absolute paths, not %q.", o.dirs[i])
	}
	if o.load && (o.id == "" || o.id == conversation.Latest || o.id == conversation.Choose) {
		return nil, unknownSession(o.id)
	}
	servers, secrets, err := serversOf(o.servers)
	if err != nil {
		return nil, err
	}
	s := &session{
		cwd: o.cwd, replay: o.replay, agent: a, opened: make(chan struct{}), begun: make(chan struct{}), started: make(chan struct{}),
		done: make(chan struct{}), lane: make(chan struct{}, 1),
	}
	s.calls = newCalls(s)
	s.ctx, s.close = context.WithCancel(context.WithoutCancel(ctx))
	p, g, f := *a.program, *a.global, a.flags
	g.Cwd, g.IncludeDirs = o.cwd, slices.Concat(g.IncludeDirs, o.dirs)
	f.Resume, f.Exact = o.id, true
	var once sync.Once
	f.Resuming = func(ctx context.Context) { once.Do(func() { a.end(ctx, o.id) }) }
	b := &buffers{session: s}
	options := chat.HostOptions{Program: &p, Global: &g, Flags: &f, Unsupported: unsupported[:], Adjust: func(c *config.Parameters, hide *redact.Masker) {
		hide.Add(secrets...)
		c.MCP.Servers = append(c.MCP.Servers, servers...)
		if fs := a.capabilities().Fs; fs.ReadTextFile {
			c.Calls.After = append(c.Calls.After, b.after)
			c.Calls.Executing = append(c.Calls.Executing, b.executing)
		}
	}}
	go func() {
		defer close(s.done)
		defer s.close()
		s.err = chat.Host(s.ctx, options, s.run)
	}()
	select {
	case <-s.opened:
		return s, a.add(s)
	case <-s.done:
		return nil, a.failure(&p, cmp.Or(s.err, context.Canceled))
	case <-ctx.Done():
		s.close()
		return nil, ctx.Err()
	}
}

func unknownSession(id string) error {
	return &sdk.RequestError{Code: notFound, Message: display.Printable(fmt.Sprintf("There is no recorded session %q in this directory. session/list lists them.", id))}
}

// add makes a session known to the editor's requests.
func (a *server) add(s *session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		s.close()
		return invalid("The connection is closed.")
	}
	a.sessions[s.id] = s
	return nil
}

// end ends the session with an id, if it is open, and waits for it until ctx ends.
func (a *server) end(ctx context.Context, id string) {
	a.mu.Lock()
	s := a.sessions[id]
	a.mu.Unlock()
	if s == nil {
		return
	}
	s.close()
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

// forget removes a session.
func (a *server) forget(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
}

// begin lets the session send updates, once known is closed; nil: at once.
func (s *session) begin(known <-chan struct{}) {
	s.known = known
	close(s.begun)
}

// run runs the session until it is closed.
func (s *session) run(ctx context.Context, host *chat.Hosted) error {
	s.host = host
	status := host.Status()
	s.id, s.mode = status.SessionID, status.Mode
	detach := s.attach(ctx) // updates wait for begin
	defer detach()
	close(s.opened)
	select {
	case <-s.begun:
	case <-ctx.Done():
		return nil
	}
	defer s.agent.forget(s)
	for e := range host.Start(ctx) {
		s.startEvent(e)
	}
	s.sendCommands()
	close(s.started)
	<-ctx.Done()
	s.cancelTurns()
	s.lane <- struct{}{} // the running turn has ended
	return nil
}

// startEvent sends an event of the start.
func (s *session) startEvent(e interactive.Event) {
	switch e.Kind {
	case interactive.EventHistory:
		if s.replay {
			s.sendHistory(e.History)
		}
	case interactive.EventMessage:
		s.sendThought(e.Text + "\n")
	}
}

// send sends an update once the editor knows the session.
func (s *session) send(u sdk.SessionUpdate) {
	select {
	case <-s.begun:
	case <-s.ctx.Done():
		return
	}
	if s.known != nil {
		select {
		case <-s.known:
		case <-s.agent.conn.Done():
			return
		}
	}
	// The notification is written whole or not at all, so that ctx has no meaning; a
	// closed connection ends the session.
	_ = s.agent.conn.SessionUpdate(context.WithoutCancel(s.ctx), sdk.SessionNotification{SessionId: sdk.SessionId(s.id), Update: u})
}

// modes returns the approval modes that can be selected.
func (s *session) modes() *sdk.SessionModeState {
	state := &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(s.host.Status().Mode), AvailableModes: []sdk.SessionMode{}}
	for _, m := range policy.Modes() {
		if m == policy.ModeYolo && s.host.Config().Trust() == trust.Untrusted {
			continue
		}
		state.AvailableModes = append(state.AvailableModes, sdk.SessionMode{
			Id: sdk.SessionModeId(m), Name: m.Flag(), Description: sdk.Ptr(display.Sentence(m.Meaning())),
		})
	}
	return state
}

// modeChanged reports the approval mode if it has changed.
func (s *session) modeChanged() {
	mode := s.host.Status().Mode
	s.mu.Lock()
	changed := mode != s.mode
	s.mode = mode
	s.mu.Unlock()
	if changed {
		s.send(sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{CurrentModeId: sdk.SessionModeId(mode)}})
	}
}

// Package serving serves MCP clients the tools and the instruction files of a session.
package serving

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/contextfiles"
	"github.com/fettle-dev/fettle/core/config/internal/filewatch"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/internaldocs"
	"github.com/fettle-dev/fettle/core/tools/memory"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// Session is what serving needs to know of the session whose tools it serves.
type Session struct {
	Bus       *bus.MessageBus
	Registry  *tools.Registry
	Scheduler *scheduler.Scheduler
	State     *filestate.Service
	Tracker   *tracker.FileTracker
	Folder    string                              // the target
	CoreTools func() []string                     // the built-in tools that were chosen; nil: none were
	Changes   *Changes                            // of its tools
	Files     func() (contextfiles.Finder, error) // finds the instruction files of now
	Now       func() time.Time                    // nil: time.Now
	Close     func() error                        // ends what the service owns of the session
}

// Options say whom the session is served to. The zero value is one client of several
// that have a session.
type Options struct {
	Stateless  bool // one request of a client without a session
	Alone      bool // the session serves nobody else
	AllTools   bool // those that only serve a conversation of fettle's own too
	WatchFiles bool // announces changes of instruction files, once they have been listed
}

// New returns what serves a client.
func New(session Session, o Options) *mcp.Service {
	s := &served{session: session, options: o, running: map[string]*servedRun{}}
	if s.session.Now == nil {
		s.session.Now = time.Now
	}
	svc := &mcp.Service{
		Tools: s.tools, Call: s.call, Instructions: s.instructions(),
		Resources: s.resources, Read: s.read,
		Watch: s.watch, Updates: o.WatchFiles,
		Close: func() error {
			s.end()
			return session.Close()
		},
	}
	if o.Stateless {
		svc.Watch, svc.Updates = nil, false
	}
	return svc
}

// served is the service of one client.
type served struct {
	session Session
	options Options

	answering sync.WaitGroup // goroutines that ask the client

	mu         sync.Mutex
	running    map[string]*servedRun // by call ID
	latest     []*servedRun          // the same, the last one last
	subscribed *subscriptions        // nil until the first call
	closed     bool

	changes   Changes // of its resources
	following sync.Once
	watching  filewatch.Watch // of instruction files
}

// servedRun is one call that runs.
type servedRun struct {
	id       string
	ctx      context.Context // of the call; nothing outlives it
	host     tools.Host
	progress progress
	said     said // guarded by served.mu
}

// servedKey is where the ID of a served call stands in its ctx.
type servedKey struct{}

// CallID returns the ID of the served call that ctx belongs to, "" where
// there is none.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(servedKey{}).(string)
	return id
}

// tools lists what is served, in listing order. What a model would be told of
// only when it searches is served like the rest.
func (s *served) tools() []tools.DeclarativeTool {
	all := slices.Clone(s.session.Registry.All())
	return slices.DeleteFunc(all, func(t tools.DeclarativeTool) bool { return !s.serves(t) })
}

// serves reports whether a registered tool is for the client.
func (s *served) serves(t tools.DeclarativeTool) bool {
	spec := t.Spec()
	if s.options.Stateless && slices.Contains(ofBackground(), spec.Name) {
		return false // it would speak of processes that there cannot be
	}
	if s.options.AllTools || spec.Origin.Group != tools.GroupBuiltIn {
		return true
	}
	_, isAgent := t.(subagent.AgentTool)
	if !isAgent && !slices.Contains(ofConversation(), spec.Name) {
		return true
	}
	core := s.session.CoreTools()
	return core != nil && tools.Selection{Core: core}.Includes(spec, false)
}

// ofConversation are the tools that only serve fettle's own conversation with a
// model and its person.
func ofConversation() []string {
	return []string{
		communicate.AskUser, plan.WriteTodos, plan.EnterPlanMode, plan.ExitPlanMode,
		internaldocs.GetInternalDocs, memory.SaveMemory, catalog.ToolSearch,
	}
}

// ofBackground are the tools about background processes.
func ofBackground() []string {
	return []string{shell.ListBackground, shell.ReadBackground, shell.WriteBackground, shell.StopBackground}
}

// call runs one call through its whole path.
func (s *served) call(ctx context.Context, name string, args json.RawMessage) tools.Result {
	if t, err := s.session.Registry.Lookup(name); err == nil && !s.serves(t) {
		return tools.Fail(fault.New(fault.ToolNotRegistered, "config.mcpService",
			"The tool "+name+" is not offered here: it serves a conversation that fettle has itself.",
			"Use a tool of the list, or name this one in --core-tools when the server is started."))
	}
	run := &servedRun{id: bus.NewID(), ctx: ctx, host: tools.HostOf(ctx)}
	run.progress.init(run.host, s.session.Now)
	if !s.begin(ctx, run) {
		return tools.Fail(fault.New(fault.NotInitialized, "config.mcpService", "The session has ended.", "Connect again."))
	}
	brought := len(s.session.Tracker.Given())
	resp := s.session.Scheduler.Run(context.WithValue(ctx, servedKey{}, run.id), scheduler.Request{CallID: run.id, Tool: name, Args: args})
	s.flush(ctx)
	run.progress.end()
	last := s.finish(run)
	if len(s.session.Tracker.Given()) != brought {
		s.changes.Tell(mcp.Change{Resources: true})
	}
	return withNotes(fitted(last.explain(resp.Result), s.session.State.ResultBytes()), resp.Notices)
}

// flushTime bounds how long the end of a call waits for what the call has printed.
const flushTime = 5 * time.Second

// flush waits until what calls have printed has become progress, which it does on
// a goroutine of the bus's.
func (s *served) flush(ctx context.Context) {
	s.mu.Lock()
	output := s.subscribed.output
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	output.Flush(ctx)
}

// begin takes a call in, and listens to what calls ask and print from the first
// on. It reports whether the service is open.
func (s *served) begin(ctx context.Context, run *servedRun) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.subscribed == nil {
		s.subscribed = s.subscribe(context.WithoutCancel(ctx)) // it ends with the service
	}
	s.running[run.id] = run
	s.latest = append(s.latest, run)
	return true
}

// finish takes a call out that has its response, and returns what was said of it.
func (s *served) finish(run *servedRun) said {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, run.id)
	s.latest = slices.DeleteFunc(s.latest, func(r *servedRun) bool { return r == run })
	return run.said
}

// of returns the call of an ID. Where that is no call of this service's, as of a
// subagent or of an MCP server that asks by itself, it is the last that the
// client has made, if the session is this client's alone; else nil.
func (s *served) of(id string) *servedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.running[id]; run != nil {
		return run
	}
	if n := len(s.latest); s.options.Alone && n > 0 {
		return s.latest[n-1]
	}
	return nil
}

// exactly returns the call of an ID, nil if it is none of this service's.
func (s *served) exactly(id string) *servedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id]
}

// end stops what the service has started and waits for it.
func (s *served) end() {
	s.mu.Lock()
	s.closed = true
	sub := s.subscribed
	s.mu.Unlock()
	if sub != nil {
		sub.end()
	}
	s.answering.Wait()
	s.watching.End()
}

// watch tells of changes of the tools and, with WatchFiles, of the resources.
func (s *served) watch(changed func(mcp.Change)) (stop func()) {
	stopTools := s.session.Changes.subscribe(changed)
	stopOthers := s.changes.subscribe(changed)
	return func() {
		stopTools()
		stopOthers()
	}
}

// withNotes puts notices behind the content of a result. What programs read of it
// stays as it is.
func withNotes(r tools.Result, notices []string) tools.Result {
	if len(notices) == 0 {
		return r
	}
	if r.Structured == nil && r.LLMContent.IsJSON() {
		r.Structured = json.RawMessage(r.LLMContent.String())
	}
	parts := slices.Clone(r.LLMContent.Parts)
	for _, notice := range notices {
		parts = append(parts, tools.Part{Text: "Notice: " + notice})
	}
	r.LLMContent = tools.Content{Parts: parts}
	return r
}

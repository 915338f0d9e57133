// Package serving serves the tools and the instruction files of a session to MCP
// clients.
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
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/host"
	"github.com/fettle-dev/fettle/core/tools/internaldocs"
	"github.com/fettle-dev/fettle/core/tools/memory"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/shell"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Session describes the session whose tools are served.
type Session struct {
	Bus       *bus.MessageBus
	Registry  *tools.Registry
	Scheduler *scheduler.Scheduler
	State     *filestate.Service
	Tracker   *tracker.FileTracker
	Dir       string                              // the target
	CoreTools func() []string                     // the selected built-in tools; nil: no selection
	Changes   *Changes                            // of its tools
	Files     func() (contextfiles.Finder, error) // returns the current finder of instruction files
	Now       func() time.Time                    // nil: time.Now
	Close     func() error                        // releases what the service owns of the session
}

// Options describe the client. The zero value is one of several clients with a
// session.
type Options struct {
	Stateless  bool // one request of a client without a session
	Alone      bool // the session serves no other client
	AllTools   bool // includes those that serve only a conversation of fettle's own
	WatchFiles bool // announces changes of instruction files, once they have been listed
}

// New returns the service for a client.
func New(session Session, o Options) *mcpservice.Service {
	s := &served{session: session, options: o, running: map[string]*servedRun{}}
	if s.session.Now == nil {
		s.session.Now = time.Now
	}
	svc := &mcpservice.Service{
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
	latest     []*servedRun          // likewise, the latest last
	subscribed *subscriptions        // nil until the first call
	closed     bool

	changes   Changes // of its resources
	following follower
}

// servedRun is one running call.
type servedRun struct {
	id       string
	ctx      context.Context // of the call; nothing outlives it
	host     host.Host
	progress progress
	lastAsk  askOutcome // guarded by served.mu
}

// servedKey is the context key of the ID of a served call.
type servedKey struct{}

// CallID returns the ID of the served call that ctx belongs to, "" if there is
// none.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(servedKey{}).(string)
	return id
}

// tools returns the served tools, in listing order. It includes deferred tools.
func (s *served) tools() []tools.DeclarativeTool {
	all := slices.Clone(s.session.Registry.All())
	return slices.DeleteFunc(all, func(t tools.DeclarativeTool) bool { return !s.serves(t) })
}

// serves reports whether a registered tool is served to the client.
func (s *served) serves(t tools.DeclarativeTool) bool {
	spec := t.Spec()
	if s.options.Stateless && slices.Contains(ofBackground(), spec.Name) {
		return false // there are no background processes
	}
	if s.options.AllTools || spec.Origin.Group != tools.GroupBuiltIn {
		return true
	}
	_, isAgent := t.(subagent.AgentTool)
	if !isAgent && !slices.Contains(ofConversation(), spec.Name) {
		return true
	}
	core := s.session.CoreTools()
	return core != nil && toollist.Selection{Core: core}.Includes(spec, false)
}

// ofConversation returns the tools that serve only fettle's own conversation with
// a model and its user.
func ofConversation() []string {
	return []string{
		communicate.AskUser, plan.WriteTodos, plan.EnterPlanMode, plan.ExitPlanMode,
		internaldocs.GetInternalDocs, memory.SaveMemory, catalog.ToolSearch, skills.ActivateSkill,
	}
}

// ofBackground returns the tools for background processes.
func ofBackground() []string {
	return []string{shell.ListBackground, shell.ReadBackground, shell.WriteBackground, shell.StopBackground}
}

// call runs one call through policy, approval and execution.
func (s *served) call(ctx context.Context, name string, args json.RawMessage) tools.Result {
	if t, err := s.session.Registry.Lookup(name); err == nil && !s.serves(t) {
		return tools.Fail(fault.New(fault.ToolNotRegistered, "config.mcpService",
			"The tool "+name+" is not available here, because it needs a conversation that fettle conducts itself.",
			"Use a listed tool, or name this one with --core-tools when the server is started."))
	}
	run := &servedRun{id: bus.NewID(), ctx: ctx, host: host.FromContext(ctx)}
	run.progress.init(run.host, s.session.Now)
	if !s.begin(ctx, run) {
		return tools.Fail(fault.New(fault.NotInitialized, "config.mcpService", "The session has ended.", "Connect again."))
	}
	brought := len(s.session.Tracker.LoadedByAccess())
	resp := s.session.Scheduler.Run(context.WithValue(ctx, servedKey{}, run.id), scheduler.Request{CallID: run.id, Tool: name, Args: args})
	s.flush(ctx)
	run.progress.end()
	last := s.finish(run)
	if len(s.session.Tracker.LoadedByAccess()) != brought {
		s.changes.Tell(mcp.Change{Resources: true})
	}
	return withNotes(fitted(last.explain(resp.Result), s.session.State.ResultBytes()), resp.Notices)
}

// flushTime limits how long the end of a call waits for the call's output.
const flushTime = 5 * time.Second

// flush waits until the output of calls has been sent as progress, on a goroutine
// of the bus.
func (s *served) flush(ctx context.Context) {
	s.mu.Lock()
	output := s.subscribed.output
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	output.Flush(ctx)
}

// begin registers a call, and subscribes to questions and output with the first
// one. It reports whether the service is open.
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

// finish unregisters a completed call, and returns the outcome of its last
// question.
func (s *served) finish(run *servedRun) askOutcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, run.id)
	s.latest = slices.DeleteFunc(s.latest, func(r *servedRun) bool { return r == run })
	return run.lastAsk
}

// of returns the call with an ID. For an ID of another origin, such as a subagent
// or an MCP server, it returns the client's latest call if the session serves
// only this client; otherwise nil.
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

// exactly returns the call with an ID, nil for an ID of another origin.
func (s *served) exactly(id string) *servedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id]
}

// end stops everything that the service has started and waits for it.
func (s *served) end() {
	s.mu.Lock()
	s.closed = true
	sub := s.subscribed
	s.mu.Unlock()
	if sub != nil {
		sub.end()
	}
	s.answering.Wait()
	s.following.end()
}

// watch reports changes of the tools and, with WatchFiles, of the resources.
func (s *served) watch(changed func(mcp.Change)) (stop func()) {
	stopTools := s.session.Changes.subscribe(changed)
	stopOthers := s.changes.subscribe(changed)
	return func() {
		stopTools()
		stopOthers()
	}
}

// withNotes appends notices to the content of a result. Data for programs is
// unchanged.
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

package config

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/internaldocs"
	"github.com/fettle-dev/fettle/core/tools/memory"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// MCPServiceOptions say how a Config serves an MCP client. The zero value serves
// one client that has a session, and leaves the Config open.
type MCPServiceOptions struct {
	// Stateless serves one request of a client that has no session: a Config
	// derived for it, with a message bus of its own and without a session (see
	// Parameters.NoSession), which ends with the service. Nothing that a person
	// approves lasts, and nothing is watched.
	Stateless bool
	// Owned says that the Config serves nobody else: it is closed with the service,
	// and questions that come with no call are this client's.
	Owned bool
	// AllTools serves every registered tool. Otherwise those are left out that only
	// serve a conversation which fettle has itself: ask_user, write_todos,
	// enter_plan_mode, exit_plan_mode, get_internal_docs, save_memory, tool_search
	// and subagents, unless Parameters.CoreTools names them.
	AllTools bool
	// Client is the name by which the client calls itself, "" where it is unknown. It
	// decides how long results may be: [ClientResultBytes], unless Parameters.Limits
	// or the settings do. A Config that serves others too keeps the smallest limit.
	Client string
	// WatchFiles announces changes of instruction files as they happen, once the
	// resources have been listed. It takes one watcher of the operating system's,
	// of which there are not many; without one nothing is announced.
	WatchFiles bool
}

// MCPService returns what serves the tools of c to an MCP client (EX-20). A call
// goes through the scheduler, so that policy decides about it; what it asks of a
// person is put to the client that calls, by [tools.HostOf], and to nobody else.
// Several services of one Config share its file state and its approvals: a client
// that is to have its own gets a Config of its own. The error is of code
// not_initialized.
func (c *Config) MCPService(o MCPServiceOptions) (*mcp.Service, error) {
	owned := o.Owned
	if o.Stateless {
		derived, err := c.Derive(DeriveParameters{NoSession: true, OwnBus: true})
		if err != nil {
			return nil, err
		}
		c, owned = derived, true
	}
	own, err := c.own("MCPService")
	if err != nil {
		if o.Stateless {
			_ = c.Close() // always nil: it has started nothing
		}
		return nil, err
	}
	c.fitClient(own, o.Client, owned)
	s := &served{config: c, session: own, alone: owned, options: o, running: map[string]*servedRun{}, now: c.params().Now}
	if s.now == nil {
		s.now = time.Now
	}
	svc := &mcp.Service{
		Tools: s.tools, Call: s.call, Instructions: s.instructions(),
		Resources: s.resources, Read: s.read,
		Watch: s.watch, Updates: o.WatchFiles,
		Close: func() error {
			s.end()
			if owned {
				return c.Close()
			}
			return nil
		},
	}
	if o.Stateless {
		svc.Watch, svc.Updates = nil, false
	}
	return svc, nil
}

// served is the service of one client.
type served struct {
	config  *Config
	session *session
	alone   bool // the Config is this client's alone
	options MCPServiceOptions
	now     func() time.Time

	answering sync.WaitGroup // goroutines that ask the client

	mu         sync.Mutex
	running    map[string]*servedRun // by call ID
	latest     []*servedRun          // the same, the last one last
	subscribed *subscriptions        // nil until the first call
	closed     bool

	changes broadcastOf[mcp.Change]
	files   fileNews
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

// servedCall returns the ID of the served call that ctx belongs to, "" where
// there is none.
func servedCall(ctx context.Context) string {
	id, _ := ctx.Value(servedKey{}).(string)
	return id
}

// tools lists what is served, in listing order. What a model would be told of
// only when it searches is served like the rest.
func (s *served) tools() []tools.DeclarativeTool {
	all := slices.Clone(s.session.registry.All())
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
	core := s.config.params().CoreTools
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
	if t, err := s.session.registry.Lookup(name); err == nil && !s.serves(t) {
		return tools.Fail(fault.New(fault.ToolNotRegistered, "config.mcpService",
			"The tool "+name+" is not offered here: it serves a conversation that fettle has itself.",
			"Use a tool of the list, or name this one in --core-tools when the server is started."))
	}
	run := &servedRun{id: bus.NewID(), ctx: ctx, host: tools.HostOf(ctx)}
	run.progress.init(run.host, s.now)
	if !s.begin(ctx, run) {
		return tools.Fail(fault.New(fault.NotInitialized, "config.mcpService", "The session has ended.", "Connect again."))
	}
	brought := len(s.session.tracker.Given())
	resp := s.session.scheduler.Run(context.WithValue(ctx, servedKey{}, run.id), scheduler.Request{CallID: run.id, Tool: name, Args: args})
	s.flush(ctx)
	run.progress.end()
	last := s.finish(run)
	if len(s.session.tracker.Given()) != brought {
		s.changes.tell(mcp.Change{Resources: true})
	}
	return withNotes(fitted(last.explain(resp.Result), s.session.state.ResultBytes()), resp.Notices)
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
// client has made, if the Config is this client's alone; else nil.
func (s *served) of(id string) *servedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.running[id]; run != nil {
		return run
	}
	if n := len(s.latest); s.alone && n > 0 {
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
	s.files.end()
}

// watch tells of changes of the tools and, with WatchFiles, of the resources.
func (s *served) watch(changed func(mcp.Change)) (stop func()) {
	stopTools := s.config.toolsChanged.subscribe(func() { changed(mcp.Change{Tools: true}) })
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

package subagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Options configures a [Runner]. Host is required; a zero field elsewhere is its default.
type Options struct {
	Host Host
	// Bus receives the activities, and shows that a call waits for the user. nil: activities are
	// not published, and waits count as running time.
	Bus *bus.MessageBus
	// Depth is the nesting limit of agents, counted from the main conversation. 0 or 1: an agent
	// has no agents among its tools; 2: an agent called by the main conversation may call others,
	// and so on. All runners of a session have the same value; the Host puts the agents' tools into
	// a session's registry.
	Depth int
	// Grace is the time limit of the last turn of a run that ended without a report; 0: 60 s.
	Grace time.Duration
	// MaxReport is the limit of a report for the caller in bytes; 0: 64 KiB.
	MaxReport int
	Now       func() time.Time // current time, for the date; nil: time.Now
	Logger    *slog.Logger     // nil: nothing is logged
}

const (
	defaultGrace     = time.Minute
	defaultMaxReport = 64 << 10
)

// Runner runs agents and makes tools of them. It keeps no state between runs and is safe for
// concurrent use; concurrent runs are independent.
type Runner struct{ o Options }

// NewRunner returns a runner. It panics if o.Host is nil, which is a programming error.
func NewRunner(o Options) *Runner {
	if o.Host == nil {
		panic("subagent: Options.Host is nil")
	}
	o.Depth = max(o.Depth, 1)
	o.Grace = cmp.Or(max(o.Grace, 0), defaultGrace)
	o.MaxReport = cmp.Or(max(o.MaxReport, 0), defaultMaxReport)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Runner{o}
}

// prepared is a definition with its compiled schemas.
type prepared struct {
	Definition
	*schemas
}

// schemas are the schemas of a definition's arguments and report. They are immutable.
type schemas struct {
	input  *tools.Schema
	report *tools.Schema // of complete_task's arguments
	field  string        // name of the argument for the report
	tool   declaration   // declaration of complete_task
}

// prepare validates a definition. The error is of code invalid_config.
func prepare(d Definition) (*prepared, error) {
	switch {
	case d.IsRemote():
		return nil, badDefinition(d, "it is remote, and this runs local agents only")
	case strings.HasPrefix(d.Name, mcpPrefix) || d.Name == completeTask:
		return nil, badDefinition(d, "its name is that of a tool")
	case d.Name != slug(d.Name) || d.Name == "":
		return nil, badDefinition(d, "its name has characters other than a-z, 0-9, \"_\" and \"-\", or is too long")
	case strings.TrimSpace(d.Description) == "":
		return nil, badDefinition(d, "it has no description")
	case strings.TrimSpace(d.Prompt) == "":
		return nil, badDefinition(d, "it has no prompt")
	}
	s, err := schemasOf(d)
	if err != nil {
		return nil, badDefinition(d, err.Error())
	}
	return &prepared{d, s}, nil
}

// schemasOf returns the schemas of a definition. Those of built-in agents are shared, because a
// process may have thousands of sessions.
func schemasOf(d Definition) (*schemas, error) {
	if own, ok := Find(builtIn(), d.Name); ok && d.Source == own.Source && d.Input == nil && d.Output == own.Output {
		all, err := builtInSchemas()
		return all[d.Name], err
	}
	return newSchemas(d)
}

// builtInSchemas are the schemas of the built-in agents, by name.
var builtInSchemas = sync.OnceValues(func() (map[string]*schemas, error) {
	all := map[string]*schemas{}
	for _, d := range builtIn() {
		s, err := newSchemas(d)
		if err != nil {
			return nil, err
		}
		all[d.Name] = s
	}
	return all, nil
})

func newSchemas(d Definition) (*schemas, error) {
	input, err := inputSchema(d)
	if err != nil {
		return nil, err
	}
	s := &schemas{input: input}
	return s, s.prepareReport(d.Output)
}

func badDefinition(d Definition, because string) *fault.Error {
	return fault.New(fault.InvalidConfig, "subagent.define", fmt.Sprintf("The agent %s cannot be used: %s.", quoted(d.Name), strings.TrimSuffix(because, ".")),
		"Correct the agent's definition.")
}

const queryInput = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"The task or question, with everything that the agent needs to know: it sees nothing of this conversation. Name paths in full, and state the expected content of the answer."}},"required":["query"],"additionalProperties":false}`

func inputSchema(d Definition) (*tools.Schema, error) {
	raw := d.Input
	if raw == nil {
		raw = json.RawMessage(queryInput)
	}
	s, err := tools.ParseSchema(d.Name, raw)
	if err != nil {
		return nil, err
	}
	return s, s.Compile()
}

// Tool returns the tool that runs the agent, under the agent's name. Its kind needs no approval,
// because each call of the agent is checked itself. Several runs may be concurrent. The error is of
// code invalid_config.
func (r *Runner) Tool(d Definition) (AgentTool, error) {
	p, err := prepare(d)
	if err != nil {
		return nil, err
	}
	return &agentTool{runner: r, agent: p, spec: tools.Spec{
		Name: d.Name, DisplayName: d.Display(), Description: d.Description, Kind: tools.KindThink,
		Schema: p.input.Raw(), Parallel: true, OutputIsMarkdown: true, StreamsOutput: true,
	}}, nil
}

// agentTool is an agent as a tool. It is immutable.
type agentTool struct {
	runner *Runner
	agent  *prepared
	spec   tools.Spec
}

func (t *agentTool) Spec() tools.Spec { return t.spec }

func (t *agentTool) Agent() *Definition { return &t.agent.Definition }

func (t *agentTool) Build(args json.RawMessage) (tools.ToolInvocation, error) {
	params, err := t.agent.input.Check(args)
	if err != nil {
		return nil, err
	}
	return &invocation{t, params}, nil
}

// invocation is one call of an agent.
type invocation struct {
	tool   *agentTool
	params json.RawMessage
}

func (i *invocation) Params() json.RawMessage { return i.params }

func (i *invocation) Description() string {
	return i.tool.agent.Display() + ": " + escape.Plain(queryOf(i.params), 120)
}

func (i *invocation) Locations() []tools.Location { return nil }

func (i *invocation) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (i *invocation) Execute(ctx context.Context, out tools.Output) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	o := i.tool.runner.run(ctx, i.tool.agent, i.params, out)
	result := o.result()
	if err := ctx.Err(); err != nil && o.Reason != Goal {
		return result, err // the result still reports the changes
	}
	return result, nil
}

// Run runs an agent with these arguments, like its tool, and returns the outcome. The error is of
// code invalid_config or invalid_tool_params; later errors are in the Outcome.
func (r *Runner) Run(ctx context.Context, d Definition, args json.RawMessage) (Outcome, error) {
	p, err := prepare(d)
	if err != nil {
		return Outcome{}, err
	}
	params, err := p.input.Check(args)
	if err != nil {
		return Outcome{}, err
	}
	return r.run(ctx, p, params, nil), nil
}

// values returns the placeholder values of an agent's prompt: its arguments, text as it is and
// anything else as JSON, and the values of the run.
func values(params json.RawMessage, day time.Time, model string) map[string]string {
	all := map[string]string{"today": day.Format("Monday, 2 January 2006"), "model": model}
	var args map[string]json.RawMessage
	if json.Unmarshal(params, &args) != nil {
		return all
	}
	for name, raw := range args {
		all[name] = textOf(raw)
	}
	return all
}

// textOf returns the text of a JSON string, or other JSON unchanged.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// queryOf returns the argument query, or all arguments.
func queryOf(params json.RawMessage) string {
	var args struct{ Query *string }
	if json.Unmarshal(params, &args) == nil && args.Query != nil {
		return *args.Query
	}
	return string(params)
}

var errTimeout = errors.New("subagent: the run timed out")

package acp

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// calls reports the tool calls of a session: each of them once as started, then its
// states and its output, and once its end. It is safe for concurrent use.
type calls struct {
	session *session

	mu       sync.Mutex
	all      map[string]*call // by the id of the call
	repeated int              // calls with an id of an earlier call
}

// call is a tool call as the editor knows it.
type call struct {
	id     string // in the protocol; unique
	final  bool
	status sdk.ToolCallStatus
	output tail
	timer  *time.Timer // sends the latest output; nil: it was sent
}

// Limits on the content of calls.
const (
	maxTitle     = 200                    // characters of a title
	maxOutput    = 64 << 10               // bytes of live output and of a result
	maxRawOutput = 256 << 10              // bytes of the result as the model receives it
	outputPause  = 100 * time.Millisecond // between two updates of the live output
	keptCalls    = 10_000                 // calls whose ids are remembered
)

func newCalls(s *session) *calls { return &calls{session: s, all: map[string]*call{}} }

// announce reports a call, unless it was reported already.
func (c *calls) announce(id, name string, args json.RawMessage, description string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announced(id, name, args, description, "")
}

// announced returns a call, which it reports if it is new. A final call with the same id
// belongs to an earlier turn. It is called under c.mu.
func (c *calls) announced(id, name string, args json.RawMessage, description, subagent string) *call {
	known := c.all[id]
	if known != nil && !known.final {
		return known
	}
	if len(c.all) > keptCalls {
		clear(c.all) // no call is that old
	}
	one := &call{id: id, status: sdk.ToolCallStatusPending}
	if known != nil {
		c.repeated++
		one.id = fmt.Sprintf("%s#%d", id, c.repeated)
	}
	c.all[id] = one
	start := c.session.describe(name, args, description, subagent)
	start.ToolCallId, start.Status = sdk.ToolCallId(one.id), one.status
	c.session.send(sdk.SessionUpdate{ToolCall: &start})
	return one
}

// wire returns the id of a call in the protocol.
func (c *calls) wire(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.all[id]; one != nil {
		return one.id
	}
	return id
}

// state reports the state of a call, as the bus has it.
func (c *calls) state(s bus.ToolCallState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[s.CallID]
	if one != nil && one.final {
		return // an older state: a new call with this id is announced first
	}
	if one == nil {
		one = c.announced(s.CallID, s.Name, s.Args, s.Description, s.Subagent)
	}
	switch {
	case s.Status == bus.StatusExecuting && one.status == sdk.ToolCallStatusPending:
		one.status = sdk.ToolCallStatusInProgress
		c.update(one, sdk.SessionToolCallUpdate{Status: sdk.Ptr(one.status)})
	case s.Status.Final():
		var shown tools.Display
		_ = json.Unmarshal(s.Display, &shown) // a call without a result has none
		c.end(one, ending{ok: s.Status == bus.StatusSuccess, preview: s.Preview, shown: shown, failure: s.Error})
	}
}

// result reports the response to a call.
func (c *calls) result(id string, r *scheduler.Response) {
	if r == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Result.ReturnDisplay.Todo != nil && r.Status == scheduler.StatusSuccess {
		c.session.send(planOf(*r.Result.ReturnDisplay.Todo))
	}
	one := c.all[id]
	if one == nil {
		return
	}
	e := ending{ok: r.Status == scheduler.StatusSuccess, preview: r.Preview, shown: r.Result.ReturnDisplay, notices: r.Notices, raw: r.FunctionResponse()}
	if f := r.Result.Error; f != nil {
		e.failure = &bus.Failure{Type: string(f.Code), Message: f.Message, Remedy: f.Remedy}
	}
	if one.final { // the bus was faster
		c.complete(one, e)
		return
	}
	c.end(one, e)
}

// complete adds to an ended call the parts of a response that the bus does not report. It is called under c.mu.
func (c *calls) complete(one *call, e ending) {
	u := sdk.SessionToolCallUpdate{}
	if raw := rawOf(e); raw != nil {
		u.RawOutput = raw
	}
	if len(e.notices) > 0 {
		u.Content = contentOf(e, one.output.text())
	}
	if u.RawOutput != nil || u.Content != nil {
		c.update(one, u)
	}
}

// rawOf returns the result as the model receives it, nil if it is unknown or too long.
func rawOf(e ending) json.RawMessage {
	if len(e.raw) == 0 || len(e.raw) > maxRawOutput {
		return nil
	}
	return e.raw
}

// settle ends the calls that no response has ended, because their turn has.
func (c *calls) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		c.end(one, ending{failure: &bus.Failure{Message: "The turn ended before the call did."}})
	}
}

// ending is the end of a call.
type ending struct {
	ok      bool
	preview bool
	shown   tools.Display
	failure *bus.Failure
	notices []string
	raw     json.RawMessage // as the model receives it; nil: unknown
}

// end reports the end of a call. It is called under c.mu.
func (c *calls) end(one *call, e ending) {
	if one.final {
		return
	}
	one.final = true
	if one.timer != nil {
		one.timer.Stop()
	}
	one.status = sdk.ToolCallStatusCompleted
	if !e.ok {
		one.status = sdk.ToolCallStatusFailed
	}
	u := sdk.SessionToolCallUpdate{Status: sdk.Ptr(one.status), Content: contentOf(e, one.output.text())}
	if d := e.shown.Diff; d != nil {
		u.Locations = []sdk.ToolCallLocation{{Path: d.FilePath}}
	}
	if raw := rawOf(e); raw != nil {
		u.RawOutput = raw
	}
	c.update(one, u)
}

// update sends an update of a call.
func (c *calls) update(one *call, u sdk.SessionToolCallUpdate) {
	u.ToolCallId = sdk.ToolCallId(one.id)
	c.session.send(sdk.SessionUpdate{ToolCallUpdate: &u})
}

// print adds live output of a call. Output that comes fast is sent together.
func (c *calls) print(id, chunk string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[id]
	if one == nil || one.final {
		return
	}
	one.output.add(chunk)
	if one.timer == nil {
		one.timer = time.AfterFunc(outputPause, func() { c.flush(one) })
	}
}

// flush sends the live output of a call.
func (c *calls) flush(one *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.timer = nil
	if !one.final {
		c.update(one, sdk.SessionToolCallUpdate{Content: []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced(one.output.text())))}})
	}
}

// stop ends the timers.
func (c *calls) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		one.final = true
		if one.timer != nil {
			one.timer.Stop()
		}
	}
}

// describe returns the start of a call: its title, kind, locations and arguments.
func (s *session) describe(name string, args json.RawMessage, description, subagent string) sdk.SessionUpdateToolCall {
	start := sdk.SessionUpdateToolCall{Title: name, Kind: sdk.ToolKindOther}
	if json.Valid(args) {
		start.RawInput = args
	}
	tool, err := s.host.Tool(name)
	if err == nil {
		spec := tool.Spec()
		start.Title, start.Kind = spec.Display(), kindOf(spec)
		_ = tools.Protect(name, "describe", func() error { // a call that cannot be built has no description
			inv, err := tool.Build(args)
			if err != nil {
				return err
			}
			if description == "" {
				description = inv.Description()
			}
			for _, l := range inv.Locations() {
				start.Locations = append(start.Locations, locationOf(l))
			}
			return nil
		})
	}
	if description != "" {
		start.Title += ": " + description
	}
	if subagent != "" {
		start.Title = "[" + subagent + "] " + start.Title
	}
	start.Title = escape.Clip(display.Line(start.Title), maxTitle)
	return start
}

// locationOf converts a location. The protocol counts lines from 1.
func locationOf(l tools.Location) sdk.ToolCallLocation {
	at := sdk.ToolCallLocation{Path: l.Path}
	if l.Line > 0 {
		at.Line = sdk.Ptr(l.Line + 1)
	}
	return at
}

// kindOf returns the kind of a tool in the protocol.
func kindOf(spec tools.Spec) sdk.ToolKind {
	switch spec.Kind {
	case tools.KindRead, tools.KindEdit, tools.KindDelete, tools.KindMove, tools.KindSearch, tools.KindExecute, tools.KindThink, tools.KindFetch:
		return sdk.ToolKind(spec.Kind) // the names are the same
	case tools.KindCommunicate, tools.KindOther:
	}
	if spec.Name == "enter_plan_mode" || spec.Name == "exit_plan_mode" {
		return sdk.ToolKindSwitchMode
	}
	return sdk.ToolKindOther
}

// tail keeps the end of an output.
type tail struct {
	filter  display.ANSIFilter
	kept    string
	dropped bool
}

func (t *tail) add(chunk string) {
	t.kept += t.filter.Filter(chunk)
	if over := len(t.kept) - maxOutput; over > maxOutput/4 {
		t.kept, t.dropped = escape.Tail(t.kept, maxOutput), true
	}
}

func (t *tail) text() string {
	if t.dropped {
		return "[the beginning is omitted]\n" + t.kept
	}
	return t.kept
}

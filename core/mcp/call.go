package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// run runs one call. The scheduler has already applied the policy and obtained
// any approval.
func (r *remote) run(ctx context.Context, args json.RawMessage, out tools.Output) (tools.Result, error) {
	relay := &relay{host: host.FromContext(ctx), out: out}
	defer relay.close()
	var answer CallResult
	err := r.server.request(ctx, "call "+r.name, "its tool "+quoted(r.name), func(ctx context.Context, session Session) (err error) {
		answer, err = session.Call(ctx, r.name, args, relay.progress)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		return tools.Result{}, err
	}
	return r.result(answer), nil
}

// relay forwards the progress notifications of a running call.
type relay struct {
	host host.Host
	out  tools.Output

	mu     sync.Mutex
	closed bool
}

func (r *relay) progress(p host.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	p.Message = escape.Plain(p.Message, 500)
	r.host.Progress(p)
	r.out.Write(progressLine(p) + "\n")
}

// close stops the relay: a tool reports no progress after it has returned.
func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// progressLine formats progress for display, for example "3/10 reading".
func progressLine(p host.Progress) string {
	number := func(f float64) string {
		if math.Abs(f) >= 1e15 {
			return strconv.FormatFloat(f, 'g', 6, 64)
		}
		return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
	}
	line := number(p.Done)
	if p.Total > 0 {
		line += "/" + number(p.Total)
	}
	if p.Message != "" {
		line += " " + p.Message
	}
	return line
}

// result converts an answer into the results for the model and for display.
func (r *remote) result(a CallResult) tools.Result {
	s := r.server
	render := newRendering(s.m.o.maxText, maxData)
	for _, p := range a.Content {
		render.part(p)
	}
	result := tools.Result{}
	if len(a.Structured) > 0 && string(a.Structured) != "null" {
		if !a.IsError {
			result.Structured = r.promised(a.Structured, render)
		}
		if !sameAs(a.Content, a.Structured) {
			render.text(string(a.Structured), "")
		}
	}
	if result.Structured == nil && r.output != nil && !a.IsError && len(a.Structured) == 0 {
		render.notes = append(render.notes, "It has no structured content, although the tool declares it.")
	}
	result.LLMContent = tools.Content{Parts: render.content()}
	result.ReturnDisplay = tools.TextDisplay(render.display())
	if a.IsError {
		return result.WithError(fault.New(fault.MCPToolError, "mcp.call",
			fmt.Sprintf("The tool %s of the MCP server %s reports an error; its answer says which.", quoted(r.name), quoted(s.Name)),
			"Read the answer. Change the arguments, or continue without the tool."))
	}
	return result
}

// promised returns structured content that matches the tool's output schema.
// Content that does not match is withheld from programs, and a note reports that.
func (r *remote) promised(structured json.RawMessage, render *rendering) json.RawMessage {
	switch {
	case !json.Valid(structured):
		render.notes = append(render.notes, "Its structured content is not valid JSON.")
		return nil
	case r.output == nil:
		return structured
	}
	if err := r.output.Fits(structured); err != nil {
		render.notes = append(render.notes, "Its structured content does not fit the output schema of the tool:\n"+tools.Untrusted(escape.Plain(err.Error(), 500)))
		return nil
	}
	return structured
}

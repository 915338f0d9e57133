package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
)

// fromClient handles a line of the client; nil is one beyond the limit.
func (g *gateway) fromClient(line []byte) {
	switch {
	case line == nil:
		g.write(failure(nil, codeRequest, "The message is larger than the limit of fettle-guard."))
		return
	case line[0] == '[': // a batch, as in 2025-03-26: its messages are answered one by one
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) == nil && len(batch) > 0 {
			for _, one := range batch {
				g.clientMessage(bytes.Clone(one))
			}
			return
		}
	}
	g.clientMessage(line)
}

func (g *gateway) clientMessage(raw []byte) {
	m, err := parse(raw)
	if err != nil {
		code := codeRequest
		if !json.Valid(raw) {
			code = codeParse
		}
		g.write(failure(nil, code, "The message is not a JSON-RPC message: "+err.Error()+"."))
		return
	}
	if why := m.unclear(); why != "" {
		if m.method != "" && m.id == nil {
			g.log("a notification is dropped: " + why)
			return
		}
		g.write(failure(m.id, codeRequest, "The message is ambiguous: "+visible(why)+"."))
		return
	}
	switch {
	case m.method == "" && g.answered(m):
	case m.method == methodCancelled:
		g.cancelled(m)
	case m.method == methodCall:
		g.call(m)
	case !m.isRequest():
		g.up.send(m)
	default:
		if m.method == methodInitialize {
			g.mu.Lock()
			g.capabilities = m.params()["capabilities"]
			g.mu.Unlock()
		}
		p := &pending{revision: g.revisionOf(m)}
		if !g.add(m, p) {
			g.inUse(m)
			return
		}
		g.forward(m, p)
	}
}

func (g *gateway) inUse(m *message) {
	g.write(failure(m.id, codeRequest, "The id of the request is in use."))
}

// answered passes the answer to a question of the gateway on.
func (g *gateway) answered(m *message) bool {
	id := text(m.id)
	g.mu.Lock()
	waiting := g.questions[id]
	delete(g.questions, id)
	g.mu.Unlock()
	if waiting == nil {
		return strings.HasPrefix(id, "fettle-guard-") // of a question that has ended
	}
	waiting <- m.fields["result"]
	return true
}

// cancelled ends a request that the client no longer needs.
func (g *gateway) cancelled(m *message) {
	key := idKey(m.params()["requestId"])
	g.mu.Lock()
	p := g.pending[key]
	asked := p != nil && p.cancel != nil
	g.mu.Unlock()
	if p != nil {
		g.take(key)
		g.abandon(p, "cancelled")
	}
	if !asked { // otherwise the server does not know the request
		g.up.send(m)
	}
}

// meta returns a member of a request's _meta that the protocol defines.
func meta(m *message, name string) json.RawMessage {
	return members(m.params()["_meta"])["io.modelcontextprotocol/"+name]
}

// revisionOf returns the revision of a request.
func (g *gateway) revisionOf(m *message) string {
	if v := text(meta(m, "protocolVersion")); v != "" {
		return v
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.revision
}

// call decides about a call.
func (g *gateway) call(m *message) {
	params := m.params()
	c := &call{tool: text(params["name"]), args: params["arguments"]}
	if len(c.args) == 0 || string(c.args) == "null" {
		c.args = json.RawMessage("{}")
	}
	if why := malformed(c); why != "" {
		if m.id != nil {
			g.write(toolError(m.id, "The call was not run: "+why+".", g.revisionOf(m)))
		}
		return
	}
	p := &pending{revision: g.revisionOf(m), call: c, entry: g.record.begin(*c)}
	capabilities := meta(m, "clientCapabilities")
	if p.revision < modern {
		g.mu.Lock()
		capabilities = g.capabilities
		g.mu.Unlock()
	}
	c.headless = !asks(capabilities) || p.revision < "2025-06-18" || m.id == nil
	if m.id != nil && !g.add(m, p) {
		g.inUse(m)
		return
	}
	if m.id != nil && g.tools.isSearch(c.tool) {
		g.take(m.key())
		g.record.end(p.entry, "described", 0)
		g.write(g.tools.find(m.id, c.args, p.revision))
		return
	}
	d := g.judge.decide(g.ctx, *c, g.tools.annotations(c.tool))
	if hidden(c.tool) {
		d = denied("Its name contains invisible characters.")
	}
	p.entry.decided(d)
	switch {
	case d.Decision == policy.Allow:
		g.forward(m, p)
	case d.Decision != policy.AskUser:
		g.refuse(m, p, g.judge.refusal(*c, d, ""))
	case g.repeats(c, params):
		g.forward(m, p)
	case c.headless:
		g.refuse(m, p, g.judge.refusal(*c, d, noApprover(c.tool)))
	case p.revision >= modern:
		g.askAgain(m, p, d)
	default:
		g.ask(m, p, d)
	}
}

// malformed describes the mistake in a call about which no policy can decide.
func malformed(c *call) string {
	switch {
	case c.tool == "":
		return "it has no name"
	case members(c.args) == nil:
		return "its arguments are not an object"
	}
	return ""
}

// refuse answers a call that is not run.
func (g *gateway) refuse(m *message, p *pending, why string) {
	if m.id != nil && g.take(m.key()) != p {
		return // it was cancelled
	}
	g.record.end(p.entry, "denied", 0)
	if m.id != nil {
		g.write(toolError(m.id, why, p.revision))
	}
}

// ask asks the user with a request to the client, and then runs or refuses the
// call.
func (g *gateway) ask(m *message, p *pending, d policy.Decision) {
	f := g.judge.newForm(*p.call, d)
	ctx, cancel := context.WithCancel(g.ctx)
	id, answer := newID("question"), make(chan []byte, 1)
	g.mu.Lock()
	p.cancel = cancel
	g.questions[id] = answer
	g.mu.Unlock()
	g.asking.Go(func() {
		defer cancel()
		g.write(request(id, methodElicit, f.params(p.revision)).raw)
		select {
		case given := <-answer:
			g.decided(m, p, f, given, d)
		case <-ctx.Done():
			g.mu.Lock()
			delete(g.questions, id)
			g.mu.Unlock()
			if g.ctx.Err() == nil { // the client no longer waits for the call
				g.write(request("", methodCancelled, map[string]any{"requestId": id, "reason": "The call was cancelled."}).raw)
			}
		}
	})
}

// decided runs or refuses a call after the user's answer.
func (g *gateway) decided(m *message, p *pending, f form, given json.RawMessage, d policy.Decision) {
	o, why := f.answer(given)
	p.entry.answered(o.Name)
	if o.Outcome == bus.Cancel {
		d.Remedy = ""
		g.refuse(m, p, g.judge.refusal(*p.call, d, why))
		return
	}
	if o.pattern != "" {
		g.judge.remember(o.pattern)
	}
	g.forward(m, p)
}

// openQuestion is a question of a revision without requests of servers: the client
// repeats the call with the answer.
type openQuestion struct {
	form   form
	digest string
	kept   map[string]json.RawMessage // parameters of the first call that the repetition replaces
}

// Limits on what is kept for repeated calls.
const maxKept = 1000

// answerKey is the key of the question within its request.
const answerKey = "fettle-guard-approval"

// askAgain asks the user by a result that requests input, or reads the answer in a
// repeated call.
func (g *gateway) askAgain(m *message, p *pending, d policy.Decision) {
	params := maps.Clone(m.params())
	state := text(params["requestState"])
	g.mu.Lock()
	q, known := g.open[state]
	delete(g.open, state)
	g.mu.Unlock()
	if known && q.digest == p.call.digest() {
		given := members(params["inputResponses"])[answerKey]
		delete(params, "inputResponses")
		delete(params, "requestState")
		for name, value := range q.kept {
			params[name] = value
		}
		g.decided(m.with("params", encode(params)), p, q.form, given, d)
		return
	}
	q = openQuestion{form: g.judge.newForm(*p.call, d), digest: p.call.digest(), kept: map[string]json.RawMessage{}}
	for _, name := range []string{"inputResponses", "requestState"} {
		if value, ok := params[name]; ok {
			q.kept[name] = value
		}
	}
	state = newID("state")
	g.mu.Lock()
	if len(g.open) >= maxKept { // their clients have given up
		clear(g.open)
	}
	g.open[state] = q
	g.mu.Unlock()
	if g.take(m.key()) != p {
		return
	}
	g.record.end(p.entry, "asked", 0)
	g.write(result(m.id, map[string]any{
		"resultType": "input_required", "requestState": state,
		"inputRequests": map[string]any{answerKey: map[string]any{"method": methodElicit, "params": q.form.params(p.revision)}},
	}))
}

// digest identifies a call.
func (c call) digest() string {
	sum := sha256.Sum256(encode([]any{c.tool, c.args}))
	return hex.EncodeToString(sum[:])
}

// repeats reports whether the call continues one that was approved and that the
// server has asked to repeat with input.
func (g *gateway) repeats(c *call, params map[string]json.RawMessage) bool {
	if params["inputResponses"] == nil && params["requestState"] == nil {
		return false
	}
	key := c.digest() + " " + text(params["requestState"])
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.continued[key]
	delete(g.continued, key)
	return known
}

// continues records that the server has asked to repeat an approved call.
func (g *gateway) continues(c *call, result map[string]json.RawMessage) {
	if text(result["resultType"]) != "input_required" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.continued) >= maxKept {
		clear(g.continued)
	}
	g.continued[c.digest()+" "+text(result["requestState"])] = true
}

// Package gateway stands between an MCP client and one MCP server. It decides about
// each call of a tool by the policy, asks the user through the client, escapes and
// masks the server's texts, and records calls. Everything else passes through it.
//
// It works on messages and not as a server and a client of the SDK: an SDK decodes
// into its own types and so loses unknown methods, members, numbers and orders, and
// it negotiates its own revision of the protocol. Here client and server negotiate
// with each other. The gateway reads initialize, tools/list and tools/call, adds
// requests of its own with ids that no server uses, and forwards all other messages
// byte by byte, apart from escaped characters.
//
// It fails closed: a message that a server could read otherwise than the gateway is
// refused, and an error of the policy denies.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options configure a gateway.
type Options struct {
	Server  string   // name of the server in rules, see mcp.CheckServerName
	Decider Decider  // decides about calls
	Grants  []string // tools that need no approval unless a rule requires it: NAME, PREFIX* or *
	Defer   bool     // declare tools by name only, with a tool that describes them
	// Hide masks secrets in records, and in results if MaskResults is set.
	Hide        func(string) string
	MaskResults bool
	Record      io.Writer     // receives a JSON line for each call; nil: none
	Timeout     time.Duration // of one request, without the time of questions; 0: 10 min
	MaxMessage  int           // bytes of one message; 0: 65 MiB
	Log         io.Writer     // receives lines about dropped messages
}

// fill sets the defaults.
func (o *Options) fill() {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.MaxMessage = cmp.Or(o.MaxMessage, 65<<20)
}

// upstream is the connection with the server.
type upstream interface {
	// send passes a message on in the order of the calls. It may wait for the
	// server to read, and not for the response.
	send(m *message)
	// receive calls use with each message of the server until the connection ends.
	receive(use func(raw []byte))
	// finish states that the client sends nothing more.
	finish()
	// close ends the connection and everything that was started for it.
	close()
	// why returns the reason why the connection has ended.
	why() *fault.Error
}

// linger is how long requests may be answered after the client has closed its
// output.
const linger = 10 * time.Second

// gateway is one connection of a client with a server.
type gateway struct {
	o       Options
	judge   *judge
	cleaner cleaner
	up      upstream
	tools   *catalogue
	record  *recorder
	ctx     context.Context // of questions; ends with the connection
	asking  sync.WaitGroup

	outMu  sync.Mutex
	out    io.Writer
	broken chan struct{} // closed when out cannot be written

	mu           sync.Mutex
	pending      map[string]*pending     // requests of the client, by key
	idle         chan struct{}           // receives a value when a request has ended
	questions    map[string]chan []byte  // own requests, by id
	open         map[string]openQuestion // questions that a repeated call answers, by requestState
	continued    map[string]bool         // calls that the server has asked to repeat, by digest
	revision     string                  // negotiated by initialize; "": not yet
	capabilities json.RawMessage         // of the client, in initialize
}

// pending is a request of the client without a response.
type pending struct {
	id       json.RawMessage
	method   string
	revision string
	call     *call  // of tools/call
	entry    *entry // its record
	timer    *time.Timer
	cancel   context.CancelFunc // of its question; nil: it has been sent to the server
}

// run serves a client until it disconnects, which is no error, or the server ends.
func run(ctx context.Context, o Options, up upstream, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.fill()
	g := &gateway{
		o: o, judge: &judge{decider: o.Decider, server: o.Server, grants: o.Grants}, up: up, ctx: ctx, out: out, tools: newCatalogue(o.Defer),
		record: &recorder{out: o.Record, hide: o.Hide, server: o.Server}, broken: make(chan struct{}),
		pending: map[string]*pending{}, idle: make(chan struct{}, 1), questions: map[string]chan []byte{},
		open: map[string]openQuestion{}, continued: map[string]bool{},
	}
	if o.MaskResults {
		g.cleaner.hide = o.Hide
	}
	if r, ok := up.(*remote); ok {
		r.bound = g.tools.headers
	}
	client, server := make(chan struct{}), make(chan struct{})
	go func() { // ends with in, which may be later
		defer close(client)
		eachLine(in, o.MaxMessage, func(line []byte) bool {
			g.fromClient(line)
			return ctx.Err() == nil
		})
	}()
	go func() {
		defer close(server)
		up.receive(g.fromServer)
	}()
	var failed error
	select {
	case <-client:
		up.finish()
		g.settle(ctx, server)
	case <-server:
		failed = g.lost()
	case <-g.broken:
	case <-ctx.Done():
	}
	cancel()
	up.close()
	<-server
	g.asking.Wait()
	return errors.Join(failed, g.record.failure())
}

// settle waits for the responses to the client's last requests.
func (g *gateway) settle(ctx context.Context, server <-chan struct{}) {
	limit := time.NewTimer(linger)
	defer limit.Stop()
	for {
		if g.sent() == 0 { // no client is left to answer questions
			return
		}
		select {
		case <-g.idle:
		case <-server:
			_ = g.lost() // the client has gone as well
			return
		case <-g.broken:
			return
		case <-ctx.Done():
			return
		case <-limit.C:
			return
		}
	}
}

// sent returns the number of requests that the server has not answered.
func (g *gateway) sent() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, p := range g.pending {
		if p.cancel == nil {
			n++
		}
	}
	return n
}

// lost answers all open requests after the server has ended.
func (g *gateway) lost() error {
	f := g.up.why()
	g.mu.Lock()
	all := g.pending
	g.pending = map[string]*pending{}
	g.mu.Unlock()
	for _, p := range all {
		g.abandon(p, "lost")
		g.write(failure(p.id, codeServer, visible(f.Message+" "+f.Remedy)))
	}
	return f
}

// abandon ends the question and the clock of a request.
func (g *gateway) abandon(p *pending, how string) {
	g.mu.Lock()
	timer, cancel := p.timer, p.cancel
	g.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if cancel != nil {
		cancel()
	}
	g.record.end(p.entry, how, 0)
}

// write sends a line to the client.
func (g *gateway) write(raw []byte) {
	g.outMu.Lock()
	defer g.outMu.Unlock()
	if _, err := g.out.Write(append(oneLine(raw), '\n')); err != nil {
		select {
		case <-g.broken:
		default:
			close(g.broken)
		}
	}
}

func (g *gateway) log(line string) {
	if g.o.Log != nil {
		_, _ = io.WriteString(g.o.Log, "fettle-guard: "+line+"\n") // a closed log changes nothing
	}
}

// add begins a request of the client. It returns false if its id is in use.
func (g *gateway) add(m *message, p *pending) bool {
	p.id, p.method = m.id, m.method
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending[m.key()] != nil {
		return false
	}
	g.pending[m.key()] = p
	return true
}

// take ends the request with a key. It returns nil if there is none.
func (g *gateway) take(key string) *pending {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.pending[key]
	delete(g.pending, key)
	select {
	case g.idle <- struct{}{}:
	default:
	}
	return p
}

// forward sends a request to the server and starts its clock, unless it has ended.
func (g *gateway) forward(m *message, p *pending) {
	if m.id != nil {
		key := m.key()
		g.mu.Lock()
		same := g.pending[key] == p
		if same {
			p.cancel = nil
		}
		if same && m.method != methodListen { // its response is the end of the subscription
			p.timer = time.AfterFunc(g.o.Timeout, func() { g.late(key, p) })
		}
		g.mu.Unlock()
		if !same {
			return
		}
	}
	g.up.send(m)
}

// late ends a request that the server has not answered in time.
func (g *gateway) late(key string, p *pending) {
	g.mu.Lock()
	same := g.pending[key] == p
	g.mu.Unlock()
	if !same {
		return
	}
	g.take(key)
	g.record.end(p.entry, "timeout", 0)
	g.up.send(request("", methodCancelled, map[string]any{"requestId": p.id, "reason": "timeout"}))
	g.write(failure(p.id, codeServer, "The MCP server did not answer "+visible(p.method)+" in "+g.o.Timeout.String()+". Try again, or set a longer --timeout of fettle-guard mcp."))
}

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/tools/host"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchange is one request and its answer. In revision 2026-07-28 a run may take
// several consecutive exchanges.
type exchange struct {
	s      *session // that received the request
	ctx    context.Context
	conn   *sdk.ServerSession
	modern bool // revision 2026-07-28 or later
	parts  bool // revision 2025-11-25, in which a server may end a stream before its answer
	caps   *sdk.ClientCapabilities
	token  any // for progress; nil: not requested
	part   func(sdk.CloseSSEStreamArgs)
	given  sdk.InputResponseMap
	state  string
	binding
}

// binding identifies the request that may continue a run.
type binding struct {
	method, name string
	args         json.RawMessage
}

// exchangeOf returns the exchange of a request.
func exchangeOf[P sdk.RequestParams](s *session, ctx context.Context, r *sdk.ServerRequest[P], b binding, given sdk.InputResponseMap, state string) *exchange {
	x := &exchange{
		s: s, ctx: ctx, conn: r.Session, binding: b, given: given, state: state,
		modern: r.ProtocolVersion() >= revision2026, parts: r.ProtocolVersion() == revision2025, caps: r.ClientCapabilities(), token: r.Params.GetProgressToken(),
	}
	if r.Extra != nil {
		x.part = r.Extra.CloseSSEStream
	}
	return x
}

// outcome is the result of a run.
type outcome struct {
	res sdk.Result
	err error
}

// run is the work for one request of a client, for example a call. While it waits
// for answers it outlives the request that began it.
type run struct {
	s      *session // whose Service does the work
	cancel context.CancelFunc
	host   *clientHost
	asked  chan *inquiry // questions from the host
	done   chan struct{}
	outcome
}

func (s *session) callTool(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	p := r.Params
	args := p.Arguments
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	x := exchangeOf(s, ctx, r, binding{"tools/call", p.Name, args}, p.InputResponses, p.RequestState)
	return s.answer(x, r.ClientInfo(), func(ctx context.Context, svc *mcpservice.Service) (sdk.Result, error) {
		spec, ok := s.spec(svc, p.Name)
		if !ok {
			return nil, errInvalid(fmt.Sprintf("Unknown tool %q; tools/list lists the tools.", clip(p.Name)))
		}
		if s.unbound(p.Name, spec, x) {
			return nil, &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "The headers of the request cannot be compared with the arguments of the call; spell the keys of the request as the protocol does, each once."}
		}
		res := svc.Call(ctx, p.Name, args)
		switch f := res.Error; {
		case f == nil:
		case f.Code == fault.ToolNotRegistered && ctx.Err() == nil:
			return nil, f // it was removed after it was listed
		case x.modern:
			// A tool that returns this error unchanged requires the capability. A
			// tool that wraps it has a message for the model.
			if l, ok := f.Err.(lacking); ok { //nolint:errorlint // not of what it was made from
				return nil, lacks(l, f)
			}
		}
		res, structured := s.fulfil(res, spec, x.modern)
		return result(res, structured, x.modern), nil
	})
}

func (s *session) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (sdk.Result, error) {
	p := r.Params
	x := exchangeOf(s, ctx, r, binding{"resources/read", p.URI, nil}, p.InputResponses, p.RequestState)
	return s.answer(x, r.ClientInfo(), func(ctx context.Context, svc *mcpservice.Service) (sdk.Result, error) {
		if svc.Read == nil {
			return nil, errNotOffered("resources/read")
		}
		held, err := svc.Read(ctx, p.URI)
		if f := faultOf(err); f != nil && f.Code == fault.FileNotFound {
			return nil, notFound(p.URI, x.modern, f)
		}
		if err != nil {
			return nil, err
		}
		res := fresh[sdk.ReadResourceResult](x.modern, false)
		res.Contents, res.CacheScope = []*sdk.ResourceContents{}, "private"
		for _, h := range held {
			h.URI = cmp.Or(h.URI, p.URI)
			res.Contents = append(res.Contents, resource(h))
		}
		return res, nil
	})
}

func (s *session) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (sdk.Result, error) {
	p := r.Params
	args, err := json.Marshal(p.Arguments)
	if err != nil {
		return nil, err
	}
	x := exchangeOf(s, ctx, r, binding{"prompts/get", p.Name, args}, p.InputResponses, p.RequestState)
	return s.answer(x, r.ClientInfo(), func(ctx context.Context, svc *mcpservice.Service) (sdk.Result, error) {
		if svc.Prompt == nil {
			return nil, errNotOffered("prompts/get")
		}
		filled, err := svc.Prompt(ctx, p.Name, p.Arguments)
		if err != nil {
			return nil, err
		}
		res := fresh[sdk.GetPromptResult](x.modern, false)
		res.Description, res.Messages = filled.Description, []*sdk.PromptMessage{}
		for _, m := range filled.Messages {
			for _, c := range contents(m.Content.Parts) { // a message of the protocol has one content
				res.Messages = append(res.Messages, &sdk.PromptMessage{Role: sdk.Role(m.Role), Content: c})
			}
		}
		return res, nil
	})
}

// answer runs work for a request, or continues the run that the request has
// answers for.
func (s *session) answer(x *exchange, who *sdk.Implementation, work func(context.Context, *mcpservice.Service) (sdk.Result, error)) (sdk.Result, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-x.ctx.Done():
		return nil, errCancelled
	case <-s.ctx.Done():
		return nil, errEnded
	}
	if x.modern && x.state != "" {
		return s.resume(x)
	}
	svc, err := s.service(x.ctx, who)
	if err != nil {
		return nil, err
	}
	r, err := s.start(x, svc, work)
	if err != nil {
		return nil, err
	}
	return r.await(x)
}

// start begins a run. Only the runs of revision 2026-07-28 outlive their request;
// others are complete when start returns, unless the end of their request is
// reported by gone.
func (s *session) start(x *exchange, svc *mcpservice.Service, work func(context.Context, *mcpservice.Service) (sdk.Result, error)) (*run, error) {
	if !s.engage() {
		return nil, errEnded
	}
	s.mu.Lock()
	s.refs++
	s.mu.Unlock()
	r := &run{s: s, asked: make(chan *inquiry), done: make(chan struct{})}
	// The work ends with its session, or when its request is given up.
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.ctx))
	stop := context.AfterFunc(s.ctx, cancel)
	r.cancel = cancel
	r.host = newHost(r, x, ctx.Done())
	do := func() {
		defer s.work.Done()
		defer close(r.done)
		defer cancel()
		defer stop()
		defer func() {
			if v := recover(); v != nil {
				s.srv.log.Error("a call panicked", "method", x.method, "name", x.name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				r.outcome = outcome{nil, errInternal}
			}
		}()
		growStack()
		r.res, r.err = work(host.NewContext(ctx, r.host), svc)
	}
	if x.modern || s.gone != nil {
		go do()
		return r, nil
	}
	defer context.AfterFunc(x.ctx, cancel)() // as await does
	do()
	return r, nil
}

// growStack makes room on the stack of a new goroutine for the work of a call. Otherwise the stack is copied several times
// while it grows.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room)
}

// await returns the outcome of the run, or its first questions. It cancels and
// awaits a run whose client has disconnected or cancelled.
func (r *run) await(x *exchange) (sdk.Result, error) {
	select {
	case <-r.done:
		return r.finish(x)
	case q := <-r.asked:
		return r.wait(x, q)
	case <-x.ctx.Done():
	case <-x.s.gone:
	}
	r.cancel()
	<-r.done
	return r.finish(x)
}

// finish sends the queued notifications of the run, and returns its outcome.
func (r *run) finish(x *exchange) (sdk.Result, error) {
	r.host.leave()
	r.s.release()
	return r.res, r.err
}

// clip shortens a name received from a client for a message to it.
func clip(name string) string { return escape.Clip(valid(name), 100) }

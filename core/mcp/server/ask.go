package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 sampling and roots are deprecated since revision 2026-07-28, and part of the protocol

// answerable reports whether a client can answer q, and returns the capability
// that this requires.
func answerable(caps *sdk.ClientCapabilities, q host.Question) (capability string, ok bool) {
	if caps == nil {
		caps = &sdk.ClientCapabilities{}
	}
	switch {
	case q.Elicit != nil:
		e := caps.Elicitation
		if q.Elicit.URL != "" {
			return "elicitation", e != nil && e.URL != nil
		}
		return "elicitation", e != nil && (e.Form != nil || e.URL == nil) // neither means form
	case q.Sample != nil:
		return "sampling", caps.Sampling != nil
	case q.Roots != nil:
		return "roots", caps.RootsV2 != nil
	}
	return "", false
}

// params converts q into a request of the protocol.
func params(q host.Question) sdk.InputRequest {
	switch {
	case q.Elicit != nil:
		p := &sdk.ElicitParams{Mode: "form", Message: q.Elicit.Message}
		switch {
		case q.Elicit.URL != "":
			p.Mode, p.URL, p.ElicitationID = "url", q.Elicit.URL, q.Elicit.ID
		case len(q.Elicit.Schema) > 0:
			p.RequestedSchema = q.Elicit.Schema
		default:
			p.RequestedSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		return p
	case q.Sample != nil:
		p := &sdk.CreateMessageWithToolsParams{SystemPrompt: q.Sample.SystemPrompt, MaxTokens: int64(q.Sample.MaxTokens), Messages: []*sdk.SamplingMessageV2{}}
		for _, m := range q.Sample.Messages {
			for _, c := range contents(m.Content.Parts) { // one content per message, as in all revisions
				p.Messages = append(p.Messages, &sdk.SamplingMessageV2{Role: sdk.Role(m.Role), Content: []sdk.Content{c}})
			}
		}
		return p
	}
	return &sdk.ListRootsParams{}
}

// request sends a request to a client of an older revision. The error is of code
// denied_by_user for an answer that is none of the protocol.
func request(ctx context.Context, conn *sdk.ServerSession, q host.Question) (given sdk.InputResponse, err error) {
	var heard answerHeard
	switch p := params(q).(type) {
	case *sdk.ElicitParams:
		given, err = answered(conn.Elicit(context.WithValue(ctx, answerKey{}, &heard), p))
	case *sdk.CreateMessageWithToolsParams:
		given, err = answered(conn.CreateMessageWithTools(ctx, p))
	case *sdk.ListRootsParams:
		given, err = answered(conn.ListRoots(ctx, p))
	default:
		return nil, fmt.Errorf("a question has no field set")
	}
	if err != nil && heard.result != nil { // the SDK has refused it
		return heard.result, nil
	}
	syntax, kind := (*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil)
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return nil, invalidAnswer("it is not a result of the protocol")
	}
	return given, err
}

// invalidAnswer is the error for an answer with a mistake.
func invalidAnswer(problem string) *fault.Error {
	return fault.New(fault.DeniedByUser, "server.ask", "The client's answer is invalid: "+problem+".", "Ask again, or continue without an answer.")
}

// answerHeard receives a client's answer before the SDK compares it with the schema:
// an answer that does not fit is an answer.
type answerHeard struct{ result *sdk.ElicitResult }

// answerKey is the key of an *answerHeard in a context.
type answerKey struct{}

// hear is the middleware that fills in an answerHeard.
func hear(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if heard, ok := ctx.Value(answerKey{}).(*answerHeard); ok && err == nil {
			heard.result, _ = res.(*sdk.ElicitResult)
		}
		return res, err
	}
}

// answered converts a result that may be a nil pointer into an answer.
func answered[R sdk.InputResponse](r R, err error) (sdk.InputResponse, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// read converts the client's answer to q into a reply, or returns the mistake in
// it.
func read(q host.Question, given sdk.InputResponse) (reply host.Reply, problem string) {
	switch {
	case q.Elicit != nil:
		r, ok := given.(*sdk.ElicitResult)
		if !ok || r == nil {
			return reply, "it is not the result of an elicitation"
		}
		e := &host.Elicited{Action: host.ElicitAction(r.Action)}
		switch e.Action {
		case host.ElicitAccept:
			if q.Elicit.URL == "" {
				e.Content, problem = fill(q.Elicit.Schema, r.Content)
			}
		case host.ElicitDecline, host.ElicitCancel:
		default:
			problem = "its action is neither accept nor decline nor cancel"
		}
		return host.Reply{Elicit: e}, problem
	case q.Sample != nil:
		r, ok := given.(*sdk.CreateMessageWithToolsResult)
		if !ok || r == nil {
			return reply, "it is not the result of a sampling"
		}
		m := host.Message{Role: host.Role(r.Role), Content: tools.Content{Parts: parts(r.Content)}}
		return host.Reply{Sample: &host.Sampled{Message: m, Model: r.Model, StopReason: r.StopReason}}, ""
	}
	r, ok := given.(*sdk.ListRootsResult)
	if !ok || r == nil {
		return reply, "it is not a list of roots"
	}
	reply.Roots = []host.Root{}
	for _, root := range r.Roots {
		if root != nil {
			reply.Roots = append(reply.Roots, host.Root{URI: root.URI, Name: root.Name})
		}
	}
	return reply, ""
}

// inquiry is a set of questions that a run waits for, under the keys sent to the
// client, with the replies received so far.
type inquiry struct {
	questions []host.Question
	keys      []string
	replies   []host.Reply
	have      []bool
	settled   chan error // receives one value when all replies have arrived, or none will
}

func newInquiry(questions []host.Question) *inquiry {
	n := len(questions)
	q := &inquiry{questions: questions, keys: make([]string, n), replies: make([]host.Reply, n), have: make([]bool, n), settled: make(chan error, 1)}
	taken := map[string]bool{}
	for _, one := range questions {
		taken[one.Key] = true
	}
	for i, one := range questions {
		if q.keys[i] = one.Key; one.Key != "" {
			continue
		}
		for j := i + 1; ; j++ {
			if key := "question" + strconv.Itoa(j); !taken[key] {
				q.keys[i], taken[key] = key, true
				break
			}
		}
	}
	return q
}

// take accepts answers that a client has sent along with its call before it was
// asked: for questions whose tool gave them a key and accepts early answers, once
// each. An invalid answer counts as none.
func (q *inquiry) take(early sdk.InputResponseMap) {
	for i, one := range q.questions {
		given, ok := early[one.Key]
		if one.Key == "" || one.Fresh || !ok {
			continue
		}
		delete(early, one.Key)
		q.put(i, given)
	}
}

// answer accepts a client's answers. It ignores answers to other questions;
// missing or invalid answers are requested again.
func (q *inquiry) answer(given sdk.InputResponseMap) {
	for i, key := range q.keys {
		if g, ok := given[key]; ok && !q.have[i] {
			q.put(i, g)
		}
	}
}

func (q *inquiry) put(i int, given sdk.InputResponse) {
	if reply, problem := read(q.questions[i], given); problem == "" {
		q.replies[i], q.have[i] = reply, true
	}
}

// complete reports whether all replies have arrived.
func (q *inquiry) complete() bool {
	for _, h := range q.have {
		if !h {
			return false
		}
	}
	return true
}

// open returns the open questions.
func (q *inquiry) open() sdk.InputRequestMap {
	m := sdk.InputRequestMap{}
	for i, key := range q.keys {
		if !q.have[i] {
			m[key] = params(q.questions[i])
		}
	}
	return m
}

// refuse ends the inquiry without replies.
func (q *inquiry) refuse(f *fault.Error) { q.settled <- f }

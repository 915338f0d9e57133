package conversation

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Statistics counts the requests and calls of a run, subagents included. It is an
// [agent.Observer] and safe for concurrent use. Create one with [NewStatistics].
type Statistics struct {
	modelName func(requested string) string // converts a name for display

	mu    sync.Mutex
	begun time.Time
	RunStatistics
}

// Read calls use with the statistics, which do not change during the call, and the
// elapsed time.
func (s *Statistics) Read(use func(*RunStatistics, time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	use(&s.RunStatistics, time.Since(s.begun))
}

// RunStatistics is the value of "stats" in the JSON output.
type RunStatistics struct {
	Models map[string]*modelStatistics `json:"models"`
	Tools  toolStatistics              `json:"tools"`
	Files  fileStatistics              `json:"files"`
}

type modelStatistics struct {
	API    apiStatistics              `json:"api"`
	Tokens TokenStatistics            `json:"tokens"`
	Roles  map[string]*roleStatistics `json:"roles"`
}

type apiStatistics struct {
	Requests  int            `json:"totalRequests"`
	Errors    int            `json:"totalErrors"`
	LatencyMS int64          `json:"totalLatencyMs"`
	ByType    map[string]int `json:"errorsByType"`
}

// TokenStatistics counts the tokens of requests.
type TokenStatistics struct {
	Input      int `json:"input"` // of the prompt, without cached tokens
	Prompt     int `json:"prompt"`
	Candidates int `json:"candidates"`
	Total      int `json:"total"`
	Cached     int `json:"cached"`
	Thoughts   int `json:"thoughts"`
	Tool       int `json:"tool"`
}

// roleStatistics counts the requests of one purpose.
type roleStatistics struct {
	Requests  int             `json:"totalRequests"`
	Errors    int             `json:"totalErrors"`
	LatencyMS int64           `json:"totalLatencyMs"`
	Tokens    TokenStatistics `json:"tokens"`
}

type toolStatistics struct {
	Calls      int                        `json:"totalCalls"`
	Success    int                        `json:"totalSuccess"`
	Fail       int                        `json:"totalFail"`
	DurationMS int64                      `json:"totalDurationMs"`
	Decisions  decisionStatistics         `json:"totalDecisions"`
	Approvals  ApprovalStatistics         `json:"approvals"`
	ByName     map[string]*oneToolNumbers `json:"byName"`
	// Declarations counts the tool declarations of requests.
	Declarations DeclarationStatistics `json:"declarations"`
}

// DeclarationStatistics holds the maximum of a single request and the total bytes of
// all requests, failed attempts included.
type DeclarationStatistics struct {
	MaxTools    int `json:"maxTools"`
	MaxBytes    int `json:"maxBytes"`
	TotalBytes  int `json:"totalBytes"`
	MaxDeferred int `json:"maxDeferred"` // tools that were not declared but could be searched
}

func (d *DeclarationStatistics) add(r *model.Request) {
	bytes := r.DeclaredBytes()
	d.MaxTools = max(d.MaxTools, len(r.Tools))
	d.MaxBytes = max(d.MaxBytes, bytes)
	d.TotalBytes += bytes
	d.MaxDeferred = max(d.MaxDeferred, r.Deferred)
}

type oneToolNumbers struct {
	Count      int                `json:"count"`
	Success    int                `json:"success"`
	Fail       int                `json:"fail"`
	DurationMS int64              `json:"durationMs"`
	Decisions  decisionStatistics `json:"decisions"`
}

// decisionStatistics counts who allowed calls. A headless run has no approver, and a
// call that the approver modified counts as accepted.
type decisionStatistics struct {
	Accept     int `json:"accept"`
	Reject     int `json:"reject"`
	Modify     int `json:"modify"`
	AutoAccept int `json:"auto_accept"`
}

// ApprovalStatistics counts calls by whether they needed an approver, and commands by
// whether they ran confined. A call may count more than once, such as one that an
// approver refused, or a confined one that ran without approval.
type ApprovalStatistics struct {
	Prompts  int `json:"prompts"`  // an approver was asked
	Free     int `json:"free"`     // run without approval
	Confined int `json:"confined"` // run in a sandbox
	Refused  int `json:"refused"`  // denied by policy, a hook or the approver, or without one
}

func (a *ApprovalStatistics) add(r scheduler.Response) {
	if r.Asked {
		a.Prompts++
	}
	if r.Status == scheduler.StatusDenied {
		a.Refused++
		return
	}
	if r.Preview || r.Status == scheduler.StatusCancelled || !r.Asked && r.Decision.Decision != policy.Allow {
		return // it did not run, or not to its end
	}
	if !r.Asked {
		a.Free++
	}
	if r.Decision.Run != confirmation.RunUnconfined && (r.Decision.Run != "" || r.Decision.Confined != "") {
		a.Confined++
	}
}

type fileStatistics struct {
	LinesAdded   int `json:"totalLinesAdded"`
	LinesRemoved int `json:"totalLinesRemoved"`
}

// NewStatistics returns empty statistics.
func NewStatistics() *Statistics {
	return &Statistics{
		begun: time.Now(), modelName: func(name string) string { return name },
		RunStatistics: RunStatistics{Models: map[string]*modelStatistics{}, Tools: toolStatistics{ByName: map[string]*oneToolNumbers{}}},
	}
}

// Restart resets the statistics, as for a new session.
func (s *Statistics) Restart() {
	fresh := NewStatistics()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun, s.RunStatistics = fresh.begun, fresh.RunStatistics
}

// Prompt implements [agent.Observer].
func (s *Statistics) Prompt(ctx context.Context, _ agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	return ctx, func(agent.PromptEnd) {}
}

// Compaction implements [agent.Observer]. Its requests are reported separately.
func (s *Statistics) Compaction(ctx context.Context, _ bool) (context.Context, func(agent.Compaction, error)) {
	return ctx, func(agent.Compaction, error) {}
}

// Request implements [agent.Observer].
func (s *Statistics) Request(ctx context.Context, r agent.RequestInfo) (context.Context, func(agent.RequestEnd)) {
	begun := time.Now()
	return ctx, func(end agent.RequestEnd) {
		s.addRequest(r.Request, end, time.Since(begun))
	}
}

func (s *Statistics) addRequest(r *model.Request, end agent.RequestEnd, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.modelName(r.Model)
	m := s.Models[name]
	if m == nil {
		m = &modelStatistics{API: apiStatistics{ByType: map[string]int{}}, Roles: map[string]*roleStatistics{}}
		s.Models[name] = m
	}
	purpose := string(cmp.Or(r.Purpose, model.PurposeMain))
	role := m.Roles[purpose]
	if role == nil {
		role = &roleStatistics{}
		m.Roles[purpose] = role
	}
	s.Tools.Declarations.add(r)
	m.API.Requests++
	role.Requests++
	m.API.LatencyMS += took.Milliseconds()
	role.LatencyMS += took.Milliseconds()
	if end.Err != nil {
		m.API.Errors++
		role.Errors++
		m.API.ByType[kindOf(end.Err)]++
	}
	if end.Response != nil {
		m.Tokens.add(end.Response.Usage)
		role.Tokens.add(end.Response.Usage)
	}
}

// kindOf returns the kind of a failed request.
func kindOf(err error) string {
	var e *model.Error
	switch {
	case errors.As(err, &e):
		return string(e.Kind)
	case errors.Is(err, context.Canceled):
		return string(model.Canceled)
	}
	return "unknown"
}

func (t *TokenStatistics) add(u model.Usage) {
	t.Input += max(u.Input-u.Cached, 0)
	t.Prompt += u.Input
	t.Candidates += u.Output
	t.Cached += u.Cached
	t.Thoughts += u.Thoughts
	t.Tool += u.Tool
	if u.Total == 0 {
		u.Total = u.Input + u.Output + u.Thoughts + u.Tool
	}
	t.Total += u.Total
}

// observeCall is a [scheduler.Observe]. A call without an id was not requested by the
// model.
func (s *Statistics) observeCall(ctx context.Context, r scheduler.Request) (context.Context, func(scheduler.Response)) {
	if r.CallID == "" {
		return ctx, nil
	}
	begun := time.Now()
	return ctx, func(resp scheduler.Response) { s.addCall(resp, time.Since(begun)) }
}

func (s *Statistics) addCall(r scheduler.Response, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := &s.Tools
	one := all.ByName[r.Tool]
	if one == nil {
		one = &oneToolNumbers{}
		all.ByName[r.Tool] = one
	}
	all.Calls++
	one.Count++
	all.DurationMS += took.Milliseconds()
	one.DurationMS += took.Milliseconds()
	if r.Status == scheduler.StatusSuccess {
		all.Success++
		one.Success++
	} else {
		all.Fail++
		one.Fail++
	}
	all.Approvals.add(r)
	switch {
	case r.Status == scheduler.StatusDenied:
		all.Decisions.Reject++
		one.Decisions.Reject++
	case r.Decision.Decision == policy.AskUser && r.Status != scheduler.StatusCancelled:
		all.Decisions.Accept++
		one.Decisions.Accept++
	case r.Decision.Decision == policy.Allow:
		all.Decisions.AutoAccept++
		one.Decisions.AutoAccept++
	}
	if d := r.Result.ReturnDisplay.Diff; d != nil && d.DiffStat != nil && r.Status == scheduler.StatusSuccess {
		s.Files.LinesAdded += d.DiffStat.ModelAddedLines + d.DiffStat.UserAddedLines
		s.Files.LinesRemoved += d.DiffStat.ModelRemovedLines + d.DiffStat.UserRemovedLines
	}
}

package headless

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
)

// jsonReporter prints one object at the end.
type jsonReporter struct {
	w          io.Writer
	statistics *conversation.Statistics
	mask       func(string) string // masks secrets in errors

	answer jsonAnswer
	text   strings.Builder // the answer in progress
	last   string          // the last complete answer
	begun  bool
}

// jsonAnswer is the output of --output-format json; docs/headless.md describes it.
type jsonAnswer struct {
	SessionID string                      `json:"session_id,omitempty"`
	Response  *string                     `json:"response,omitempty"` // the last answer of the model
	Stats     *conversation.RunStatistics `json:"stats,omitempty"`
	Error     *jsonFailure                `json:"error,omitempty"`
	Warnings  []string                    `json:"warnings,omitempty"`
}

// jsonFailure is the error of a run.
type jsonFailure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Code    int    `json:"code,omitempty"` // the exit code; not in stream-json
}

// failureOf returns the error of a run and its exit code.
func failureOf(err error) (f jsonFailure, code program.ExitCode) {
	code = program.ExitToolError
	exit := new(program.ExitError)
	if errors.As(err, &exit) {
		code = exit.Code
	}
	f = jsonFailure{Type: string(fault.Unknown), Message: err.Error()}
	if known := fault.As(err); known != nil {
		f.Type, f.Message = string(known.Code), known.Line()
	}
	return f, code
}

func (j *jsonReporter) begin(b beginning) {
	j.begun = true
	j.answer.SessionID = b.session
}

func (j *jsonReporter) event(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		j.text.WriteString(e.Text)
	case agent.EventFinished:
		j.last = j.text.String()
		j.text.Reset()
	case agent.EventRetry:
		j.text.Reset()
	case agent.EventToolResponse:
		j.answer.Warnings = append(j.answer.Warnings, e.Response.Notices...)
	}
}

func (j *jsonReporter) warn(message string) { j.answer.Warnings = append(j.answer.Warnings, message) }

func (j *jsonReporter) end(failure error) {
	if j.begun {
		j.answer.Response = &j.last
		j.answer.Stats = &j.statistics.RunStatistics
	}
	if failure != nil {
		f, code := failureOf(failure)
		f.Code, f.Message = int(code), j.mask(f.Message)
		j.answer.Error = &f
	}
	_ = program.WriteJSON(j.w, j.answer, "  ") // plain data; the writer keeps its error
}

// streamReporter prints one object per line as events occur.
type streamReporter struct {
	w          io.Writer
	statistics *conversation.Statistics
	mask       func(string) string // masks secrets in errors

	begun   bool
	pending []string // warnings from before the start
}

// The objects of --output-format stream-json that are no events of the agent;
// docs/headless.md describes all.
type (
	streamHead struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
	}
	streamInit struct {
		streamHead
		SessionID string `json:"session_id"`
		Model     string `json:"model"`
	}
	streamMessage struct {
		streamHead
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	streamError struct {
		streamHead
		Severity string `json:"severity"`
		Message  string `json:"message"`
	}
	streamResult struct {
		streamHead
		Status string           `json:"status"`
		Error  *jsonFailure     `json:"error,omitempty"`
		Stats  streamStatistics `json:"stats"`
	}
)

func headOf(kind string) streamHead {
	return streamHead{kind, time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
}

func (s *streamReporter) print(v any) { _ = program.PrintJSON(s.w, v) } // as above

func (s *streamReporter) begin(b beginning) {
	s.begun = true
	s.print(streamInit{headOf("init"), b.session, b.model})
	s.print(streamMessage{headOf("message"), "user", b.prompt})
	for _, message := range s.pending {
		s.warn(message)
	}
	s.pending = nil
}

func (s *streamReporter) event(e agent.Event) {
	e.Time = time.Now()
	switch {
	case e.Type == agent.EventText, e.Type == agent.EventToolCall, e.Type == agent.EventToolResponse:
		s.print(e)
	case e.Type.Ends() && e.Err != nil:
		e.Err = fault.New(e.Err.Code, "", s.mask(e.Err.Line()), "")
		s.print(e)
	}
}

func (s *streamReporter) warn(message string) {
	if !s.begun {
		s.pending = append(s.pending, message)
		return
	}
	s.print(streamError{headOf("error"), "warning", message})
}

func (s *streamReporter) end(failure error) {
	for _, message := range s.pending {
		s.print(streamError{headOf("error"), "warning", message})
	}
	result := streamResult{headOf("result"), "success", nil, streamOf(s.statistics)}
	if failure != nil {
		f, _ := failureOf(failure)
		f.Message = s.mask(f.Message)
		result.Status, result.Error = "error", &f
	}
	s.print(result)
}

// streamStatistics is the value of "stats" in the last event of stream-json.
type streamStatistics struct {
	streamTokens
	conversation.ApprovalStatistics
	DurationMS int64                   `json:"duration_ms"`
	ToolCalls  int                     `json:"tool_calls"`
	Declared   int                     `json:"declared_bytes"`
	Deferred   int                     `json:"deferred_tools"`
	Models     map[string]streamTokens `json:"models"`
}

type streamTokens struct {
	Total  int `json:"total_tokens"`
	Prompt int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Cached int `json:"cached"`
	Input  int `json:"input"`
}

// streamOf summarizes the statistics.
func streamOf(s *conversation.Statistics) (sum streamStatistics) {
	s.Read(func(run *conversation.RunStatistics, took time.Duration) {
		sum = streamStatistics{DurationMS: took.Milliseconds(), ToolCalls: run.Tools.Calls, Models: map[string]streamTokens{},
			ApprovalStatistics: run.Tools.Approvals, Declared: run.Tools.Declarations.TotalBytes, Deferred: run.Tools.Declarations.MaxDeferred}
		for name, m := range run.Models {
			t := m.Tokens
			sum.Models[name] = streamTokens{t.Total, t.Prompt, t.Candidates, t.Cached, t.Input}
			sum.Total += t.Total
			sum.Prompt += t.Prompt
			sum.Output += t.Candidates
			sum.Cached += t.Cached
			sum.Input += t.Input
		}
	})
	return sum
}

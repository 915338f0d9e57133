package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// event is a streamed part of a response, or a complete one. The SDK's own type is not used: it
// rejects much of the output of servers other than OpenAI's.
type event struct {
	ID      wire.Text `json:"id"`
	Model   wire.Text `json:"model"`
	Choices []struct {
		Index        wire.Count      `json:"index"`
		Delta        *message        `json:"delta"`
		Message      *message        `json:"message"` // of a complete response
		FinishReason wire.Text       `json:"finish_reason"`
		Error        json.RawMessage `json:"error"` // of some routers
	} `json:"choices"`
	Usage     *usage      `json:"usage"`
	Citations []wire.Text `json:"citations"` // of some servers that search
}

type message struct {
	Content          wire.Text `json:"content"`
	Refusal          wire.Text `json:"refusal"`
	ReasoningContent wire.Text `json:"reasoning_content"`
	Reasoning        wire.Text `json:"reasoning"` // the same as ReasoningContent
	ToolCalls        []delta   `json:"tool_calls"`
	FunctionCall     *function `json:"function_call"` // the older form
	Annotations      []struct {
		URLCitation struct {
			URL wire.Text `json:"url"`
		} `json:"url_citation"`
	} `json:"annotations"`
}

// delta is a piece of a call.
type delta struct {
	Index    *int      `json:"index"`
	ID       wire.Text `json:"id"`
	Function function  `json:"function"`
}

type function struct {
	Name      wire.Text       `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // JSON as a string, or the JSON itself
}

type usage struct {
	Prompt        wire.Count `json:"prompt_tokens"`
	Completion    wire.Count `json:"completion_tokens"`
	Total         wire.Count `json:"total_tokens"`
	CacheHit      wire.Count `json:"prompt_cache_hit_tokens"` // the name that DeepSeek uses
	PromptDetails struct {
		Cached wire.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// errProblem ends a response that contains an error.
var errProblem = errors.New("the answer contains an error")

// answer converts the events of a response to chunks.
type answer struct {
	chunks   wire.Pieces
	calls    calls
	complete bool            // the server has stated a finish reason
	whole    bool            // the response came in one event
	problem  json.RawMessage // {"error": …} within a choice
}

// take adds an event.
func (a *answer) take(raw []byte) error {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	chunk := &model.Chunk{ID: string(e.ID), Model: string(e.Model), Usage: e.Usage.convert()}
	for _, c := range e.Citations {
		if c != "" {
			chunk.Citations = append(chunk.Citations, string(c))
		}
	}
	for _, c := range e.Choices {
		if c.Index != 0 {
			continue // only one choice was requested
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			a.problem = json.RawMessage(`{"error":` + string(c.Error) + `}`)
			return errProblem
		}
		for _, m := range []*message{c.Delta, c.Message} {
			if m != nil {
				a.message(m, chunk)
			}
		}
		a.whole = a.whole || c.Message != nil
		if c.FinishReason != "" {
			chunk.Finish = finishReason(string(c.FinishReason))
			a.complete = true
		}
	}
	a.chunks = append(a.chunks, chunk)
	return nil
}

func (a *answer) message(m *message, chunk *model.Chunk) {
	thought := m.ReasoningContent
	if thought == "" {
		thought = m.Reasoning // servers that send both fields send the same text
	}
	if thought != "" {
		chunk.Parts = append(chunk.Parts, model.Part{Text: string(thought), Thought: true})
	}
	if text := m.Content + m.Refusal; text != "" {
		chunk.Parts = append(chunk.Parts, model.Part{Text: string(text)})
	}
	for _, d := range m.ToolCalls {
		a.calls.add(d)
	}
	if m.FunctionCall != nil {
		first := 0
		a.calls.add(delta{Index: &first, Function: *m.FunctionCall})
	}
	for _, n := range m.Annotations {
		if n.URLCitation.URL != "" {
			chunk.Citations = append(chunk.Citations, string(n.URLCitation.URL))
		}
	}
}

// end adds the calls, which are complete once the response is.
func (a *answer) end() {
	if parts := a.calls.parts(); len(parts) > 0 {
		a.chunks = append(a.chunks, &model.Chunk{Parts: parts})
	}
}

// convert returns u as a model.Usage, whose Output excludes thoughts; that of the API includes
// them.
func (u *usage) convert() *model.Usage {
	if u == nil || (u.Prompt == 0 && u.Completion == 0 && u.Total == 0) {
		return nil
	}
	thoughts := min(u.CompletionDetails.Reasoning, u.Completion)
	return &model.Usage{
		Input: int(u.Prompt), Output: int(u.Completion - thoughts), Thoughts: int(thoughts),
		Cached: int(max(u.PromptDetails.Cached, u.CacheHit)), Total: int(u.Total),
	}
}

func finishReason(reason string) model.FinishReason {
	switch reason {
	case "stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "eos":
		return model.FinishStop
	case "length", "max_tokens":
		return model.FinishMaxTokens
	case "content_filter":
		return model.FinishSafety
	}
	return model.FinishOther
}

// calls assembles calls from their pieces.
type calls struct {
	list []*pieces
}

// pieces are the received pieces of one call.
type pieces struct {
	index    int // the server's index; -1: none
	id, name string
	args     []byte
}

// add adds a piece to its call: the one with its index, or its ID without an index, or else the
// last call. A piece with a new ID and a name starts a new call, whatever its index is: some
// servers number all calls 0. An ID without a name is ignored: some servers create a new one for
// each piece.
func (c *calls) add(d delta) {
	call := c.find(d)
	if call == nil {
		call = &pieces{index: -1}
		if d.Index != nil {
			call.index = *d.Index
		}
		c.list = append(c.list, call)
	}
	if call.id == "" {
		call.id = string(d.ID)
	}
	if call.name == "" {
		call.name = string(d.Function.Name)
	}
	call.args = append(call.args, d.Function.text()...)
}

func (c *calls) find(d delta) *pieces {
	if len(c.list) == 0 {
		return nil
	}
	last := c.list[len(c.list)-1]
	id, name := string(d.ID), string(d.Function.Name)
	if d.Index != nil {
		for i := len(c.list) - 1; i >= 0; i-- {
			if call := c.list[i]; call.index == *d.Index {
				if id != "" && call.id != "" && id != call.id && name != "" && call.name != "" {
					return nil
				}
				return call
			}
		}
		return nil
	}
	for _, call := range c.list {
		if id != "" && call.id == id {
			return call
		}
	}
	switch {
	case name == "":
		return last
	case id == "" && name == last.name && len(last.args) > 0 && !json.Valid(last.args):
		return last // the name is repeated
	}
	return nil
}

// text returns the arguments in a piece.
func (f function) text() []byte {
	raw := bytes.TrimSpace(f.Arguments)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}

// cut reports whether a call appears to be incomplete.
func (c *calls) cut() bool {
	return slices.ContainsFunc(c.list, func(call *pieces) bool { return !call.empty() && !json.Valid(call.args) })
}

// empty reports whether there is neither a name nor arguments, so that there is no call.
func (c *pieces) empty() bool { return c.name == "" && len(c.args) == 0 }

// parts returns the calls.
func (c *calls) parts() []model.Part {
	var parts []model.Part
	for _, call := range c.list {
		if call.empty() {
			continue
		}
		id := call.id
		if id == "" {
			id = model.NewCallID()
		}
		parts = append(parts, model.Part{Call: &model.FunctionCall{ID: id, Name: call.name, Args: call.args}})
	}
	return parts
}

package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/fettle-dev/fettle/core/model"
)

// errCutShort is the end of a stream before the end of its answer.
var errCutShort = errors.New("the answer broke off before its end")

// answer puts together the events of one stream.
type answer struct {
	asText bool // the answer is the call of answerTool, told as text
	done   bool // the last event has come

	raw   rawUsage
	block *block // that is being sent; nil between blocks
}

// block is a part of an answer that is being sent.
type block struct {
	index     int64
	kind      string
	id, name  string // of a call
	input     string // of a call, as it was at the beginning
	partial   []byte // of a call's input
	signature []byte // of a thought
}

// rawUsage is the usage as the API counts.
type rawUsage struct{ input, output, thoughts, cacheRead, cacheWrite int64 }

// take returns what an event adds; nil: nothing. The error is a *model.Error of
// kind bad_answer for events that do not follow the protocol.
func (a *answer) take(event *sdk.MessageStreamEventUnion) (*model.Chunk, error) {
	switch event.Type {
	case "message_start":
		return a.start(&event.Message), nil
	case "content_block_start":
		if a.block != nil {
			return nil, badAnswer("a part of the answer began before the one before it had ended")
		}
		return a.open(event)
	case "content_block_delta":
		if a.block == nil || a.block.index != event.Index {
			return nil, badAnswer("a piece of the answer belongs to no part of it")
		}
		return a.delta(&event.Delta), nil
	case "content_block_stop":
		if a.block == nil || a.block.index != event.Index {
			return nil, badAnswer("a part of the answer ended that had not begun")
		}
		return a.close()
	case "message_delta":
		return a.finish(event), nil
	case "message_stop":
		if a.block != nil {
			return nil, badAnswer("the answer ended within one of its parts")
		}
		a.done = true
	}
	return nil, nil // events may be added to the protocol
}

func (a *answer) start(m *sdk.Message) *model.Chunk {
	u := m.Usage
	a.raw = rawUsage{u.InputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens}
	return &model.Chunk{ID: m.ID, Model: m.Model, Usage: a.raw.usage()}
}

// open begins a part. Its beginning may hold the whole of it already.
func (a *answer) open(event *sdk.MessageStreamEventUnion) (*model.Chunk, error) {
	b := event.ContentBlock
	a.block = &block{index: event.Index, kind: b.Type, id: b.ID, name: b.Name}
	switch b.Type {
	case "text":
		return a.text(b.Text, false), nil
	case "thinking":
		a.block.signature = []byte(b.Signature)
		return a.text(b.Thinking, true), nil
	case "redacted_thinking":
		a.block.signature = []byte(b.Data)
	case "tool_use":
		if b.Name == "" {
			return nil, badAnswer("a call in the answer names no tool")
		}
		var raw struct {
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal([]byte(b.RawJSON()), &raw) == nil && string(raw.Input) != "null" {
			a.block.input = string(raw.Input)
		}
	}
	return nil, nil
}

func (a *answer) delta(d *sdk.MessageStreamEventUnionDelta) *model.Chunk {
	switch d.Type {
	case "text_delta":
		return a.text(d.Text, false)
	case "thinking_delta":
		return a.text(d.Thinking, true)
	case "signature_delta":
		a.block.signature = append(a.block.signature, d.Signature...)
	case "input_json_delta":
		a.block.partial = append(a.block.partial, d.PartialJSON...)
	case "citations_delta":
		source := cmp.Or(d.Citation.URL, d.Citation.DocumentTitle)
		if source != "" {
			return &model.Chunk{Citations: []string{source}}
		}
	}
	return nil
}

// text is a piece of text or thought. Words beside an answer that has to be one
// JSON value are dropped.
func (a *answer) text(text string, thought bool) *model.Chunk {
	if text == "" || (a.asText && !thought) {
		return nil
	}
	return &model.Chunk{Parts: []model.Part{{Text: text, Thought: thought}}}
}

// close ends a part: what can only be used whole is told now.
func (a *answer) close() (*model.Chunk, error) {
	b := a.block
	a.block = nil
	switch b.kind {
	case "thinking", "redacted_thinking":
		if len(b.signature) == 0 {
			return nil, nil
		}
		return &model.Chunk{Parts: []model.Part{{Thought: b.kind == "thinking", Signature: b.signature, Provider: Provider}}}, nil
	case "tool_use":
		args := b.partial
		if len(args) == 0 {
			args = []byte(b.input)
		}
		if a.asText && b.name == answerTool {
			return a.jsonAnswer(args)
		}
		if b.id == "" {
			b.id = model.NewCallID()
		}
		return &model.Chunk{Parts: []model.Part{{Call: &model.FunctionCall{ID: b.id, Name: b.name, Args: args}}}}, nil
	}
	return nil, nil
}

// jsonAnswer takes the value out of the call of answerTool.
func (a *answer) jsonAnswer(args []byte) (*model.Chunk, error) {
	var in struct {
		Answer json.RawMessage `json:"answer"`
	}
	if json.Unmarshal(args, &in) != nil || len(in.Answer) == 0 {
		return nil, badAnswer("the answer is not the JSON that was asked for")
	}
	return &model.Chunk{Parts: []model.Part{{Text: string(in.Answer)}}}, nil
}

func (a *answer) finish(event *sdk.MessageStreamEventUnion) *model.Chunk {
	u := event.Usage
	a.raw.output = max(a.raw.output, u.OutputTokens)
	a.raw.input = max(a.raw.input, u.InputTokens)
	a.raw.cacheRead = max(a.raw.cacheRead, u.CacheReadInputTokens)
	a.raw.cacheWrite = max(a.raw.cacheWrite, u.CacheCreationInputTokens)
	a.raw.thoughts = max(a.raw.thoughts, u.OutputTokensDetails.ThinkingTokens)
	return &model.Chunk{Finish: finishReason(event.Delta.StopReason), Usage: a.raw.usage()}
}

// usage adds up what the API counts apart: tokens read from the cache, written
// to it and neither are all input; thoughts are part of its output.
func (u rawUsage) usage() *model.Usage {
	thoughts := min(u.thoughts, u.output)
	out := model.Usage{
		Input:    int(u.input + u.cacheRead + u.cacheWrite),
		Output:   int(u.output - thoughts),
		Cached:   int(u.cacheRead),
		Thoughts: int(thoughts),
	}
	out.Total = out.Input + out.Output + out.Thoughts
	return &out
}

func finishReason(reason sdk.StopReason) model.FinishReason {
	switch reason {
	case "":
		return ""
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonToolUse:
		return model.FinishStop
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return model.FinishMaxTokens
	case sdk.StopReasonRefusal:
		return model.FinishSafety
	}
	return model.FinishOther
}

package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/fettle-dev/fettle/core/model"
)

// errCutShort reports a stream that ended before its response was complete.
var errCutShort = errors.New("the answer broke off before its end")

// answer assembles the response from the events of one stream.
type answer struct {
	asText bool // the response is the call of answerTool, passed on as text
	done   bool // the final event has arrived

	raw   rawUsage
	block *block // the block being received; nil between blocks
}

// block is a content block that is being received.
type block struct {
	index     int64
	kind      string
	id, name  string // of a call
	input     string // input of a call as given in the start event
	partial   []byte // input of a call received in pieces
	signature []byte // signature of a thought
}

// rawUsage holds the token counts as the API reports them.
type rawUsage struct{ input, output, thoughts, cacheRead, cacheWrite int64 }

// take returns the chunk that an event adds; nil if it adds nothing. The error is a *model.Error of
// kind bad_answer if the event violates the protocol.
func (a *answer) take(event *sdk.MessageStreamEventUnion) (*model.Chunk, error) {
	switch event.Type {
	case "message_start":
		return a.start(&event.Message), nil
	case "content_block_start":
		if a.block != nil {
			return nil, badAnswer("a part of the answer began before the previous one ended")
		}
		return a.open(event)
	case "content_block_delta":
		if a.block == nil || a.block.index != event.Index {
			return nil, badAnswer("the answer has a piece of a part that has not begun")
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
	return nil, nil // the protocol allows new event types
}

func (a *answer) start(m *sdk.Message) *model.Chunk {
	u := m.Usage
	a.raw = rawUsage{u.InputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens}
	return &model.Chunk{ID: m.ID, Model: m.Model, Usage: a.raw.usage()}
}

// open starts a block. The start event may already contain all of its content.
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

// text returns a piece of text or of a thought. Text next to a response that must be one JSON value
// is dropped.
func (a *answer) text(text string, thought bool) *model.Chunk {
	if text == "" || (a.asText && !thought) {
		return nil
	}
	return &model.Chunk{Parts: []model.Part{{Text: text, Thought: thought}}}
}

// close ends a block and returns the content that is useful only as a whole.
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

// jsonAnswer returns the JSON value from the call of answerTool.
func (a *answer) jsonAnswer(args []byte) (*model.Chunk, error) {
	var in struct {
		Answer json.RawMessage `json:"answer"`
	}
	if json.Unmarshal(args, &in) != nil || len(in.Answer) == 0 {
		return nil, badAnswer("the answer is not the requested JSON")
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

// usage adds up the separate counts of the API. Input is the sum of tokens read from the cache,
// written to it and uncached. Thoughts are a part of the output count.
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

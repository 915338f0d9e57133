package anthropic

import (
	"cmp"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// event is an event of a streamed response. Type selects the fields that belong to it.
type event struct {
	Index   wire.Count `json:"index"`
	Message struct {
		ID    wire.Text `json:"id"`
		Model wire.Text `json:"model"`
		Usage usage     `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type      wire.Text       `json:"type"`
		ID        wire.Text       `json:"id"`
		Name      wire.Text       `json:"name"`
		Text      wire.Text       `json:"text"`
		Thinking  wire.Text       `json:"thinking"`
		Signature wire.Text       `json:"signature"`
		Data      wire.Text       `json:"data"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta delta `json:"delta"`
	Usage usage `json:"usage"`
}

// delta is a piece of a block, or of the message.
type delta struct {
	Type        wire.Text `json:"type"`
	Text        wire.Text `json:"text"`
	Thinking    wire.Text `json:"thinking"`
	Signature   wire.Text `json:"signature"`
	PartialJSON wire.Text `json:"partial_json"`
	StopReason  wire.Text `json:"stop_reason"`
	Citation    struct {
		URL           wire.Text `json:"url"`
		DocumentTitle wire.Text `json:"document_title"`
	} `json:"citation"`
}

// usage holds the token counts of an event.
type usage struct {
	InputTokens              wire.Count `json:"input_tokens"`
	OutputTokens             wire.Count `json:"output_tokens"`
	CacheReadInputTokens     wire.Count `json:"cache_read_input_tokens"`
	CacheCreationInputTokens wire.Count `json:"cache_creation_input_tokens"`
	OutputTokensDetails      struct {
		ThinkingTokens wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// answer assembles the response from the events of one stream.
type answer struct {
	asText bool // the response is the call of answerTool, passed on as text
	done   bool // the final event has arrived

	chunks wire.Pieces
	fault  *model.Error // how an event violated the protocol; nil: it did not
	raw    rawUsage
	block  *openBlock // the block being received; nil between blocks
}

// openBlock is a content block that is being received.
type openBlock struct {
	index     wire.Count
	kind      string
	id, name  string // of a call
	input     string // input of a call as given in the start event
	partial   []byte // input of a call received in pieces
	signature []byte // signature of a thought
}

// rawUsage holds the token counts of the response so far.
type rawUsage struct{ input, output, thoughts, cacheRead, cacheWrite wire.Count }

// take adds an event. It fails if the event violates the protocol; fault then says how, unless the
// event is not in the form of the API at all.
func (a *answer) take(raw []byte) error {
	if a.done {
		return nil
	}
	var kind struct {
		Type wire.Text `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
	default:
		return nil // the protocol allows new event types
	}
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	chunk, fault := a.add(string(kind.Type), &e)
	if fault != nil {
		a.fault = fault
		return fault
	}
	if chunk != nil {
		a.chunks = append(a.chunks, chunk)
	}
	return nil
}

// add returns the chunk that an event adds; nil if it adds nothing.
func (a *answer) add(kind string, e *event) (*model.Chunk, *model.Error) {
	switch kind {
	case "message_start":
		return a.start(e), nil
	case "content_block_start":
		if a.block != nil {
			return nil, badAnswer("a part of the answer began before the previous one ended")
		}
		return a.open(e)
	case "content_block_delta":
		if a.block == nil || a.block.index != e.Index {
			return nil, badAnswer("the answer has a piece of a part that has not begun")
		}
		return a.delta(&e.Delta), nil
	case "content_block_stop":
		if a.block == nil || a.block.index != e.Index {
			return nil, badAnswer("a part of the answer ended that had not begun")
		}
		return a.close()
	case "message_delta":
		return a.finish(e), nil
	case "message_stop":
		if a.block != nil {
			return nil, badAnswer("the answer ended within one of its parts")
		}
		a.done = true
	}
	return nil, nil
}

func (a *answer) start(e *event) *model.Chunk {
	u := e.Message.Usage
	a.raw = rawUsage{u.InputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens}
	return &model.Chunk{ID: string(e.Message.ID), Model: string(e.Message.Model), Usage: a.raw.usage()}
}

// open starts a block. The start event may already contain all of its content.
func (a *answer) open(e *event) (*model.Chunk, *model.Error) {
	b := &e.ContentBlock
	a.block = &openBlock{index: e.Index, kind: string(b.Type), id: string(b.ID), name: string(b.Name)}
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
		if string(b.Input) != "null" {
			a.block.input = string(b.Input)
		}
	}
	return nil, nil
}

func (a *answer) delta(d *delta) *model.Chunk {
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
			return &model.Chunk{Citations: []string{string(source)}}
		}
	}
	return nil
}

// text returns a piece of text or of a thought. Text next to a response that must be one JSON value
// is dropped.
func (a *answer) text(text wire.Text, thought bool) *model.Chunk {
	if text == "" || (a.asText && !thought) {
		return nil
	}
	return &model.Chunk{Parts: []model.Part{{Text: string(text), Thought: thought}}}
}

// close ends a block and returns the content that is useful only as a whole.
func (a *answer) close() (*model.Chunk, *model.Error) {
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
func (a *answer) jsonAnswer(args []byte) (*model.Chunk, *model.Error) {
	var in struct {
		Answer json.RawMessage `json:"answer"`
	}
	if json.Unmarshal(args, &in) != nil || len(in.Answer) == 0 {
		return nil, badAnswer("the answer is not the requested JSON")
	}
	return &model.Chunk{Parts: []model.Part{{Text: string(in.Answer)}}}, nil
}

func (a *answer) finish(e *event) *model.Chunk {
	u := e.Usage
	a.raw.output = max(a.raw.output, u.OutputTokens)
	a.raw.input = max(a.raw.input, u.InputTokens)
	a.raw.cacheRead = max(a.raw.cacheRead, u.CacheReadInputTokens)
	a.raw.cacheWrite = max(a.raw.cacheWrite, u.CacheCreationInputTokens)
	a.raw.thoughts = max(a.raw.thoughts, u.OutputTokensDetails.ThinkingTokens)
	return &model.Chunk{Finish: finishReason(e.Delta.StopReason), Usage: a.raw.usage()}
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

func finishReason(reason wire.Text) model.FinishReason {
	switch reason {
	case "":
		return ""
	case "end_turn", "stop_sequence", "tool_use":
		return model.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishMaxTokens
	case "refusal":
		return model.FinishSafety
	}
	return model.FinishOther
}

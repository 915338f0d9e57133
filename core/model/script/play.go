package script

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/model"
)

// Options configures a [Generator]. The zero value is ready for use.
type Options struct {
	// OnTurn is called when a request has claimed a turn, before the response begins, on the
	// goroutine of the request. Its error becomes the error of the request. A demo can use it to
	// change files in between. nil: none.
	OnTurn func(ctx context.Context, t Turn) error
}

// Generator plays a script. It is safe for concurrent use: each request takes a turn, in the order
// in which they arrive. The provider of its errors is "script". They are the errors of a turn's
// Fail, and errors of kind invalid_request if the turns are used up, an expectation fails or a
// placeholder has no value.
type Generator struct {
	script *Script
	o      Options

	mu     sync.Mutex
	played []int // how often each turn was played
	calls  int   // number of IDs created

	named map[string]bool // the call IDs that the script gives
}

var _ model.Generator = (*Generator)(nil)

// New returns a Generator at the beginning of a script.
func New(s *Script, o Options) *Generator {
	named := map[string]bool{}
	for _, t := range s.turns {
		for _, c := range t.Calls {
			named[c.ID] = true
		}
	}
	return &Generator{script: s, o: o, played: make([]int, len(s.turns)), named: named}
}

// Left returns the turns that have not been played as often as required. A turn that repeats
// forever counts until it was played once.
func (g *Generator) Left() []Turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	var left []Turn
	for i, t := range g.script.turns {
		if g.played[i] < max(1, t.Repeat.plays()) {
			left = append(left, t.described())
		}
	}
	return left
}

// described returns the part of t that callers see.
func (t *turn) described() Turn { return Turn{Title: t.Title, Note: t.Note} }

// Generate returns the next response at once.
func (g *Generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

// CountTokens returns an estimate.
func (g *Generator) CountTokens(ctx context.Context, r *model.Request) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, model.AsError(Provider, err)
	}
	return model.EstimateTokens(r), nil
}

// Stream returns the next response in chunks.
func (g *Generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		pieces, failure, err := g.answer(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, chunk := range pieces {
			if err := ctx.Err(); err != nil {
				yield(nil, model.AsError(Provider, err))
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure.error())
		}
	}
}

// answer claims the turn for a request and creates its chunks.
func (g *Generator) answer(ctx context.Context, r *model.Request) ([]*model.Chunk, *failure, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, model.AsError(Provider, err)
	}
	number, err := g.take(r)
	if err != nil {
		return nil, nil, err
	}
	turn := &g.script.turns[number]
	if g.o.OnTurn != nil {
		if err := g.o.OnTurn(ctx, turn.described()); err != nil {
			return nil, nil, g.problem(number, err.Error(), err)
		}
	}
	if missing := turn.Expect.missing(r); missing != "" {
		return nil, nil, g.problem(number, "it expects "+missing, nil)
	}
	chunks, err := g.chunks(turn, r)
	if err != nil {
		return nil, nil, g.problem(number, err.Error(), nil)
	}
	if turn.Fail != nil {
		chunks = turn.Fail.cut(chunks)
	}
	return chunks, turn.Fail, nil
}

// take finds the first turn that matches r and counts it as played once more.
func (g *Generator) take(r *model.Request) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := 0
	for i := range g.script.turns {
		turn := &g.script.turns[i]
		if plays := turn.Repeat.plays(); plays >= 0 && g.played[i] >= plays {
			continue
		}
		left++
		if turn.When.missing(r) == "" {
			g.played[i]++
			return i, nil
		}
	}
	message := fmt.Sprintf("the turns of the script %s are used up: all %d have been played, and there is one more request", g.script.name, len(g.script.turns))
	if left > 0 {
		message = fmt.Sprintf("no turn of the script %s matches this request: %d of %d are left, and the \"when\" of each of them fails", g.script.name, left, len(g.script.turns))
	}
	return 0, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: message}
}

// problem returns the error of a turn that cannot be played.
func (g *Generator) problem(number int, problem string, cause error) *model.Error {
	where := fmt.Sprintf("%s, line %d", g.script.name, g.script.turns[number].Line)
	return &model.Error{
		Provider: Provider, Kind: model.InvalidRequest, Err: cause,
		Message: fmt.Sprintf("turn %d of the script (%s) cannot be played: %s", number+1, where, problem),
	}
}

// chunks returns the chunks of a turn; the last one has the finish reason.
func (g *Generator) chunks(t *turn, r *model.Request) ([]*model.Chunk, error) {
	fill := filler{contents: r.Contents}
	var chunks []*model.Chunk
	output := 0
	add := func(p model.Part) { chunks = append(chunks, &model.Chunk{Parts: []model.Part{p}}) }
	for _, part := range []struct {
		text    text
		thought bool
	}{{t.Thought, true}, {t.Text, false}} {
		pieces, err := part.text.pieces(&fill)
		if err != nil {
			return nil, err
		}
		for _, piece := range pieces {
			output += len(piece)
			add(model.Part{Text: piece, Thought: part.thought})
		}
	}
	ids := g.callIDs(t, r.Contents)
	for i, c := range t.Calls {
		args, err := c.args(&fill)
		if err != nil {
			return nil, err
		}
		output += len(args)
		add(model.Part{Call: &model.FunctionCall{ID: ids[i], Name: c.Tool, Args: args}})
	}
	end := &model.Chunk{Model: r.Model, Finish: t.Finish, Usage: t.Usage}
	end.Finish = cmp.Or(end.Finish, model.FinishStop)
	if end.Usage == nil {
		end.Usage = &model.Usage{Input: model.EstimateTokens(r), Output: (output + 3) / 4}
	}
	return append(chunks, end), nil
}

func (c *call) args(fill *filler) (json.RawMessage, error) {
	switch {
	case c.RawArgs != nil:
		return json.RawMessage(*c.RawArgs), nil
	case c.Args == nil:
		return json.RawMessage("{}"), nil
	}
	return fill.args(c.Args)
}

// pieces returns the filled pieces in which a text is streamed.
func (t text) pieces(fill *filler) ([]string, error) {
	var out []string
	for _, piece := range t.Pieces {
		filled, err := fill.text(piece)
		if err != nil {
			return nil, err
		}
		out = append(out, filled)
	}
	whole, err := fill.text(t.Whole)
	if err != nil {
		return nil, err
	}
	runes := []rune(whole)
	for piece := range slices.Chunk(runes, pieceRunes) {
		out = append(out, string(piece))
	}
	return out, nil
}

// cut returns the chunks of a response before its failure.
func (f *failure) cut(chunks []*model.Chunk) []*model.Chunk {
	pieces := chunks[:len(chunks)-1] // never the last one, which ends a response without an error
	if f.AfterBytes == nil {
		if f.AfterPieces == nil {
			return nil
		}
		return pieces[:min(*f.AfterPieces, len(pieces))]
	}
	left := *f.AfterBytes
	for i, chunk := range pieces {
		p := chunk.Parts[0]
		size := len(p.Text)
		if p.Call != nil {
			size = len(p.Call.Args)
		}
		if size <= left {
			left -= size
			continue
		}
		out := slices.Clone(pieces[:i])
		if p.Call != nil {
			return out
		}
		for !utf8.RuneStart(p.Text[left]) {
			left--
		}
		if p.Text = p.Text[:left]; p.Text != "" {
			out = append(out, &model.Chunk{Parts: []model.Part{p}})
		}
		return out
	}
	return pieces
}

// callIDs returns the IDs of a turn's calls. A generated ID is unique in the Generator, also after
// a compaction has removed earlier calls. It differs from the IDs in the script and in a resumed
// conversation.
func (g *Generator) callIDs(t *turn, contents []model.Content) []string {
	used := map[string]bool{}
	for _, c := range contents {
		for _, call := range c.Calls() {
			used[call.ID] = true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := make([]string, 0, len(t.Calls))
	for _, c := range t.Calls {
		id := c.ID
		for id == "" || (c.ID == "" && (g.named[id] || used[id])) {
			g.calls++
			id = fmt.Sprintf("call_%d", g.calls)
		}
		ids = append(ids, id)
	}
	return ids
}

package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Recorder writes what Generators answer. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	texts []string // that are hidden
	hide  mask     // of texts
	w     io.Writer
	begun int   // requests so far
	lines int   // written
	err   error // the first of writing
}

// NewRecorder returns a Recorder that writes to w, one line for each request
// once it has ended. Texts in hide, as keys, and what has the shape of a secret become [masked] in the recording, also
// where an answer's pieces split them; those of fewer than 4 bytes do not, nor
// what is in data. w is the caller's to close, after the last request.
func NewRecorder(w io.Writer, hide ...string) *Recorder {
	r := &Recorder{w: w}
	r.Hide(hide...)
	return r
}

// Hide adds texts to those that become [masked] in what is recorded from now on.
func (r *Recorder) Hide(texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, texts...)
	r.hide = newMask(r.texts)
}

// Record returns g, recorded to w; see [Recorder] for several Generators in one
// recording.
func Record(g model.Generator, w io.Writer) model.Generator { return NewRecorder(w).Wrap(g) }

// Wrap returns g, recorded. What is asked and answered is not changed, and goes
// on where the recording cannot be written, see [Recorder.Err].
func (r *Recorder) Wrap(g model.Generator) model.Generator { return &recorded{r, g} }

// Err returns why the recording is not whole: the first error of its writer, of
// code file_write_failure. nil: it is, so far.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// begin numbers a request and notes what it asks.
func (r *Recorder) begin(operation string, q *model.Request) *exchange {
	r.mu.Lock()
	r.begun++
	number, digest := r.begun, digester{hide: r.hide}
	r.mu.Unlock()
	return &exchange{Number: number, Request: digest.of(operation, q)}
}

// write appends an exchange.
func (r *Recorder) write(x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hide.exchange(x)
	if r.lines == 0 {
		r.line(header{version})
	}
	r.line(x)
}

// line appends one line in one write. After an error nothing more is written.
func (r *Recorder) line(v any) {
	if r.err != nil {
		return
	}
	data, err := encode(v)
	if err == nil {
		r.lines++
		_, err = io.WriteString(r.w, string(data)+"\n")
	}
	if err != nil {
		r.err = fault.Wrap(fault.FileWriteFailure, "replay.record", "The recording of the model's answers cannot be written.",
			"Check the disk, and record anew.", err)
	}
}

// encode returns v as JSON on one line, without escapes that no reader needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// recorded is a Generator whose answers are written down.
type recorded struct {
	r *Recorder
	g model.Generator
}

// Name implements model.Described, as far as the recorded Generator does.
func (g *recorded) Name() model.Name { return model.NameOf(g.g) }

// Limit implements model.Described, as far as the recorded Generator does.
func (g *recorded) Limit() int { return model.LimitOf(g.g) }

// Generate records the whole answer as one piece.
func (g *recorded) Generate(ctx context.Context, q *model.Request) (*model.Response, error) {
	x := g.r.begin(opAnswer, q)
	response, err := g.g.Generate(ctx, q)
	if err != nil {
		x.Error = toFailed(err)
	} else {
		x.Chunks = []chunk{toChunk(&model.Chunk{
			ID: response.ID, Model: response.Model, Parts: response.Content.Parts,
			Finish: response.Finish, Usage: &response.Usage, Citations: response.Citations,
		})}
	}
	g.r.write(x)
	return response, err
}

// Stream records the pieces as they came.
func (g *recorded) Stream(ctx context.Context, q *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		x := g.r.begin(opAnswer, q)
		defer g.r.write(x)
		for c, err := range g.g.Stream(ctx, q) {
			if err != nil {
				x.Error = toFailed(err)
			} else {
				x.Chunks = append(x.Chunks, toChunk(c))
			}
			if !yield(c, err) {
				x.Left = err == nil && c.Finish == ""
				return
			}
		}
	}
}

// CountTokens records the number.
func (g *recorded) CountTokens(ctx context.Context, q *model.Request) (int, error) {
	x := g.r.begin(opCount, q)
	n, err := g.g.CountTokens(ctx, q)
	if err != nil {
		x.Error = toFailed(err)
	} else {
		x.Tokens = &n
	}
	g.r.write(x)
	return n, err
}

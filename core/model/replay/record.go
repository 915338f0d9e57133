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

// Recorder records the responses of Generators. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	texts []string // texts to mask
	hide  mask     // mask of texts
	w     io.Writer
	begun int   // number of requests begun
	lines int   // number of lines written
	err   error // first write error
}

// NewRecorder returns a Recorder that writes to w, one line for each request when it ends. In the
// recording, the texts in hide, such as keys, and text with the shape of a secret become [masked],
// also if they are split between chunks. Texts of fewer than 4 bytes are not masked, and neither is
// data. The caller closes w after the last request.
func NewRecorder(w io.Writer, hide ...string) *Recorder {
	r := &Recorder{w: w}
	r.Hide(hide...)
	return r
}

// Hide adds texts that become [masked] in later records.
func (r *Recorder) Hide(texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, texts...)
	r.hide = newMask(r.texts)
}

// Wrap returns a Generator that records g. Requests and responses are not changed. A write error
// does not stop g, see [Recorder.Err].
func (r *Recorder) Wrap(g model.Generator) model.Generator { return &recorded{r, g} }

// Err returns the first error of the writer, of code file_write_failure. The recording is then
// incomplete. It returns nil if there was none so far.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// begin numbers a request and stores its recorded form.
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

// line appends one line in one write. After an error it does nothing.
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
			"Check the disk, and record again.", err)
	}
}

// encode returns v as JSON on one line, without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// recorded is a Generator that records its responses.
type recorded struct {
	r *Recorder
	g model.Generator
}

// Name serves model.NameOf with the name of the recorded Generator.
func (g *recorded) Name() model.Name { return model.NameOf(g.g) }

// Limit serves model.LimitOf with the limit of the recorded Generator.
func (g *recorded) Limit() int { return model.LimitOf(g.g) }

// Generate records the complete response as one chunk.
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

// Stream records the chunks as received.
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

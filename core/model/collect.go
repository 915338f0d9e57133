package model

import (
	"iter"
	"slices"
	"strings"
)

// Collector joins the chunks of one response to a [Response]. The zero value is ready for use; it
// is not safe for concurrent use.
type Collector struct {
	response Response
	text     strings.Builder // of the last part, while it can be continued
	open     bool
}

// Add joins the next chunk. It retains only the parts of chunk.
//
// A text continues a previous text and a thought a previous thought, until that part has a
// signature. A thought that consists only of a signature signs the previous thought, if that has
// none. Any other part that consists only of a signature is a separate part.
func (c *Collector) Add(chunk *Chunk) {
	if chunk == nil {
		return
	}
	r := &c.response
	if chunk.ID != "" {
		r.ID = chunk.ID
	}
	if chunk.Model != "" {
		r.Model = chunk.Model
	}
	if chunk.Finish != "" {
		r.Finish = chunk.Finish
	}
	if chunk.Usage != nil {
		r.Usage = *chunk.Usage
	}
	for _, citation := range chunk.Citations {
		if !slices.Contains(r.Citations, citation) {
			r.Citations = append(r.Citations, citation)
		}
	}
	for _, part := range chunk.Parts {
		c.add(part)
	}
}

func (c *Collector) add(p Part) {
	parts := &c.response.Content.Parts
	if c.open && p.isText() {
		last := &(*parts)[len(*parts)-1]
		if last.Thought == p.Thought && (len(p.Signature) == 0 || (p.Thought && p.Text == "")) {
			c.text.WriteString(p.Text)
			if len(p.Signature) > 0 {
				last.Signature, last.Provider = p.Signature, p.Provider
				c.close()
			}
			return
		}
	}
	if p.isText() && p.Text == "" && len(p.Signature) == 0 {
		return
	}
	c.close()
	*parts = append(*parts, p)
	if p.isText() && len(p.Signature) == 0 {
		c.text.WriteString(p.Text)
		c.open = true
	}
}

// close ends the last part; the next chunk starts a new one.
func (c *Collector) close() {
	if !c.open {
		return
	}
	parts := c.response.Content.Parts
	parts[len(parts)-1].Text = c.text.String()
	c.text = strings.Builder{}
	c.open = false
}

// Response returns the response so far. Later calls of Add do not change it.
func (c *Collector) Response() *Response {
	r := c.response
	r.Content.Role = RoleModel
	r.Content.Parts = slices.Clone(r.Content.Parts)
	if c.open {
		r.Content.Parts[len(r.Content.Parts)-1].Text = c.text.String()
	}
	r.Citations = slices.Clone(r.Citations)
	return &r
}

// Collect ranges over a stream and returns the complete response, or the error that ended it.
func Collect(chunks iter.Seq2[*Chunk, error]) (*Response, error) {
	var c Collector
	for chunk, err := range chunks {
		if err != nil {
			return nil, err
		}
		c.Add(chunk)
	}
	return c.Response(), nil
}

// isText reports whether p is a text, a thought, or a separate signature.
func (p Part) isText() bool { return p.Data == nil && p.Call == nil && p.Response == nil }

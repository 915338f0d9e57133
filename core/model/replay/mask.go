package replay

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
)

const (
	shortestHidden = 4 // bytes; shorter texts would match everywhere
	hidden         = redact.Mark
)

// longestShape is the number of bytes after an excerpt that are also searched for the shape of a
// secret.
const longestShape = 1 << 10

// mask removes known texts, such as keys, and text with the shape of a secret from a recording. The
// zero value knows no texts.
type mask struct {
	forms   []string // the texts in all their encodings
	longest int      // the longest of forms
}

// newMask returns a mask for texts. It also matches them as encoded in JSON, and in JSON within a
// JSON string, as in the arguments of calls.
func newMask(texts []string) mask {
	const depth = 3
	var m mask
	for _, text := range texts {
		if len(text) < shortestHidden {
			continue
		}
		for range depth + 1 {
			m.forms = append(m.forms, text)
			m.longest = max(m.longest, len(text))
			quoted, err := encode(text)
			if err != nil {
				break
			}
			text = string(quoted[1 : len(quoted)-1])
		}
	}
	slices.Sort(m.forms)
	m.forms = slices.Compact(m.forms)
	return m
}

// texts masks consecutive texts, so that a secret is found that begins in one and ends in a later
// one. The mark stands where the secret began.
func (m mask) texts(list ...*string) {
	var b strings.Builder
	for _, text := range list {
		b.WriteString(*text)
	}
	spans := m.spans(b.String())
	if len(spans) == 0 {
		return
	}
	begin := 0 // offset of the text in the joined texts
	for _, text := range list {
		was := *text
		end := begin + len(was)
		var clean strings.Builder
		at := begin
		for _, s := range spans {
			if s.end <= at || s.begin >= end {
				continue
			}
			if s.begin >= at {
				clean.WriteString(was[at-begin : s.begin-begin])
				clean.WriteString(hidden)
			}
			at = min(s.end, end)
		}
		clean.WriteString(was[at-begin:])
		*text = clean.String()
		begin = end
	}
}

// span is a range of a text that is masked.
type span struct{ begin, end int }

// spans returns the ranges to mask, in order; overlapping ranges are merged.
func (m mask) spans(text string) []span {
	var found []span
	for _, form := range m.forms {
		for at := 0; ; {
			i := strings.Index(text[at:], form)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(form)})
			at += i + 1
		}
	}
	for _, s := range redact.Find(text) {
		found = append(found, span{s.Begin, s.End})
	}
	slices.SortFunc(found, func(a, b span) int { return a.begin - b.begin })
	var spans []span
	for _, s := range found {
		if n := len(spans); n > 0 && s.begin < spans[n-1].end {
			spans[n-1].end = max(spans[n-1].end, s.end)
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// excerpt returns the beginning of a text on one line, without secrets or the beginning of one.
func (m mask) excerpt(text string) string {
	first := text[:min(len(text), mostRead)]
	rest := text[len(first):min(len(text), mostRead+max(m.longest, longestShape))]
	m.texts(&first, &rest)
	return excerpt(first)
}

// exchange masks all texts of an exchange.
func (m mask) exchange(x *exchange) {
	m.texts(&x.Request.Model)
	for i := range x.Request.Tools {
		m.texts(&x.Request.Tools[i].Name)
	}
	for _, t := range x.Request.Turns {
		for i := range t.Parts {
			m.texts(&t.Parts[i].Kind)
		}
	}
	if x.Error != nil {
		m.texts(&x.Error.Provider)
		m.texts(&x.Error.Code)
		m.texts(&x.Error.Message)
	}
	m.chunks(x.Chunks)
}

// chunks masks a response whose text and thoughts come in pieces.
func (m mask) chunks(chunks []chunk) {
	var plain, thoughts []*string
	for i := range chunks {
		c := &chunks[i]
		m.texts(&c.ID)
		m.texts(&c.Model)
		for j := range c.Citations {
			m.texts(&c.Citations[j])
		}
		for j := range c.Parts {
			p := &c.Parts[j]
			if p.Thought {
				thoughts = append(thoughts, &p.Text)
			} else {
				plain = append(plain, &p.Text)
			}
			if p.Call != nil {
				m.texts(&p.Call.ID)
				m.texts(&p.Call.Name)
				if p.Call.Args != nil {
					m.texts(p.Call.Args)
				}
			}
			if p.Data != nil {
				p.Data = &model.Data{MIMEType: p.Data.MIMEType, Bytes: p.Data.Bytes, Name: p.Data.Name}
				m.texts(&p.Data.Name)
			}
		}
	}
	m.texts(plain...)
	m.texts(thoughts...)
}

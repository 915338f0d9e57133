package replay

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
)

const (
	shortestHidden = 4 // bytes; shorter texts are found everywhere
	hidden         = redact.Mark
)

// longestShape is how far beyond its end an excerpt is looked at for what has the
// shape of a secret, in bytes.
const longestShape = 1 << 10

// mask takes texts, as keys, and what has the shape of a secret out of a recording.
// The zero value knows no texts.
type mask struct {
	forms   []string // in which they stand in text
	longest int      // of them
}

// newMask hides texts as they are and as they stand in JSON, which may itself be
// a text in JSON, as in the arguments of calls.
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

// texts hides within texts that follow each other, so that what begins in one and
// ends in a later one is found, too. What is hidden leaves a mark where it began.
func (m mask) texts(list ...*string) {
	var b strings.Builder
	for _, text := range list {
		b.WriteString(*text)
	}
	spans := m.spans(b.String())
	if len(spans) == 0 {
		return
	}
	begin := 0 // of the text within them all
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

// span is a piece of a text that is to be hidden.
type span struct{ begin, end int }

// spans returns what is to be hidden, in order; those that overlap are one.
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

// excerpt is the beginning of a text on one line, without what is to be hidden,
// nor the beginning of it.
func (m mask) excerpt(text string) string {
	first := text[:min(len(text), mostRead)]
	rest := text[len(first):min(len(text), mostRead+max(m.longest, longestShape))]
	m.texts(&first, &rest)
	return excerpt(first)
}

// exchange hides in all texts of an exchange.
func (m mask) exchange(x *exchange) {
	m.texts(&x.Request.Model)
	for i := range x.Request.Tools {
		m.texts(&x.Request.Tools[i].Name)
	}
	for _, t := range x.Request.Turns {
		for i := range t.Parts {
			m.texts(&t.Parts[i].What)
		}
	}
	if x.Error != nil {
		m.texts(&x.Error.Provider)
		m.texts(&x.Error.Code)
		m.texts(&x.Error.Message)
	}
	m.chunks(x.Chunks)
}

// chunks hides in an answer, whose words and thoughts come in pieces.
func (m mask) chunks(chunks []chunk) {
	var words, thoughts []*string
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
				words = append(words, &p.Text)
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
	m.texts(words...)
	m.texts(thoughts...)
}

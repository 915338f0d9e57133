// Package websearch asks search services: Gemini's grounding, or any that
// answers a request with JSON.
package websearch

// Answer is what a search gave. All of its text is from outside, so not to be
// trusted.
type Answer struct {
	Text      string   // an answer in prose; "" where the service only lists sources
	Sources   []Source // what was found, the best first
	Citations []Citation
}

// Source is one page that was found. Fields that the service does not tell are
// empty.
type Source struct {
	Title, URL, Snippet string
}

// Citation says what a part of an answer's text rests on.
type Citation struct {
	End     int   // where the part ends, in bytes of Answer.Text
	Sources []int // indexes into Answer.Sources
}

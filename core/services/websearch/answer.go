// Package websearch queries search services: Gemini with Google Search, or any service that
// responds with JSON.
package websearch

// Answer is the result of a search. All its text is from outside and untrusted.
type Answer struct {
	Text      string   // an answer in prose; "" from a service that only lists sources
	Sources   []Source // the results, the best first
	Citations []Citation
}

// Source is one page of the results. Fields that the service omits are empty.
type Source struct {
	Title, URL, Snippet string
}

// Citation links a part of the answer's text to its sources.
type Citation struct {
	End     int   // end of the part, in bytes of Answer.Text
	Sources []int // indexes into Answer.Sources
}

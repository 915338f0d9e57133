package model

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Estimated input tokens of one item of each type.
const (
	imageTokens = 3_000
	pdfTokens   = 25_800
)

// longText is the length in characters above which a text is estimated by its length alone.
const longText = 100_000

// EstimateTokens returns an estimate of the input tokens of r:
//
//   - text and thoughts: 0.25 for each ASCII character, 1.5 for each other; 0.25 a character for texts above 100,000 characters
//   - calls, tool results and tools: 0.25 for each byte of JSON
//   - images: 3,000; PDFs: 25,800; other data: 0.25 for each byte of base64
func EstimateTokens(r *Request) int {
	quarters := textQuarters(r.System) + len(r.ResponseSchema)
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			quarters += partQuarters(p)
		}
	}
	for _, t := range r.Tools {
		quarters += len(t.Name) + textQuarters(t.Description) + len(t.Parameters)
	}
	return quarters / 4
}

func partQuarters(p Part) int {
	quarters := textQuarters(p.Text)
	if p.Data != nil {
		quarters += dataQuarters(*p.Data)
	}
	if p.Call != nil {
		quarters += jsonLength(p.Call)
	}
	if p.Response != nil {
		quarters += len(p.Response.ID) + len(p.Response.Name) + len(p.Response.Response)
		for _, d := range p.Response.Data {
			quarters += dataQuarters(d)
		}
	}
	return quarters
}

func dataQuarters(d Data) int {
	switch {
	case strings.HasPrefix(d.MIMEType, "image/"):
		return 4 * imageTokens
	case d.MIMEType == "application/pdf":
		return 4 * pdfTokens
	}
	return (len(d.Bytes) + 2) / 3 * 4
}

func textQuarters(text string) int {
	// A text of fewer bytes has fewer characters, too.
	if len(text) > longText {
		if n := utf8.RuneCountInString(text); n > longText {
			return n
		}
	}
	quarters := 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			quarters++
		} else {
			quarters += 6
		}
	}
	return quarters
}

func jsonLength(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(raw)
}

// defaultTokenLimit is the limit of an unknown model.
const defaultTokenLimit = 1 << 20

// tokenLimits has the input token limits of model families, as their vendors state them. The first
// matching prefix applies.
var tokenLimits = []struct {
	prefix string
	tokens int
}{
	{"gemini-1.5-pro", 2 << 20},
	{"gemini-", 1 << 20},
	{"gemma-4", 256_000},
	{"gemma-3n", 32_768},
	{"gemma-3-1b", 32_768},
	{"gemma-3", 131_072},
	{"gemma-", 8_192},
	{"claude-opus-4-6", 1_000_000},
	{"claude-opus-4-7", 1_000_000},
	{"claude-opus-4-8", 1_000_000},
	{"claude-opus-4-9", 1_000_000},
	{"claude-opus-5", 1_000_000},
	{"claude-fable", 1_000_000},
	{"claude-", 200_000},
	{"gpt-5-chat", 128_000},
	{"gpt-5.1-chat", 128_000},
	{"gpt-5.2-chat", 128_000},
	{"gpt-5", 272_000},
	{"gpt-4.1", 1_047_576},
	{"gpt-4.5", 128_000},
	{"gpt-4o", 128_000},
	{"gpt-4-turbo", 128_000},
	{"gpt-4-1106", 128_000},
	{"gpt-4-0125", 128_000},
	{"gpt-4-32k", 32_768},
	{"gpt-4", 8_192},
	{"gpt-3.5-turbo", 16_385},
	{"gpt-oss", 131_072},
	{"chatgpt-4o", 128_000},
	{"codex-mini", 200_000},
	{"o1-mini", 128_000},
	{"o1-preview", 128_000},
	{"o1", 200_000},
	{"o3", 200_000},
	{"o4", 200_000},
}

// TokenLimit returns the input token limit of the named model, or 1,048,576 if it is unknown. A
// prefix that ends with a slash, as in models/NAME or VENDOR/NAME, is ignored.
func TokenLimit(name string) int {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if strings.HasPrefix(name, "claude-") {
		name = strings.ReplaceAll(name, ".", "-") // the notation of versions elsewhere
	}
	for _, l := range tokenLimits {
		if strings.HasPrefix(name, l.prefix) {
			return l.tokens
		}
	}
	return defaultTokenLimit
}

package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/model"
)

// placeholder matches {{sha256 "prices.py"}} and the like, or {{"text"}}, which represents the text
// itself.
var placeholder = lazyregexp.New(`\{\{\s*(?:([A-Za-z]\w*)\s+)?("(?:[^"\\]|\\.)*")\s*\}\}`)

// part is a piece of a text with placeholders: a text or a placeholder.
type part struct{ text, kind, of string }

// placeholders splits a text. The error names a placeholder that does not exist.
func placeholders(text string) ([]part, error) {
	var parts []part
	end := 0
	for _, m := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		if m[0] > end {
			parts = append(parts, part{text: text[end:m[0]]})
		}
		end = m[1]
		of, err := strconv.Unquote(text[m[4]:m[5]])
		if err != nil {
			return nil, fmt.Errorf("%s is not quoted correctly", text[m[0]:m[1]])
		}
		if m[2] < 0 {
			parts = append(parts, part{text: of})
			continue
		}
		kind := text[m[2]:m[3]]
		switch kind {
		case "sha256", "version", "content", "path", "value":
		default:
			return nil, fmt.Errorf(`the placeholder %s does not exist; there are sha256, version, content and path of a file, and value of the last result; {{"{{"}} represents two braces`, text[m[0]:m[1]])
		}
		parts = append(parts, part{kind: kind, of: of})
	}
	if end < len(text) {
		parts = append(parts, part{text: text[end:]})
	}
	return parts, nil
}

// filler fills placeholders from a conversation, which it reads at the first placeholder.
type filler struct {
	contents []model.Content
	states   map[string]state
}

// text fills the placeholders in a text.
func (f *filler) text(text string) (string, error) {
	parts, err := placeholders(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.kind == "" {
			b.WriteString(p.text)
			continue
		}
		value, err := f.value(p)
		if err != nil {
			return "", err
		}
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			b.WriteString(plain)
		} else {
			b.Write(value)
		}
	}
	return b.String(), nil
}

// args fills the placeholders in the texts of arguments and keeps every other byte. A text that
// consists of one placeholder becomes its value, which may be a number.
func (f *filler) args(args json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	end := 0
	for _, s := range stringsIn(args) {
		if s.key {
			continue
		}
		parts, err := placeholders(s.text)
		if err != nil {
			return nil, err
		}
		if len(parts) == 0 || (len(parts) == 1 && parts[0].kind == "" && parts[0].text == s.text) {
			continue
		}
		var value json.RawMessage
		if len(parts) == 1 && parts[0].kind != "" {
			value, err = f.value(parts[0])
		} else {
			var filled string
			if filled, err = f.text(s.text); err == nil {
				value, err = json.Marshal(filled)
			}
		}
		if err != nil {
			return nil, err
		}
		out.Write(args[end:s.begin])
		out.Write(value)
		end = s.end
	}
	out.Write(args[end:])
	return out.Bytes(), nil
}

// value returns the value of a placeholder, as JSON.
func (f *filler) value(p part) (json.RawMessage, error) {
	if p.kind == "value" {
		return lastValue(f.contents, p.of)
	}
	if f.states == nil {
		f.states = statesIn(f.contents)
	}
	s, err := find(f.states, p.of)
	if err != nil {
		return nil, err
	}
	switch p.kind {
	case "sha256":
		return json.Marshal(s.SHA256)
	case "path":
		return json.Marshal(s.FilePath)
	case "content":
		return json.Marshal(s.Content)
	}
	return json.Marshal(s.Version)
}

// quotedText is a string in a JSON text.
type quotedText struct {
	begin, end int // including its quotation marks
	text       string
	key        bool // it is the key of an object
}

// stringsIn returns the strings of valid JSON, in order.
func stringsIn(data []byte) []quotedText {
	var found []quotedText
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(data))
		s := quotedText{begin: i, end: end}
		if json.Unmarshal(data[i:end], &s.text) == nil {
			rest := bytes.TrimLeft(data[end:], " \t\r\n")
			s.key = len(rest) > 0 && rest[0] == ':'
			found = append(found, s)
		}
		i = end - 1
	}
	return found
}

// walkStrings calls visit with each string in JSON that is not a key, until an error.
func walkStrings(data []byte, visit func(string) error) error {
	for _, s := range stringsIn(data) {
		if s.key {
			continue
		}
		if err := visit(s.text); err != nil {
			return err
		}
	}
	return nil
}

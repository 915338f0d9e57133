package policy

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/internal/jsonscan"
)

// longText is the number of bytes of a text that a decision does not decode unless a pattern is
// searched in it.
const longText = 4 << 10

// brief is an object of arguments without its long texts.
type brief struct {
	values  map[string]any  // nil: the arguments must be decoded
	omitted map[string]bool // names of the long texts
}

// briefOf returns the arguments without their long texts. It has no values unless params is valid
// JSON.
func briefOf(params json.RawMessage) *brief {
	b := &brief{omitted: map[string]bool{}}
	short := make([]byte, 0, longText)
	var key []byte // the last key of the object itself
	depth, atKey := 0, false
	for i := 0; i < len(params); {
		c := params[i]
		if c != '"' {
			switch c {
			case '{', '[':
				depth++
				atKey = depth == 1 && c == '{'
			case '}', ']':
				depth--
			case ',':
				atKey = depth == 1
			}
			short = append(short, c)
			i++
			continue
		}
		found, ok := jsonscan.String(params, i+1)
		if !ok {
			return b
		}
		text := params[i:found.End]
		i = found.End
		switch {
		case depth == 1 && atKey:
			key, atKey = text, false
		case depth == 1 && len(text) > longText:
			var name string
			if json.Unmarshal(key, &name) != nil {
				return b
			}
			b.omitted[name] = true
			text = []byte(`""`)
		}
		short = append(short, text...)
	}
	if json.Unmarshal(short, &b.values) != nil {
		b.values = nil
	}
	return b
}

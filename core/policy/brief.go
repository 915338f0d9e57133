package policy

import "encoding/json"

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
		end := stringEnd(params, i)
		if end < 0 {
			return b
		}
		text := params[i:end]
		i = end
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

// stringEnd returns the index after the JSON string that begins at i, or -1 if it is not valid.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			continue
		}
		if i++; i >= len(data) {
			return -1
		}
		switch data[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for n := 1; n <= 4; n++ {
				if i+n >= len(data) || !isHex(data[i+n]) {
					return -1
				}
			}
			i += 4
		default:
			return -1
		}
	}
	return -1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

package tools

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/internal/jsonscan"
)

// longText is the length from which a text in arguments, such as the content of a file, is copied instead of being
// scanned again.
const longText = 1 << 10

// validJSON is json.Valid, but faster for long strings. It checks the strings itself, and lets encoding/json check the
// text with empty strings in their places. A quotation mark outside of a string begins one in every text that
// encoding/json reads up to there, so both agree. It also returns the long strings in their order, and whether all
// strings are ASCII; texts without long strings report neither.
func validJSON(data []byte) (long []longString, ascii, valid bool) {
	if len(data) < longText {
		return nil, false, json.Valid(data)
	}
	skeleton := make([]byte, 0, 1<<10)
	ascii = true
	for i := 0; i < len(data); {
		c := data[i]
		skeleton = append(skeleton, c)
		i++
		if c != '"' {
			continue
		}
		text, ok := jsonscan.String(data, i)
		if !ok {
			return nil, false, false
		}
		if text.End-i > longText {
			long = append(long, longString{Text: text, start: i})
		}
		ascii = ascii && text.ASCII
		skeleton = append(skeleton, '"')
		i = text.End
	}
	return long, ascii, json.Valid(skeleton)
}

// longString is a string of JSON text that begins at start, after the quotation mark.
type longString struct {
	jsonscan.Text
	start int
}

// longTexts are the long texts of an object that are written in JSON as appendText writes them, by their keys.
type longTexts map[string]writtenText

// writtenText is a text, and the same in JSON with its quotation marks.
type writtenText struct {
	text string
	json []byte
}

// of returns the JSON of a value at a key; false: it is not known.
func (l longTexts) of(key string, value any) ([]byte, bool) {
	known, ok := l[key]
	text, same := value.(string)
	return known.json, ok && same && text == known.text
}

// Package jsonkeys finds JSON text whose repeated keys decoders may read differently.
package jsonkeys

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/jsonscan"
)

// Check returns an error if decoders may read text differently, so that a decision about it may
// not be about what is run: a key occurs twice in one object, or keys differ only in case. Case
// counts in objects at a depth of at most folded; the object at the root has depth 1. A text that
// is not valid JSON is not examined to its end.
func Check(text json.RawMessage, folded int) error {
	var open []map[string]string // keys of the open objects, by their common spelling; nil for an array
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open = append(open, map[string]string{})
		case '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		case '"':
			found, ok := jsonscan.String(text, i+1)
			if !ok {
				return nil
			}
			name := text[i:found.End]
			i = found.End
			for i < len(text) && text[i] <= ' ' {
				i++
			}
			if i == len(text) || text[i] != ':' { // a value
				i--
				continue
			}
			var key string
			if len(open) == 0 || open[len(open)-1] == nil || json.Unmarshal(name, &key) != nil {
				return nil
			}
			common := key
			if len(open) <= folded {
				common = strings.ToLower(strings.ToUpper(key)) // one letter may have several of one case
			}
			keys := open[len(open)-1]
			if other, again := keys[common]; again && other != key {
				return fmt.Errorf("the keys %q and %q differ only in case", other, key)
			} else if again {
				return fmt.Errorf("the key %q occurs twice in one object", key)
			}
			keys[common] = key
		}
	}
	return nil
}

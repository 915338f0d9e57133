package display

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Members returns the members of a JSON object in their order.
func Members(object json.RawMessage) (names []string, values []json.RawMessage, err error) {
	if len(object) == 0 {
		return nil, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // the brace
		return nil, nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, err
		}
		names, values = append(names, fmt.Sprint(name)), append(values, value)
	}
	return names, values, nil
}

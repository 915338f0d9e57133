package wire

import "encoding/json"

// Edit returns raw with the value at path replaced by the result of edit. Each step of path is a
// key of an object, or * for every element of a list. A path that does not exist or match changes
// nothing. Numbers elsewhere keep all their digits.
func Edit(raw []byte, edit func(json.RawMessage) (json.RawMessage, error), path ...string) (json.RawMessage, error) {
	if len(path) == 0 {
		return edit(raw)
	}
	if path[0] == "*" {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || list == nil {
			return raw, nil
		}
		for i := range list {
			edited, err := Edit(list[i], edit, path[1:]...)
			if err != nil {
				return nil, err
			}
			list[i] = edited
		}
		return json.Marshal(list)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return raw, nil
	}
	value, ok := object[path[0]]
	if !ok {
		return raw, nil
	}
	edited, err := Edit(value, edit, path[1:]...)
	if err != nil {
		return nil, err
	}
	object[path[0]] = edited
	return json.Marshal(object)
}

package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// state is a state object of a tool result: path, version, hash and content.
type state struct {
	FilePath string `json:"file_path"`
	Version  int64  `json:"version"`
	SHA256   string `json:"sha256"`
	Content  string `json:"content"`
}

// statesIn returns the newest state object of each file in the conversation, by path. It searches
// all tool results and prompts.
func statesIn(contents []model.Content) map[string]state {
	states := map[string]state{}
	for _, c := range contents {
		for _, p := range c.Parts {
			switch {
			case p.Response != nil:
				collect(states, p.Response.Response)
			case c.Role != model.RoleModel:
				collectText(states, p.Text)
			}
		}
	}
	return states
}

// collect adds the state objects in a JSON value.
func collect(states map[string]state, data []byte) {
	if !bytes.Contains(data, []byte("sha256")) {
		return
	}
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var text string
	switch {
	case json.Unmarshal(data, &object) == nil:
		var s state
		if json.Unmarshal(data, &s) == nil && s.FilePath != "" && s.SHA256 != "" && s.Version >= states[s.FilePath].Version {
			states[s.FilePath] = s
		}
		for _, v := range object {
			collect(states, v)
		}
	case json.Unmarshal(data, &list) == nil:
		for _, v := range list {
			collect(states, v)
		}
	case json.Unmarshal(data, &text) == nil:
		collectText(states, text)
	}
}

// collectText adds the state objects in JSON objects within a text.
func collectText(states map[string]state, text string) {
	end := strings.LastIndex(text, `"sha256"`)
	for at := 0; at < end; {
		begin := strings.IndexByte(text[at:end], '{')
		if begin < 0 {
			return
		}
		at += begin
		var object json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		if dec.Decode(&object) != nil {
			at++
			continue
		}
		collect(states, object)
		at += int(dec.InputOffset())
	}
}

// find returns the state object of a file by its path or the end of its path.
func find(states map[string]state, name string) (state, error) {
	if s, ok := states[name]; ok {
		return s, nil
	}
	var matches []string
	for path := range states {
		if strings.HasSuffix(strings.ReplaceAll(path, `\`, "/"), "/"+name) {
			matches = append(matches, path)
		}
	}
	switch len(matches) {
	case 0:
		return state{}, fmt.Errorf("no tool has returned a hash of %s so far", name)
	case 1:
		return states[matches[0]], nil
	}
	slices.Sort(matches)
	return state{}, fmt.Errorf("%s matches several files: %s", name, strings.Join(matches, ", "))
}

// lastValue returns a value of the newest tool result by its path: keys and list indexes, separated
// by dots.
func lastValue(contents []model.Content, path string) (json.RawMessage, error) {
	for _, c := range slices.Backward(contents) {
		responses := c.Responses()
		if len(responses) == 0 {
			continue
		}
		for _, r := range slices.Backward(responses) {
			if value, ok := valueAt(r.Response, strings.Split(path, ".")); ok {
				return value, nil
			}
		}
		return nil, fmt.Errorf("the last result of a tool has no %s", path)
	}
	return nil, fmt.Errorf("no tool has returned a result so far, so there is no %s", path)
}

// valueAt follows a path into JSON, and into JSON within strings.
func valueAt(data json.RawMessage, path []string) (json.RawMessage, bool) {
	if len(path) == 0 {
		return data, true
	}
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var text string
	switch {
	case json.Unmarshal(data, &object) == nil:
		value, ok := object[path[0]]
		if !ok {
			return nil, false
		}
		return valueAt(value, path[1:])
	case json.Unmarshal(data, &list) == nil:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		return valueAt(list[i], path[1:])
	case json.Unmarshal(data, &text) == nil && json.Valid([]byte(text)):
		return valueAt(json.RawMessage(text), path)
	}
	return nil, false
}

package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// condition is a condition on a request. Every field that is set must match. Tool, Error, OK,
// Result and Without must match the same tool result of the last turn.
type condition struct {
	Purpose  model.Purpose `json:"purpose"`  // purpose of the request
	System   string        `json:"system"`   // substring of the system prompt
	Prompt   string        `json:"prompt"`   // substring of the newest user turn that has text
	Declared []string      `json:"declared"` // tools that are declared

	Tool    string `json:"tool"`    // name of the tool
	Error   string `json:"error"`   // code of its error
	OK      bool   `json:"ok"`      // the result has no error
	Result  string `json:"result"`  // substring of the result or of its texts
	Without string `json:"without"` // text that the result does not contain
}

// missing describes the field that does not match a request; "" if all of them match.
func (c *condition) missing(r *model.Request) string {
	if c == nil {
		return ""
	}
	switch {
	case c.Purpose != "" && c.Purpose != cmp.Or(r.Purpose, model.PurposeMain):
		return fmt.Sprintf("a request for %q, and it is for %q", c.Purpose, cmp.Or(r.Purpose, model.PurposeMain))
	case !strings.Contains(r.System, c.System):
		return fmt.Sprintf("%q in the system prompt, which does not contain it", c.System)
	case !strings.Contains(prompt(r.Contents), c.Prompt):
		return fmt.Sprintf("%q in the prompt, which does not contain it", c.Prompt)
	}
	for _, name := range c.Declared {
		if !declares(r.Tools, name) {
			return fmt.Sprintf("the tool %q, which is not offered", name)
		}
	}
	if c.Tool == "" && c.Error == "" && !c.OK && c.Result == "" && c.Without == "" {
		return ""
	}
	return c.missingAnswer(r)
}

// missingAnswer searches for a tool result that matches.
func (c *condition) missingAnswer(r *model.Request) string {
	var last []model.FunctionResponse
	if n := len(r.Contents); n > 0 {
		last = r.Contents[n-1].Responses()
	}
	if len(last) == 0 {
		return "a result of a tool in the last turn, which has none"
	}
	found := make([]string, 0, len(last))
	for _, response := range last {
		code, all := readResponse(response.Response)
		if (c.Tool == "" || c.Tool == response.Name) && (c.Error == "" || c.Error == code) && (!c.OK || code == "") &&
			strings.Contains(all, c.Result) && (c.Without == "" || !strings.Contains(all, c.Without)) {
			return ""
		}
		state := "success"
		if code != "" {
			state = "the error " + code
		}
		found = append(found, response.Name+": "+state)
	}
	return c.wanted() + "; the last turn has " + strings.Join(found, "; ")
}

// wanted describes the tool result that c requires.
func (c *condition) wanted() string {
	text := "a result"
	if c.Tool != "" {
		text += " of " + c.Tool
	}
	if c.Error != "" {
		text += " with the error " + c.Error
	}
	if c.OK {
		text += " without an error"
	}
	if c.Result != "" {
		text += fmt.Sprintf(" that contains %q", c.Result)
	}
	if c.Without != "" {
		text += fmt.Sprintf(" that does not contain %q", c.Without)
	}
	return text
}

// readResponse returns the error code of a tool result, and all of its text: its strings decoded,
// and its JSON.
func readResponse(response json.RawMessage) (code, all string) {
	var keys struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(response, &keys) == nil && len(keys.Error) > 0 && string(keys.Error) != "null" {
		var e struct {
			Type string `json:"type"`
		}
		code = "unknown"
		if json.Unmarshal(keys.Error, &e) == nil && e.Type != "" {
			code = e.Type
		}
	}
	var b strings.Builder
	b.Write(response)
	_ = walkStrings(response, func(text string) error { // the func returns no error, and invalid JSON is in b already
		b.WriteByte('\n')
		b.WriteString(text)
		return nil
	})
	return code, b.String()
}

// prompt returns the text of the newest user turn that has some.
func prompt(contents []model.Content) string {
	for i := len(contents) - 1; i >= 0; i-- {
		if contents[i].Role != model.RoleModel {
			if text := contents[i].Text(); text != "" {
				return text
			}
		}
	}
	return ""
}

func declares(tools []model.Tool, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

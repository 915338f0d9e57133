package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// Condition is about a request. All of its fields that are set must hold; Tool,
// Error, OK, Result and Without for one and the same of the answers of tools in
// the last turn.
type Condition struct {
	Purpose  model.Purpose `json:"purpose,omitempty"`  // what the request is for
	System   string        `json:"system,omitempty"`   // is in the system prompt
	Prompt   string        `json:"prompt,omitempty"`   // is in the newest turn of the user's that has words
	Declared []string      `json:"declared,omitempty"` // tools that are offered

	Tool    string `json:"tool,omitempty"`    // answered
	Error   string `json:"error,omitempty"`   // the code of its error
	OK      bool   `json:"ok,omitempty"`      // it has no error
	Result  string `json:"result,omitempty"`  // is in the answer, whose texts are looked through
	Without string `json:"without,omitempty"` // is not
}

// missing returns what does not hold for a request; "": all does.
func (c *Condition) missing(r *model.Request) string {
	if c == nil {
		return ""
	}
	switch {
	case c.Purpose != "" && c.Purpose != cmp.Or(r.Purpose, model.PurposeMain):
		return fmt.Sprintf("a request for %q, and it is for %q", c.Purpose, cmp.Or(r.Purpose, model.PurposeMain))
	case !strings.Contains(r.System, c.System):
		return fmt.Sprintf("%q in the system prompt, where it is not", c.System)
	case !strings.Contains(prompt(r.Contents), c.Prompt):
		return fmt.Sprintf("%q in the prompt, where it is not", c.Prompt)
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

// missingAnswer looks for an answer of a tool that fits.
func (c *Condition) missingAnswer(r *model.Request) string {
	var last []model.FunctionResponse
	if n := len(r.Contents); n > 0 {
		last = r.Contents[n-1].Responses()
	}
	if len(last) == 0 {
		return "an answer of a tool in the last turn, which has none"
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
	return c.wanted() + ", and there is " + strings.Join(found, "; ")
}

// wanted says in words which answer is wanted.
func (c *Condition) wanted() string {
	text := "an answer"
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
		text += fmt.Sprintf(" that holds %q", c.Result)
	}
	if c.Without != "" {
		text += fmt.Sprintf(" that does not hold %q", c.Without)
	}
	return text
}

// readResponse returns the code of the error in a tool's answer, and all that
// the answer says: its texts as they are, and its JSON.
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
	_ = walkStrings(response, func(text string) error { // the func returns no error, and what is no JSON is in b already
		b.WriteByte('\n')
		b.WriteString(text)
		return nil
	})
	return code, b.String()
}

// prompt returns the words of the newest turn of the user's that has some.
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

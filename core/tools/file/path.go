package file

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// displayWidth is the maximum length of a displayed path in characters.
const displayWidth = 80

// short returns the path relative to its workspace directory on one line, with the middle of a long one omitted.
func short(p workspace.Path) string { return shorten(p.Rel()) }

func shorten(path string) string { return escape.Middle(escape.Quoted(path), displayWidth, "/.../") }

// rename moves the argument old to name unless name is present too.
func rename(args map[string]json.RawMessage, old, name string) {
	v, ok := args[old]
	if !ok {
		return
	}
	if _, both := args[name]; both {
		return
	}
	args[name] = v
	delete(args, old)
}

// take removes an undeclared argument and returns its text, a JSON string without its quotes; ok is false if it was
// absent or null.
func take(args map[string]json.RawMessage, name string) (text string, ok bool) {
	text = strings.TrimSpace(string(args[name]))
	delete(args, name)
	if text == "" || text == "null" {
		return "", false
	}
	var unquoted string
	if json.Unmarshal([]byte(text), &unquoted) == nil {
		text = unquoted
	}
	return text, true
}

// nonEmpty rejects an empty or blank path parameter.
func nonEmpty(parameter, value string) error {
	if strings.TrimSpace(value) == "" {
		return badParameter("The '"+parameter+"' parameter must be non-empty.",
			"Pass a path, absolute or relative to the target directory.")
	}
	return nil
}

// badParameter returns the error for a parameter that violates a rule of the tool.
func badParameter(message, remedy string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "file.validate", message, remedy)
	e.Short = "Invalid arguments"
	return e
}

package file

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// displayWidth is the length in characters beyond which a path is shortened.
const displayWidth = 80

// short returns the path relative to its workspace directory on one line, with
// its middle left out where it is long (TO-02).
func short(p workspace.Path) string { return shorten(p.Rel()) }

func shorten(path string) string { return escape.Middle(escape.Quoted(path), displayWidth, "/.../") }

// rename moves the argument old to name unless name is given too.
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

// take removes an argument that is not declared and returns its text, a JSON
// string without its quotes; ok is false if it was not given, or was null.
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

// nonEmpty refuses an empty or blank path parameter (TO-02).
func nonEmpty(parameter, value string) error {
	if strings.TrimSpace(value) == "" {
		return badParameter("The '"+parameter+"' parameter must be non-empty.",
			"Give a path, absolute or relative to the target directory.")
	}
	return nil
}

// badParameter refuses a parameter by a rule of the tool's own.
func badParameter(message, remedy string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "file.validate", message, remedy)
	e.Short = "Invalid arguments"
	return e
}

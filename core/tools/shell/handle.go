package shell

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
)

// rewriteHandle accepts the PID of a process instead of its id.
func rewriteHandle(args map[string]json.RawMessage) error {
	rename(args, "pid", "id")
	if number := strings.TrimSpace(string(args["id"])); number != "" && strings.Trim(number, "0123456789") == "" {
		args["id"] = json.RawMessage(`"` + number + `"`)
	}
	return nil
}

func validHandle(id string) error {
	if strings.TrimSpace(id) == "" {
		return badParameter("The 'id' parameter must be non-empty.", "Pass the id of a background process, such as p1; "+ListBackground+" lists them.")
	}
	return nil
}

// handle returns the id of a process given by its id or PID. If several processes have had that PID, it is the latest.
func handle(r Reader, id string) string {
	pid, err := strconv.Atoi(id)
	if err != nil {
		return id
	}
	for _, i := range r.List() {
		if i.PID == pid {
			id = i.ID
		}
	}
	return id
}

// known describes a background process for the user, or returns the id of an unknown one.
func known(r Reader, id string) string {
	id = handle(r, id)
	for _, i := range r.List() {
		if i.ID == id {
			return state(i)
		}
	}
	return printable(id)
}

// question asks for approval of an action on a background process.
func question(title, prompt string) *tools.Confirmation {
	return &tools.Confirmation{Type: tools.ConfirmInfo, Title: title, InfoDetails: &tools.InfoDetails{Prompt: prompt}}
}

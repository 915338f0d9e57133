package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// childVariable is the variable with the task of a child process, which runs this program again so
// that its memory can be measured; see runChild.
const childVariable = "FETTLE_BENCH_CHILD"

// childTask is the content of the variable, as JSON.
type childTask struct {
	// Sessions is the number of sessions to create; 0: none.
	Sessions int `json:"sessions,omitempty"`
	// Use makes each session read a file.
	Use bool `json:"use,omitempty"`
	// Search is the key of one of searchCalls, which is made once in Tree; "": none.
	Search string `json:"search,omitempty"`
	Tree   string `json:"tree,omitempty"`
}

// runChild runs the task in childVariable, and reports whether there was one. The result of a task
// goes to stdout as JSON.
func runChild(ctx context.Context) (bool, error) {
	text := os.Getenv(childVariable)
	if text == "" {
		return false, nil
	}
	var t childTask
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return true, fmt.Errorf("%s is reserved for this program: %w", childVariable, err)
	}
	if t.Search != "" {
		return true, searchOnce(ctx, t.Tree, t.Search)
	}
	r, err := makeSessions(ctx, t)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(os.Stdout).Encode(r)
}

// child returns a command that runs this program with a task.
func (l *Lab) child(ctx context.Context, t childTask) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	task, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	environment, err := l.Environment(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Dir, cmd.Env = l.Dir, append(environment, childVariable+"="+string(task))
	return cmd, nil
}

// outputOf runs a command and decodes its JSON output.
func outputOf[T any](cmd *exec.Cmd) (v T, err error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return v, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return v, json.Unmarshal(out, &v)
}

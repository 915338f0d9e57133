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

// childVariable tells this program, started again by itself, what one process is
// to do whose memory is measured; see runChild.
const childVariable = "FETTLE_BENCH_CHILD"

// childTask is what the variable holds, as JSON.
type childTask struct {
	// Sessions is how many are made; 0: none.
	Sessions int `json:"sessions,omitempty"`
	// Use has each session read a file.
	Use bool `json:"use,omitempty"`
	// Search is the key of one of searchCalls, made once in Tree; "": none.
	Search string `json:"search,omitempty"`
	Tree   string `json:"tree,omitempty"`
}

// runChild does what childVariable says and reports whether there was
// something to do. What a task finds out goes to stdout, as JSON.
func runChild(ctx context.Context) (bool, error) {
	text := os.Getenv(childVariable)
	if text == "" {
		return false, nil
	}
	var t childTask
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return true, fmt.Errorf("%s is for this program alone: %w", childVariable, err)
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

// child returns this program as a command with a task.
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

// outputOf runs a command and decodes the JSON that it prints.
func outputOf[T any](cmd *exec.Cmd) (v T, err error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return v, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return v, json.Unmarshal(out, &v)
}

package decide

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
)

// maxAnswer is the maximum size of an answer of fettle.
const maxAnswer = 4 << 20

// question is a line of fettle policy check --batch.
type question struct {
	Tool        string              `json:"tool"`
	Args        json.RawMessage     `json:"args"`
	Mode        policy.ApprovalMode `json:"approval_mode,omitempty"`
	Interactive bool                `json:"interactive"`
	Subagent    string              `json:"subagent,omitempty"`
}

// reply is its answer.
type reply struct {
	confirmation.Explanation
	Checkers []json.RawMessage `json:"checkers"`
	Error    json.RawMessage   `json:"error"`
}

// ask asks fettle, which opens a session with all settings and extensions.
func (e *Engine) ask(ctx context.Context, call Call) (reply, error) {
	program := findFettle()
	if program == "" {
		return reply{}, errors.New("the program fettle was not found")
	}
	args := []string{program, "policy", "check", "--batch", "--cwd", e.policy.Dir()}
	if e.options.Layout != "" {
		args = append(args, "--layout", e.options.Layout)
	}
	for _, path := range e.options.Policy {
		args = append(args, "--policy", path)
	}
	line, err := json.Marshal(question{Tool: call.Tool, Args: call.Args, Mode: call.Mode, Interactive: !call.Headless, Subagent: call.Subagent})
	if err != nil {
		return reply{}, err
	}
	text, err := run(ctx, args, append(os.Environ(), e.prefix+"SANDBOX=none"), line) // the agent confines no command
	if err != nil {
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil || r.Error != nil || r.Decision == "" {
		return reply{}, errors.New("fettle policy check gave no decision")
	}
	return r, nil
}

// findFettle returns the file of the program fettle: beside this program, otherwise in
// an absolute directory of PATH; "" for none.
func findFettle() string {
	name := "fettle"
	if runtime.GOOS == "windows" {
		name = "fettle.exe"
	}
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if own, err := os.Executable(); err == nil {
		dirs = append([]string{filepath.Dir(own)}, dirs...)
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(file) && err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// run runs a program with a text as stdin and returns its stdout. It uses no package
// os/exec, which would enlarge the program for hooks.
func run(ctx context.Context, args, environ []string, in []byte) ([]byte, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	nowhere, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // nil: a closed stderr
	process, err := os.StartProcess(args[0], args, &os.ProcAttr{Env: environ, Files: []*os.File{inRead, outWrite, nowhere}})
	err = errors.Join(err, inRead.Close(), outWrite.Close())
	if nowhere != nil {
		_ = nowhere.Close()
	}
	if process == nil {
		return nil, errors.Join(err, inWrite.Close(), outRead.Close())
	}
	stop := context.AfterFunc(ctx, func() {
		_ = process.Kill() // it has ended already, or ends now
		_ = outRead.Close()
	})
	defer stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = inWrite.Write(append(in, '\n')) // a program that reads no stdin gives no decision
		_ = inWrite.Close()
	}()
	text, readErr := io.ReadAll(io.LimitReader(outRead, maxAnswer))
	_ = outRead.Close()
	<-sent
	_, waitErr := process.Wait()
	return text, errors.Join(err, readErr, waitErr, ctx.Err())
}

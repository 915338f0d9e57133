// Package child runs the process of an MCP server that is used over its stdin and
// stdout: with a restricted environment, in a group of its own, and without
// survivors. It does not know the protocol.
package child

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options describe a process.
type Options struct {
	Server  string            // name of the server, which its environment contains
	Command string            // name on the PATH, or path
	Args    []string          // without the command
	Dir     string            // working directory; "": that of this process
	Environ []string          // NAME=VALUE; the process receives a few of these, such as PATH
	Env     map[string]string // variables that the process receives in addition
	Grace   time.Duration     // of each step of End
	// Hide masks secrets in the output on stderr. nil: nothing is masked.
	Hide func(string) string
	// Stderr receives the output on stderr, besides Process.Stderr. nil: nothing.
	Stderr io.Writer
	// Start starts cmd instead of cmd.Start; ended is called once the process has
	// ended. nil: cmd.Start.
	Start func(ctx context.Context, cmd *exec.Cmd) (ended func(), err error)
}

// Process is a running process. The caller must close Stdin and call End.
type Process struct {
	Stdin, Stdout *os.File

	grace   time.Duration
	cmd     *exec.Cmd
	group   group
	stderr  *os.File
	last    *tail
	ended   func()
	exited  chan struct{}
	drained chan struct{} // closed when stderr has been read to its end
}

// Start starts a process. The error is a *fault.Error of code
// mcp_server_unavailable, whose message has sentences about the program and whose
// cause may be [fs.ErrNotExist] or [fs.ErrPermission]. If the program was found
// but could not be started, it is the error of Options.Start.
func Start(ctx context.Context, o Options) (*Process, error) {
	dir := cmp.Or(o.Dir, ".")
	if !filepath.IsAbs(dir) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, failure("Its working directory is unknown.", "Set an absolute cwd in its settings.", err)
		}
		dir = absolute
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, failure("Its working directory "+dir+" does not exist.", "Correct cwd in its settings.", err)
	}
	environment := environment(o.Environ, o.Env, o.Server)
	path, err := findProgram(o.Command, dir, environment)
	if err != nil {
		what, remedy := "There is no program "+o.Command+" on the PATH.", "Install it, or set the absolute path of the program as command in its settings."
		switch {
		case errors.Is(err, fs.ErrPermission):
			what, remedy = "The file "+o.Command+" cannot be executed.", "Make it executable, or correct command in its settings."
		case strings.ContainsAny(o.Command, `/\`):
			what = "There is no program " + o.Command + "."
		}
		return nil, failure(what, remedy, err)
	}
	p := &Process{grace: o.Grace, last: &tail{hide: o.Hide, out: o.Stderr}, exited: make(chan struct{}), drained: make(chan struct{})}
	p.cmd = &exec.Cmd{Path: path, Args: append([]string{path}, o.Args...), Env: environment, Dir: dir}
	if err := p.start(ctx, o); err != nil {
		return nil, err
	}
	return p, nil
}

func failure(what, remedy string, cause error) *fault.Error {
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.start", what, remedy, cause)
}

func (p *Process) start(ctx context.Context, o Options) (err error) {
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	childIn, stdin := pipe()
	stdout, childOut := pipe()
	stderr, childErr := pipe()
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, childErr
		p.group, err = launch(p.cmd, func(cmd *exec.Cmd) (err error) {
			if o.Start == nil {
				return cmd.Start()
			}
			p.ended, err = o.Start(ctx, cmd)
			return err
		})
	}
	if err != nil {
		for _, f := range files {
			_ = f.Close()
		}
		return err
	}
	for _, f := range []*os.File{childIn, childOut, childErr} {
		_ = f.Close()
	}
	p.Stdin, p.Stdout, p.stderr = stdin, stdout, stderr
	go func() {
		defer close(p.drained)
		p.last.drain(stderr)
	}()
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the state is more specific
	}()
	return nil
}

// Exited returns a channel that is closed when the process has exited. Its
// descendants may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stderr returns the last lines of stderr, without line breaks.
func (p *Process) Stderr() []string { return p.last.lines() }

// Ending describes how the process has ended as a clause, such as "exited with
// status 1". It waits briefly for the exit and returns "" if there is none.
func (p *Process) Ending() string {
	if !p.wait(p.exited) {
		return ""
	}
	p.wait(p.drained)
	return ending(p.cmd.ProcessState)
}

// End ends the process and its whole group. It waits for a process whose stdin is
// closed, then sends SIGTERM, then SIGKILL. It returns when nothing is left that
// can be terminated.
func (p *Process) End() {
	if !p.wait(p.exited) {
		p.group.terminate()
		if !p.wait(p.exited) {
			p.group.kill()
			<-p.exited
		}
	}
	if p.group.lives() { // a descendant is still running
		p.group.terminate()
		step := time.NewTicker(5 * time.Millisecond)
		defer step.Stop()
		for end := time.Now().Add(p.grace); p.group.lives() && time.Now().Before(end); {
			<-step.C
		}
		p.group.kill()
	}
	p.group.release()
	if p.ended != nil {
		p.ended()
	}
	if !p.wait(p.drained) { // by a process that has left the group
		_ = p.stderr.Close()
		<-p.drained
	}
	_ = p.Stdout.Close()
	_ = p.stderr.Close()
}

// wait waits for the end of a shutdown step, at most for the grace period.
func (p *Process) wait(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(p.grace):
		return false
	}
}

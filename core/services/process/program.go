package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Program is an executable to run directly, without a shell.
type Program struct {
	// Path is the executable; required, unless Line is set. A plain name is looked up on the PATH
	// of this process; any other relative path starts at Dir.
	Path string
	Args []string // without the program name
	Line string   // a command line for the shell, instead of Path and Args
	Dir  string   // absolute directory to run in; required
	Env  []string // NAME=VALUE, in addition to the environment of commands

	Stdin []byte // the whole input, followed by its end
	// MaxBytes ends a program that prints more to stdout or to stderr. Zero: 10 MiB.
	MaxBytes int64
	// Drops discards output beyond MaxBytes instead of ending the program; see Output.Dropped.
	Drops bool
	// Total is the time limit of the program. Zero: Options.Total; negative: no limit.
	Total time.Duration
}

// Output is the result of a program that was started.
type Output struct {
	Exit
	Ending         Ending
	Duration       time.Duration
	Stdout, Stderr []byte // as printed, each at most Program.MaxBytes
	Dropped        int64  // bytes of both discarded beyond that, with Program.Drops
}

// Program runs a program and returns when it has ended, as [Service.Run] does for a command: in a
// session of its own, with the environment of commands, but with separate stdout and stderr. The
// program and every process that it started are ended when ctx ends, at a limit, or by Close;
// Output.Ending reports that, and the error is nil.
//
// A program is never confined: Options.Confinement applies to commands that a model wrote, and the
// user chose the program.
//
// Errors: execution_failed if the program could not be started, cancelled if ctx had ended before,
// not_initialized after Close.
func (s *Service) Program(ctx context.Context, p Program) (Output, error) {
	const op = "process.program"
	if err := ctx.Err(); err != nil {
		return Output{}, fault.Wrap(fault.Cancelled, op, "The program was cancelled before it began.", "", err)
	}
	done, err := s.enter(op)
	if err != nil {
		return Output{}, err
	}
	defer done()
	over := make(chan struct{})
	exceed := sync.OnceFunc(func() { close(over) })
	limit := cmp.Or(p.MaxBytes, 10<<20)
	if p.Drops {
		exceed = func() {}
	}
	stdout, stderr := &capped{max: limit, exceed: exceed}, &capped{max: limit, exceed: exceed}
	child, stdin, err := s.startProgram(p, stdout, stderr)
	if err != nil {
		return Output{}, fault.Wrap(fault.ExecutionFailed, op, fmt.Sprintf("The program %.200q could not be started: %v.", cmp.Or(p.Path, p.Line), err),
			"Check that it exists and is executable, and check the working directory.", err)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		_, _ = stdin.Write(p.Stdin) // the program need not read it
		_ = stdin.Close()
	})
	o := Output{Ending: child.supervise(ctx, limits{total: cmp.Or(p.Total, s.o.Total), idle: -1, grace: s.o.Grace, over: over}, s.closing)}
	var left group
	o.Exit, left = child.finish()
	o.Duration = time.Since(child.began)
	_ = stdin.Close()
	writing.Wait()
	s.leaveBehind(left)
	o.Stdout, o.Stderr = stdout.kept, stderr.kept
	if p.Drops {
		o.Dropped = stdout.dropped + stderr.dropped
	} else if stdout.dropped+stderr.dropped > 0 {
		o.Ending = OutputLimit
	}
	return o, nil
}

// startProgram starts a program and returns the write end of its stdin.
func (s *Service) startProgram(p Program, stdout, stderr *capped) (*child, *os.File, error) {
	path, args, err := s.programOf(p)
	if err != nil {
		return nil, nil, err
	}
	pipes, err := openPipes()
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(pipes.childs[:])
	cookie := s.newCookie()
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // that is what it is for; ended as a group
	cmd.Dir, cmd.Env = p.Dir, append(s.environment(p.Dir, cookie), p.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.childs[0], pipes.childs[1], pipes.childs[2]
	child := s.newChild(cmd, cookie, unconfined{})
	stdin := pipes.ours[0]
	if err := child.start(stream{pipes.ours[1], stdout.write}, stream{pipes.ours[2], stderr.write}); err != nil {
		_ = stdin.Close()
		return nil, nil, err
	}
	return child, stdin, nil
}

// programOf returns the executable to start, and its arguments.
func (s *Service) programOf(p Program) (path string, args []string, err error) {
	if p.Line == "" {
		path, err = findProgram(p.Path, p.Dir)
		return path, p.Args, err
	}
	path, err = s.shell()
	line := p.Line
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // otherwise the shell would parse it as options
	}
	return path, []string{"-c", line}, err
}

// findProgram returns the path of an executable that is to run in dir.
func findProgram(path, dir string) (string, error) {
	switch {
	case filepath.Base(path) == path:
		return exec.LookPath(path)
	case !filepath.IsAbs(path):
		return filepath.Join(dir, path), nil
	}
	return path, nil
}

// pipes are stdin, stdout and stderr: the child's ends and this process's ends.
type pipes struct{ childs, ours [3]*os.File }

func openPipes() (*pipes, error) {
	p := new(pipes)
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(p.childs[:i])
			closeAll(p.ours[:i])
			return nil, err
		}
		if p.childs[i], p.ours[i] = w, r; i == 0 {
			p.childs[i], p.ours[i] = r, w
		}
	}
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// capped keeps an output up to a limit.
type capped struct {
	kept    []byte
	max     int64
	dropped int64  // bytes
	exceed  func() // called when bytes are dropped
}

func (c *capped) write(p []byte) {
	if room := c.max - int64(len(c.kept)); int64(len(p)) > room {
		c.dropped += int64(len(p)) - room
		p = p[:room]
		c.exceed()
	}
	c.kept = append(c.kept, p...)
}

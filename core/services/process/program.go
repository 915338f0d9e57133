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

// Program is an executable to run as it is: no shell sees its arguments.
type Program struct {
	// Path is the executable; required, but with Line. A name alone is looked up on
	// the PATH of this process, any other relative path starts at Dir.
	Path string
	Args []string // without the name
	Line string   // a line for the shell, in the place of Path and Args; "": these
	Dir  string   // absolute directory to run in; required
	Env  []string // NAME=VALUE, beside the environment of commands

	Stdin []byte // all that it can read, and then the end
	// MaxBytes ends a program that prints more, to stdout or to stderr. Zero: 10
	// MiB.
	MaxBytes int64
	// Drops reads on instead, and drops what is more; see Output.Dropped.
	Drops bool
	// Total ends one that runs longer. Zero: Options.Total; negative: no limit.
	Total time.Duration
}

// Output is what a program that was started gave.
type Output struct {
	Exit
	Ending         Ending
	Duration       time.Duration
	Stdout, Stderr []byte // as they were printed, each at most Program.MaxBytes
	Dropped        int64  // bytes of both that were printed beyond that, with Program.Drops
}

// Program runs a program and returns when it has ended, as [Service.Run] does
// a command: in a session of its own, with the environment of commands, its
// stdout and stderr apart. It is ended with all that it has started when ctx
// ends, at a limit, or by Close; that is told by Output.Ending and is no error.
//
// A program is not confined, whatever Options.Confinement says: that holds for
// what a model wrote, and a program was chosen by the user.
//
// Errors: execution_failed where the program could not be started, cancelled
// where ctx had ended before, not_initialized after Close.
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
			"Check that it exists, that it may be executed, and the directory that it is to run in.", err)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		_, _ = stdin.Write(p.Stdin) // it need not read
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

// startProgram starts a program and returns where its stdin is written to.
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
	if err := child.start(stream{pipes.ours[1], stdout.take}, stream{pipes.ours[2], stderr.take}); err != nil {
		_ = stdin.Close()
		return nil, nil, err
	}
	return child, stdin, nil
}

// programOf returns what is to be started, and its arguments.
func (s *Service) programOf(p Program) (path string, args []string, err error) {
	if p.Line == "" {
		path, err = findProgram(p.Path, p.Dir)
		return path, p.Args, err
	}
	path, err = s.shell()
	line := p.Line
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // which the shell would take for its options
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

// pipes are stdin, stdout and stderr: the child's ends, and ours.
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

// capped keeps an output as long as it is not too long.
type capped struct {
	kept    []byte
	max     int64
	dropped int64  // bytes
	exceed  func() // called when some are
}

func (c *capped) take(p []byte) {
	if room := c.max - int64(len(c.kept)); int64(len(p)) > room {
		c.dropped += int64(len(p)) - room
		p = p[:room]
		c.exceed()
	}
	c.kept = append(c.kept, p...)
}

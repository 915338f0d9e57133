package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

	// Confine is ConfineWrite or ConfineRead for a program that is confined by Options.Confinement,
	// as commands are, and otherwise runs unconfined. A confined program receives no key of a model
	// provider. If it cannot be confined, it is not started. Containers confine no programs.
	Confine Confine

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

	Removed     []string // as in [Result]
	RemoveError error    // as in [Result]
	Unrecorded  error    // as in [Result]
}

// Program runs a program and returns when it has ended, as [Service.Run] does for a command: in a
// session of its own, with the environment of commands, but with separate stdout and stderr. The
// program and every process that it started are ended when ctx ends, at a limit, or by Close;
// Output.Ending reports that, and the error is nil.
//
// Unless p.Confine requests it, a program is not confined: Options.Confinement applies to commands
// that a model wrote, and the user chose the program. With Confinement.Overlays each program is confined.
//
// Errors: execution_failed if the program could not be started, invalid_config if it cannot be
// confined, fork_unsupported if it cannot run in overlays, cancelled if ctx had ended before, not_initialized after Close.
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
	child, stdin, err := s.startProgram(ctx, p, stdout, stderr)
	switch {
	case slices.Contains([]fault.Code{fault.InvalidConfig, fault.ForkUnsupported, fault.Cancelled}, fault.CodeOf(err)):
		return Output{}, err
	case err != nil:
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
	o.Removed, o.RemoveError, o.Unrecorded = child.moved, child.moveError, child.unrecorded
	if p.Drops {
		o.Dropped = stdout.dropped + stderr.dropped
	} else if stdout.dropped+stderr.dropped > 0 {
		o.Ending = OutputLimit
	}
	return o, nil
}

// startProgram starts a program and returns the write end of its stdin.
func (s *Service) startProgram(ctx context.Context, p Program, stdout, stderr *capped) (*child, *os.File, error) {
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
	var by starter = unconfined{}
	if s.confinement().Overlays != nil && p.Confine != ConfineRead {
		p.Confine = ConfineWrite
	}
	if p.Confine == ConfineWrite || p.Confine == ConfineRead {
		if by, err = s.confiner(ctx, p.Confine); err != nil {
			closeAll(pipes.ours[:])
			return nil, nil, err
		}
		cmd.Env = withoutKeys(cmd.Env, s.o.IsKey)
	}
	child := s.newChild(cmd, cookie, by)
	stdin := pipes.ours[0]
	if err := child.start(stream{pipes.ours[1], stdout.write}, stream{pipes.ours[2], stderr.write}); err != nil {
		_ = stdin.Close()
		return nil, nil, err
	}
	return child, stdin, nil
}

// confiner returns the starter of a program that is confined. The error has code invalid_config.
func (s *Service) confiner(ctx context.Context, how Confine) (starter, error) {
	c := *s.confinement()
	if c.Overlays != nil {
		return s.starter(ctx, how), nil
	}
	err := c.supported()
	if err == nil && c.Kind != Namespaces && c.Kind != Landlock {
		err = unsupported("Nothing is set that confines programs.", "")
	}
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, confining, "The program is not started, because it cannot be confined. "+fault.MessageOf(err),
			"Allow unprivileged user namespaces, or remove sandbox from its settings to run it unconfined.", err)
	}
	return s.starter(ctx, how), nil
}

// StartConfined starts a program that is confined as with [Program].Confine ConfineWrite, for a
// caller that manages the process, such as a server. cmd must have a Path, a Dir, an Env and three
// files, and may have SysProcAttr.Setsid. Keys of model providers are removed from its Env. The
// caller waits for the process, and then calls ended, which returns what [Result] has as Removed and
// RemoveError. ctx bounds only the start. Close ends the process.
//
// Errors: invalid_config if the program cannot be confined, not_initialized after Close, or that of
// the start.
func (s *Service) StartConfined(ctx context.Context, cmd *exec.Cmd) (ended func() ([]string, error), err error) {
	done, err := s.enter("process.startConfined")
	if err != nil {
		return nil, err
	}
	defer done()
	by, err := s.confiner(ctx, ConfineWrite)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(withoutKeys(cmd.Env, s.o.IsKey), s.o.Marker+"=1", s.o.Marker+"_COMMAND_ID="+s.newCookie())
	if err := lasting(by).begin(cmd); err != nil {
		return nil, err
	}
	return by.removed, nil
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

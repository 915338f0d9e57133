package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// Confinement restricts what commands may do to the machine. The zero value restricts nothing.
// It also applies to the programs that request it: see [Program].Confine and
// [Service.StartConfined].
//
// Confined commands get their own temporary directory below [os.TempDir], which TMPDIR, TMP and
// TEMP name. It exists until the Service is closed. The directories of a process that was killed
// are removed by the next Service that creates one.
type Confinement struct {
	Kind ConfinementKind

	// Writable contains the absolute directories in which commands may write, in addition to their
	// temporary directory. Each must exist when a command starts, and resolve to the same directory
	// as it did when the first command started.
	Writable []string
	// NoTCP keeps commands from opening TCP connections and from listening for them. Under Landlock
	// they cannot create a socket that could carry TCP. UDP, including DNS, and Unix sockets with a
	// path remain available. Programs of another architecture, such as 32-bit ones, are ended by
	// SIGSYS, because they cannot be filtered. A container has no network at all.
	NoTCP bool

	Program string // the container runtime, such as podman; for Container
	Image   string // the container image, which must contain bash; for Container

	// PerCommand lets each command choose by Command.Confine: commands run unconfined unless it is
	// set. false: every command is confined, and ConfineNone is ignored. It applies to Namespaces
	// and Landlock; a container confines every command.
	PerCommand bool

	// The remaining fields apply to Namespaces.

	// Overlays, if set, is called for each command; its directories replace those of Writable. All commands
	// and programs are then confined by namespaces, whatever Kind and PerCommand are; unconfined commands,
	// background processes and servers are refused with code fork_unsupported. Each .git in the directories is
	// read-only. write is false for a command that may only read. ended is called when the command and its
	// processes have ended, also if the command was not started. Processes that a command leaves running are ended.
	Overlays func(ctx context.Context, write bool) (all []sandbox.Overlay, ended func(context.Context) error, err error)

	// Protected returns further absolute paths that are protected as with IsProtected, existing or
	// not, such as the directory that a file .git names. It is given the existing protected paths, and
	// called before each command that may write, not concurrently. nil: none.
	Protected func(existing []string) []string
	// IsProtected reports whether an absolute path in a writable directory is protected. Existing
	// ones are read-only for commands. One that appears while confined processes run is moved to the
	// directory removed in Cache, or beside the temporary directory if Cache is "", and reported in
	// Result.Removed when a command has ended. Paths that appear at other times, or that unconfined
	// commands create, are kept. It is called for names in directories that have changed, not for
	// the content of protected ones, and concurrently. nil: no path is.
	IsProtected func(path string) bool
	// Masked returns the absolute paths whose content is hidden from commands. It is called before
	// each command. If it fails, the command is not started. nil: none.
	Masked func(ctx context.Context) ([]string, error)
	// Cache is the absolute directory for the caches of build tools, kept between sessions, in its
	// subdirectory tools. It is created with mode 0700 if it is missing. "": the caches live in the
	// temporary directory, as they do for commands that only read.
	Cache string
	// Home is the user's home directory, which is hidden except for Readable, the writable
	// directories and the working directory. "": no directory is hidden.
	Home string
	// Readable contains absolute paths that commands may read although they lie in Home, such as
	// toolchains and the git configuration. Missing paths are skipped.
	Readable []string
}

// ConfinementKind is the mechanism that confines commands.
type ConfinementKind string

// The kinds of confinement.
const (
	Unconfined ConfinementKind = ""

	// Landlock is the access control of the Linux kernel. Its rules apply to the command and to
	// every process that it starts. Reading and executing are not restricted. Creating, writing,
	// truncating, moving and removing files is denied outside of the writable directories, except
	// for the devices null, zero, full, random, urandom, tty and ptmx. No program gains privileges,
	// so sudo fails.
	//
	// The kernel has no rule for modes, owners and times of files. A server that listens on a Unix
	// socket with a path, such as a container daemon, can act for a command beyond the command's own
	// permissions. Pseudo-terminals and shared memory need /dev/pts and /dev/shm among the writable
	// directories. If the user's cache directory is not among them, XDG_CACHE_HOME names one in the
	// temporary directory.
	Landlock ConfinementKind = "landlock"

	// Namespaces runs commands in user, mount, network and IPC namespaces of their own. They write
	// only in the writable directories, except for protected paths, and do not see the rest of the
	// home directory. Linux only.
	Namespaces ConfinementKind = "namespaces"

	// Container runs commands with a program that accepts docker's command line. A command sees the
	// image, with the writable directories and its working directory mounted at the same paths; the
	// working directory is read-only unless it is writable. Processes that the command leaves
	// running end with it.
	Container ConfinementKind = "container"
)

// Confine is the confinement of one command.
type Confine string

// The values of Command.Confine.
const (
	ConfineDefault Confine = ""      // as Options.Confinement determines: see Confinement.PerCommand
	ConfineWrite   Confine = "write" // confined; may write in Confinement.Writable
	ConfineRead    Confine = "read"  // confined; may write only in its temporary directory
	ConfineNone    Confine = "none"  // unconfined; only with Confinement.PerCommand
)

// Check reports why this system cannot confine commands this way: the kernel has no Landlock or an
// old version, the container runtime is not on the PATH, a directory is missing. The zero value is
// always supported. A Service runs the same check before it starts a command, and never starts one
// unconfined instead.
//
// Errors: invalid_config; fork_unsupported with Overlays; cancelled if ctx has ended.
func (c Confinement) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fault.Wrap(fault.Cancelled, confining, "Checking the confinement of commands was cancelled.", "", err)
	}
	if err := c.supported(); err != nil {
		return err
	}
	return c.dirs()
}

// confining is the operation name in errors.
const confining = "process.confine"

// supported returns an error if this system lacks the mechanism.
func (c Confinement) supported() error {
	switch {
	case c.Overlays != nil:
		return supportsOverlays()
	case c.Kind == Unconfined && c.NoTCP:
		return unsupported("Nothing confines commands, so TCP connections cannot be refused.", "Set what confines them, or allow the connections.")
	case c.Kind == Unconfined:
		return nil
	case c.Kind == Landlock:
		return supportsLandlock(c.NoTCP)
	case c.Kind == Namespaces:
		return supportsNamespaces()
	case c.Kind == Container:
		_, err := c.program()
		return err
	}
	return unsupported(fmt.Sprintf("Commands cannot be confined by %.40q.", c.Kind),
		fmt.Sprintf("Use %s, %s or %s.", Namespaces, Landlock, Container))
}

// unsupported returns the error for commands that cannot be confined and so do not run.
func unsupported(message, remedy string) error {
	return fault.New(fault.InvalidConfig, confining, message, remedy)
}

// Strongest returns c with the strongest kind that needs no container and that this system
// supports: Namespaces, Landlock or, if it supports neither, Unconfined.
func (c Confinement) Strongest() Confinement {
	for _, c.Kind = range []ConfinementKind{Namespaces, Landlock} {
		if c.supported() == nil && c.dirs() == nil {
			return c
		}
	}
	c.Kind = Unconfined
	return c
}

// dirs returns an error if a writable directory is invalid.
func (c Confinement) dirs() error {
	if c.Kind == Unconfined || c.Overlays != nil {
		return nil
	}
	for _, dir := range c.Writable {
		if !filepath.IsAbs(dir) {
			return badDirectory(dir, errors.New("its path is not absolute"))
		}
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return badDirectory(dir, err)
		case !info.IsDir():
			return badDirectory(dir, errors.New("it is not a directory"))
		}
	}
	return nil
}

func badDirectory(dir string, why error) error {
	if e := (*fs.PathError)(nil); errors.As(why, &e) {
		why = e.Err
	}
	return fault.Wrap(fault.InvalidConfig, confining,
		fmt.Sprintf("Commands may write in %s, but it is not a valid directory: %v.", dir, why),
		"Create the directory, or remove it from the writable directories of commands.", why)
}

// starter returns the starter for a command.
func (s *Service) starter(ctx context.Context, how Confine) starter {
	c := s.confinement()
	switch {
	case c.Overlays != nil:
		return &overlaid{enclosed: enclosed{s: s, ctx: ctx, read: how == ConfineRead}, how: how}
	case c.Kind == Unconfined && !c.NoTCP:
		return &keeping{names: s.spaces.names}
	case c.Kind == Container:
		return &container{s: s}
	case c.PerCommand && (how == ConfineDefault || how == ConfineNone):
		return &sharing{keeping{names: s.spaces.names}, s}
	case c.Kind == Namespaces:
		return &enclosed{s: s, ctx: ctx, read: how == ConfineRead}
	}
	return landlocked{s: s, read: how == ConfineRead} // also for unknown kinds: then it starts nothing
}

// confinementOf returns the confinement of the processes of a starter.
func confinementOf(by starter) ConfinementKind {
	switch by.(type) {
	case *enclosed, *overlaid:
		return Namespaces
	case *container:
		return Container
	case landlocked:
		return Landlock
	}
	return Unconfined
}

// keeping starts an unconfined command, and keeps the protected paths that appear while it runs.
type keeping struct {
	unconfined
	names *Names
	adopt func()
}

func (t *keeping) begin(cmd *exec.Cmd) error {
	t.adopt = t.names.pause()
	if err := cmd.Start(); err != nil {
		t.adopt()
		return err
	}
	return nil
}

func (t *keeping) removed() ([]string, error) {
	t.adopt()
	return nil, nil
}

// sharing also lets the command use the temporary directory of confined ones.
type sharing struct {
	keeping
	s *Service
}

func (t *sharing) begin(cmd *exec.Cmd) error {
	dir, err := t.s.temporaryDirectory()
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, temporary(dir)...)
	return t.keeping.begin(cmd)
}

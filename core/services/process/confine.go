package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
)

// Confinement limits what commands may do to the machine. The zero value
// limits nothing. Programs that are run without a shell are not confined.
//
// Confined commands get a temporary directory of their own, below [os.TempDir],
// which TMPDIR, TMP and TEMP name. It lasts until the Service is closed; what a
// process that was killed has left of it goes with the next Service that makes
// one.
type Confinement struct {
	Kind ConfinementKind

	// Writable are absolute directories in which commands may write, beside their
	// temporary directory; each must be there when a command is started, and lead
	// where it led when the first was.
	Writable []string
	// NoTCP keeps commands from opening TCP connections and from listening for
	// them. Under Landlock they get no socket that TCP could carry; UDP, and with
	// it DNS, and Unix sockets with a path stay open, and programs of another
	// architecture, as 32-bit ones, are ended by SIGSYS, since they cannot be
	// watched. A container has no network at all.
	NoTCP bool

	Program string // of a container: what runs it, as podman
	Image   string // of a container; it must have bash
}

// ConfinementKind says what confines commands.
type ConfinementKind string

// The kinds of confinement.
const (
	Unconfined ConfinementKind = ""

	// Landlock is the Linux kernel, by rules for the command and for all that
	// it starts: everything can be read and run, as it can without, and nothing
	// can be made, written, cut, moved or removed outside of the writable
	// directories but the devices null, zero, full, random, urandom, tty and ptmx.
	// No program gets more rights than its caller, so that sudo fails.
	//
	// The kernel knows no rule for modes, owners and times of files. Whoever
	// listens at a Unix socket with a path, as the programs that run containers
	// do, may do for a command what it may not. Pseudo-terminals and shared
	// memory need /dev/pts and /dev/shm among the writable directories. Where the
	// user's directory for caches is not among them, XDG_CACHE_HOME names one in
	// the temporary directory.
	Landlock ConfinementKind = "landlock"

	// Container is a program that takes the command line of docker: what a
	// command sees is the image, with the writable directories and its own directory
	// in their places, the latter to be read alone if it is none of them. What
	// it leaves running ends with it.
	Container ConfinementKind = "container"
)

// Check reports why commands cannot be run so on this system: the kernel has
// no landlock or an old one, the container's program is not on the PATH, a
// directory is missing. The zero value is fine. A Service checks the same whenever
// it starts a command, and never starts one unconfined instead.
//
// Errors: invalid_config; cancelled where ctx has ended.
func (c Confinement) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fault.Wrap(fault.Cancelled, confining, "Looking for what confines commands was cancelled.", "", err)
	}
	if err := c.supported(); err != nil {
		return err
	}
	return c.folders()
}

// confining is the operation of the errors.
const confining = "process.confine"

// supported reports what this system lacks.
func (c Confinement) supported() error {
	switch {
	case c.Kind == Unconfined && c.NoTCP:
		return unsupported("Nothing confines commands, so TCP connections cannot be refused.", "Set what confines them, or allow the connections.")
	case c.Kind == Unconfined:
		return nil
	case c.Kind == Landlock:
		return supportsLandlock(c.NoTCP)
	case c.Kind == Container:
		_, err := c.program()
		return err
	}
	return unsupported(fmt.Sprintf("Commands cannot be confined by %.40q.", c.Kind),
		fmt.Sprintf("Use %s or %s.", Landlock, Container))
}

// unsupported is the error that commands cannot be confined, so that none runs.
func unsupported(message, remedy string) error {
	return fault.New(fault.InvalidConfig, confining, message, remedy)
}

// directories reports a writable directory that is none.
func (c Confinement) folders() error {
	if c.Kind == Unconfined {
		return nil
	}
	for _, folder := range c.Writable {
		if !filepath.IsAbs(folder) {
			return badFolder(folder, errors.New("its path is not absolute"))
		}
		info, err := os.Stat(folder)
		switch {
		case err != nil:
			return badFolder(folder, err)
		case !info.IsDir():
			return badFolder(folder, errors.New("it is no directory"))
		}
	}
	return nil
}

func badFolder(folder string, why error) error {
	if e := (*fs.PathError)(nil); errors.As(why, &e) {
		why = e.Err
	}
	return fault.Wrap(fault.InvalidConfig, confining,
		fmt.Sprintf("Commands are to write in %s, which cannot be used: %v.", folder, why),
		"Make the directory, or take it out of those that commands may write in.", why)
}

// starter returns what starts a command as the Service is to.
func (s *Service) starter() starter {
	switch c := s.o.Confinement; {
	case c.Kind == Unconfined && !c.NoTCP:
		return unconfined{}
	case c.Kind == Container:
		return &container{s: s}
	}
	return landlocked{s: s} // also for kinds that there are not: it starts nothing then
}

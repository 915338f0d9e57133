// Package process runs shell commands, and manages background processes for one session.
//
// A [Service] runs commands in the foreground with [Service.Run], in the background with
// [Service.Start], and executables without a shell with [Service.Program]. Output is captured
// within limits, optionally streamed, and long output is saved to files. A [Confinement] restricts
// commands by namespaces, Landlock or a container. [Service.Close] ends every process that the Service has
// started.
package process

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options configure a [Service]. Every field may be zero.
type Options struct {
	// Marker is an environment variable by which programs recognize their host; its value is 1. A
	// second variable, with the suffix _COMMAND_ID, finds processes that have left their process
	// group. "": FETTLE.
	Marker string
	// Environ returns the environment that commands inherit. nil: os.Environ.
	Environ func() []string
	// IsKey reports whether a variable contains the API key of a model provider. Commands receive
	// no such variable, and no other variable with its value; unconfined programs do. nil: no variable does.
	IsKey func(name string) bool

	// Confinement applies to every command, and to the programs that request it.
	Confinement Confinement
	// Confine determines Confinement when it is first needed, because finding out what the system
	// supports takes time. nil: Confinement applies as it is.
	Confine func() Confinement
	// Names finds the protected paths that confined processes create. nil: one of this Service's
	// own.
	Names *Names

	// HeadBytes and TailBytes are the numbers of bytes kept of the beginning and the end of a
	// command's output. Zero: 8,000 and 32,000.
	HeadBytes, TailBytes int
	// SaveDir is the directory for outputs that were cut. It is created with mode 0700 if it is
	// missing; its files have mode 0600. "": outputs are not saved.
	SaveDir string
	// SaveBytes limits one saved output, in bytes. Zero: 2 GiB.
	SaveBytes int64
	// SaveAge and SaveTotal limit the saved outputs. Before an output is saved, earlier outputs of
	// any session in SaveDir that are older than SaveAge are removed, and then the oldest until the
	// total is at most SaveTotal bytes. Outputs of the last hour are kept, because their sessions
	// may still refer to them, and so are files with other names. Zero: 7 days and 4 GiB; negative:
	// no limit.
	SaveAge   time.Duration
	SaveTotal int64

	// Total is the time limit of a command. Zero: 1 hour; negative: no limit. Idle is the time
	// limit without output. Zero: 5 minutes; negative: no limit. Neither applies to background
	// processes.
	Total, Idle time.Duration
	// Grace is the time between SIGTERM and SIGKILL. Zero: 1 second; negative: none.
	Grace time.Duration
	// Quiet applies to processes that hold the output of a command that has ended. Reading stops
	// once they have printed nothing for this long. Zero: 100 milliseconds. After ten times that,
	// reading stops in any case.
	Quiet time.Duration

	// UnreadBytes limits the unread output kept of a background process, in bytes; beyond it the
	// oldest is dropped. Zero: 256 KiB.
	UnreadBytes int
	// MaxBackground is the maximum number of running background processes. Zero: 64.
	MaxBackground int
	// NoBackground refuses background processes. It is for hosts without a session that outlives
	// the command, where they would end at once.
	NoBackground bool
}

func (o Options) withDefaults() Options {
	o.Marker = cmp.Or(o.Marker, "FETTLE")
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	o.HeadBytes = cmp.Or(o.HeadBytes, 8_000)
	o.TailBytes = cmp.Or(o.TailBytes, 32_000)
	o.SaveBytes = cmp.Or(o.SaveBytes, 2<<30)
	o.SaveAge = cmp.Or(o.SaveAge, 7*24*time.Hour)
	o.SaveTotal = cmp.Or(o.SaveTotal, 4<<30)
	o.Total = cmp.Or(o.Total, time.Hour)
	o.Idle = cmp.Or(o.Idle, 5*time.Minute)
	o.Grace = cmp.Or(o.Grace, time.Second)
	o.Quiet = cmp.Or(o.Quiet, 100*time.Millisecond)
	if o.Names == nil {
		o.Names = new(Names)
	}
	o.UnreadBytes = cmp.Or(o.UnreadBytes, 256<<10)
	o.MaxBackground = cmp.Or(o.MaxBackground, 64)
	return o
}

// Service runs commands for one session. It is safe for concurrent use. New starts no goroutine and
// does no I/O; a Service that has started a process must be closed.
type Service struct {
	o     Options
	token string // in the environment of every process that it starts

	confining sync.Once // determines o.Confinement

	finding sync.Once // guards the search for the shell
	found   string    // the shell's path
	findErr error     // error of the search

	scratch scratch // for confined commands
	domain  domain  // the thread that starts them under Landlock
	spaces  spaces  // the namespaces in which they run

	ending   sync.Once      // guards Close
	closeErr error          // error of Close
	closing  chan struct{}  // closed by Close
	active   sync.WaitGroup // running commands, and goroutines of background processes

	mu         sync.Mutex
	closed     bool
	left       []group       // processes that ended commands left behind
	lastID     int           // the last number of a cookie or handle
	background []*background // oldest first
	running    int           // running background processes, and those being started
	lastHandle int
}

// New returns a Service.
func New(o Options) *Service {
	var b [8]byte
	rand.Read(b[:]) // never fails
	o = o.withDefaults()
	return &Service{
		o: o, token: hex.EncodeToString(b[:]), closing: make(chan struct{}), spaces: spaces{names: o.Names},
	}
}

// confinement returns the confinement of commands.
func (s *Service) confinement() *Confinement {
	s.confining.Do(func() {
		if s.o.Confine != nil {
			s.o.Confinement = s.o.Confine()
		}
	})
	return &s.o.Confinement
}

// Close ends every command and background process and the processes that they left behind, with
// SIGTERM and then SIGKILL, and waits until they are gone. Concurrent and later calls also wait.
// Commands started later are refused with code not_initialized.
//
// On Linux, processes are found by their session and by their environment. That includes daemons,
// unless they have cleared their environment. On other Unix systems they are found only by their
// process group, on Windows by their job.
//
// Close returns an error of code file_write_failure if it could not remove the commands' temporary
// directory, or move away a protected path that a confined process created.
func (s *Service) Close() error {
	s.ending.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.closing)
		s.active.Wait()
		s.mu.Lock()
		left, started := s.left, s.lastID > 0
		s.left = nil
		s.mu.Unlock()
		if started {
			endLeft(left, s.token, s.o.Grace)
		}
		s.domain.end()
		err := s.spaces.end() // before the directories are removed
		s.closeErr = errors.Join(err, s.scratch.remove())
	})
	return s.closeErr
}

// enter registers an operation until leave is called, so that Close waits for it.
func (s *Service) enter(op string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.NotInitialized, op, "The session has ended, so no command is run.", "Start a new session.")
	}
	s.active.Add(1)
	return s.active.Done, nil
}

// leaveBehind records the processes that an ended command has left running.
func (s *Service) leaveBehind(g group) {
	if g.empty() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, g)
}

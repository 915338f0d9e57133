// Package process runs shell commands and keeps background ones. Whatever it
// has started ends, at the latest, when its Service is closed.
package process

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"os"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options configure a [Service]. Every field may be zero.
type Options struct {
	// Marker is the environment variable that tells a program who runs it: it
	// is set to 1. A second one, with _COMMAND_ID after it, is how processes
	// are found again that have left their group. "": FETTLE.
	Marker string
	// Environ returns the environment that commands inherit. nil: os.Environ.
	Environ func() []string
	// IsKey reports whether a variable holds a key of a model's provider. Commands
	// get no such variable, and no other one with its value; programs do. nil: none
	// does.
	IsKey func(name string) bool

	// Confinement holds for every command.
	Confinement Confinement

	// HeadBytes and TailBytes are how much is kept of the beginning and of the
	// end of a command's output, in bytes. Zero: 8,000 and 32,000.
	HeadBytes, TailBytes int
	// SaveDir is the directory for outputs that were cut, made with mode 0700
	// where it is absent; their files have mode 0600. "": they are not saved.
	SaveDir string
	// SaveBytes caps one saved output, in bytes. Zero: 2 GiB.
	SaveBytes int64
	// SaveAge and SaveTotal keep saved outputs from piling up. Before an output is
	// saved, the earlier ones of any session in SaveDir are removed that are older
	// than SaveAge, and after them the oldest until all together have at most
	// SaveTotal bytes; those of the last hour stay, as their sessions may still
	// speak of them, and so do files of other names. Zero: 7 days and 4 GiB;
	// negative: none is removed for that.
	SaveAge   time.Duration
	SaveTotal int64

	// Total ends a command that runs longer. Zero: 1 hour; negative: no limit.
	// Idle ends one that prints nothing for so long. Zero: 5 minutes; negative:
	// no limit. Neither holds for background processes.
	Total, Idle time.Duration
	// Grace is how long a command has between SIGTERM and SIGKILL. Zero: 1
	// second; negative: none.
	Grace time.Duration
	// Quiet is for how long nothing more must have come from processes that
	// hold the output of a command that has ended, until they are no longer
	// listened to. Zero: 100 milliseconds. After ten times that they are
	// not, whatever comes.
	Quiet time.Duration

	// UnreadBytes is how much output is kept of a background process until it
	// is read, in bytes; of more the oldest is dropped. Zero: 256 KiB.
	UnreadBytes int
	// MaxBackground is how many background processes may run at once. Zero: 64.
	MaxBackground int
	// NoBackground refuses all of them: they would end at once, as there is no
	// session that they could belong to.
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
	o.UnreadBytes = cmp.Or(o.UnreadBytes, 256<<10)
	o.MaxBackground = cmp.Or(o.MaxBackground, 64)
	return o
}

// Service runs commands for one session (TO-09, TO-17). It is safe for
// concurrent use. New makes no goroutine and does no I/O; a Service that has
// started something is to be closed.
type Service struct {
	o     Options
	token string // in the environment of all that it starts

	finding sync.Once // of the shell
	found   string    // by it
	findErr error     // of it

	scratch scratch // of confined commands
	domain  domain  // that starts them, where the kernel confines

	ending   sync.Once      // of Close
	closeErr error          // of it
	closing  chan struct{}  // closed by Close
	active   sync.WaitGroup // commands that run, goroutines of background processes

	mu         sync.Mutex
	closed     bool
	left       []group       // of ended commands that left processes behind
	lastID     int           // of what was started
	background []*background // oldest first
	running    int           // of them, and of those that are being started
	lastHandle int
}

// New returns a Service.
func New(o Options) *Service {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return &Service{
		o: o.withDefaults(), token: hex.EncodeToString(b[:]), closing: make(chan struct{}),
	}
}

// Close ends every command and background process and what they left behind,
// with SIGTERM and then SIGKILL, and waits until they are gone. Further calls
// wait too; what is started later is refused with code not_initialized.
//
// On Linux processes are found by their session and by their environment, so
// also those that became daemons, unless they have erased that too. On other
// Unix systems they are found by their group alone, on Windows by their job.
//
// The error, of code file_write_failure, says that the commands' temporary
// directory could not be removed.
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
		s.closeErr = s.scratch.remove()
	})
	return s.closeErr
}

// enter notes that something runs, until leave is called, so that Close waits
// for it.
func (s *Service) enter(op string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.NotInitialized, op, "The session has ended, so no command is run.", "Start a new session.")
	}
	s.active.Add(1)
	return s.active.Done, nil
}

// leaveBehind remembers what an ended command has left running.
func (s *Service) leaveBehind(g group) {
	if g.empty() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, g)
}

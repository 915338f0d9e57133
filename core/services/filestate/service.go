package filestate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// EmptySHA256 is the hash of empty input: the base of a change that creates a file.
const EmptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Files contains the file operations that this package needs; *workspace.Workspace implements it.
type Files interface {
	// Stat follows links and does not open the file.
	Stat(p workspace.Path) (workspace.Info, error)
	// OpenRead opens for reading without ever blocking.
	OpenRead(p workspace.Path) (*os.File, error)
}

// Options configure a [Service]. Files is required; any other field may be zero.
type Options struct {
	Files  Files
	Limits Limits
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // receives debug and warning lines; nil: none

	// KillSwitch reports whether the cache is disabled, so that nothing is looked up, recorded or
	// enforced. turn is the number of the latest disabling, 0 for none: a cache filled before that is
	// cleared. It is called at each check, by [Service.ApplyKillSwitch]. nil: the cache is enabled.
	KillSwitch func() (disabled bool, turn int64)
	// Instructions reports whether a base name is that of an instruction file, which is never
	// replaced by a placeholder. nil: agents.md in any letter case.
	Instructions func(base string) bool
	// MayShow reports whether read_file would show the file to this agent; the result of a change
	// shows no other file. nil: yes.
	MayShow func(p workspace.Path) bool
	// Bases stores the bytes of files that were shown, and may be shared by conversations. nil: the
	// Service has its own.
	Bases *BaseStore
	// RequireSeen makes a matching hash insufficient: the conversation must also have been shown
	// the file.
	RequireSeen bool
	// NoSession means that nothing lasts from one call to the next, as for a single request of a
	// client without a session: no read returns a placeholder, and a change of an existing file
	// without a proof is refused with the reason no_session.
	NoSession bool
	// Hook is called in each read at "stat-read", between the stat and the open, and at "reading",
	// between the first and the last stat of the open file, so that a test can produce a race there.
	// nil: none.
	Hook func(at string, p workspace.Path)
}

// The moments of a read at which Options.Hook is called.
const (
	atStatRead = "stat-read" // between the stat and the open
	atReading  = "reading"   // between the first and the last stat of the open file
)

// Service is the file state of one conversation: its counter, its cache, and the reads and
// decisions made with them. It is safe for concurrent use and holds no goroutine and no descriptor.
// [New] allocates almost nothing; the cache grows as files are read.
type Service struct {
	Versions SessionStateService
	Cache    FileReadCache

	files      Files
	limits     Limits
	now        func() time.Time
	log        *slog.Logger
	killSwitch func() (disabled bool, turn int64)
	steers     func(base string) bool
	mayShow    func(workspace.Path) bool
	bases      *BaseStore
	strict     bool
	single     bool // there is no session
	hook       func(at string, p workspace.Path)
	result     atomic.Int64 // the limit ResultBytes

	dropped droppedSet
	given   givenHashes

	killSwitchMu sync.Mutex
	turn         int64 // of the kill switch, when it was last applied
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{
		files:      o.Files,
		limits:     o.Limits.withDefaults(),
		now:        o.Now,
		log:        o.Logger,
		killSwitch: o.KillSwitch,
		steers:     o.Instructions,
		mayShow:    o.MayShow,
		bases:      o.Bases,
		strict:     o.RequireSeen,
		single:     o.NoSession,
		hook:       o.Hook,
	}
	s.Cache.max, s.given.max = s.limits.cacheSize, s.limits.cacheSize
	if s.bases == nil {
		s.bases = new(BaseStore)
	}
	s.result.Store(int64(s.limits.ResultBytes))
	if s.now == nil {
		s.now = time.Now
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.killSwitch != nil {
		_, s.turn = s.killSwitch()
	}
	return s
}

// Limits returns the limits in force, including defaults.
func (s *Service) Limits() Limits {
	l := s.limits
	l.ResultBytes = s.ResultBytes()
	return l
}

// ApplyKillSwitch clears the cache if it was disabled since the last call, even if it is enabled
// again, and reports whether it is disabled now. Every check begins with it.
func (s *Service) ApplyKillSwitch() (disabled bool) {
	if s.killSwitch == nil {
		return false
	}
	disabled, turn := s.killSwitch()
	s.killSwitchMu.Lock()
	defer s.killSwitchMu.Unlock()
	if turn > s.turn {
		s.Cache.Clear()
		s.turn = turn
	}
	return disabled
}

// StartSession forgets which files were shown and starts the versions after highest, which is 0 for
// a history without any.
func (s *Service) StartSession(highest int64) {
	s.Versions.reset()
	s.Versions.raise(highest)
	s.Cache.Clear()
	s.given.clear()
}

// Compacted forgets which files were shown, because the history with them is gone; versions
// continue.
func (s *Service) Compacted() { s.Cache.Clear() }

func (s *Service) at(moment string, p workspace.Path) {
	if s.hook != nil {
		s.hook(moment, p)
	}
}

func (s *Service) isInstructions(path string) bool {
	base := filepath.Base(path)
	if s.steers != nil {
		return s.steers(base)
	}
	return strings.EqualFold(base, "agents.md")
}

// Sum returns the hash of data as used in state objects.
func Sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

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

// EmptySHA256 is the hash of empty input: what a change of an absent file is
// based on (FS-41).
const EmptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Files is all that this package asks of a disk; *workspace.Workspace has it.
type Files interface {
	// Stat follows links and does not open the file.
	Stat(p workspace.Path) (workspace.Info, error)
	// OpenRead opens for reading without ever blocking.
	OpenRead(p workspace.Path) (*os.File, error)
}

// Options configure a [Service]. Files is required; any other field may be
// zero.
type Options struct {
	Files  Files
	Limits Limits
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // debug and warning lines; nil: none

	// Hatch tells where the switch stands that turns the cache off. It is asked
	// at each check, by [Service.HeedHatch]. nil: the cache is on.
	Hatch func() Hatch
	// Instructions reports whether a file of this base name is one that steers
	// the model, which never gets a placeholder (RC-19). nil: agents.md in any
	// letter case.
	Instructions func(base string) bool
	// MayShow reports whether read_file would show the file to this agent; a
	// mutation result shows nothing else (PR-29). nil: yes.
	MayShow func(p workspace.Path) bool
	// Bases holds the bytes of what was shown, and may be shared by conversations.
	// nil: one of this Service's own.
	Bases *BaseStore
	// RequireSeen makes a matching hash alone insufficient: the conversation
	// must also have been shown the file (KH-26).
	RequireSeen bool
	// NoSession says that nothing lasts from one call to the next, as for one
	// request of a client that has no session: no read gets a placeholder, and a
	// change of an existing file without a proof is refused for the reason
	// no_session.
	NoSession bool
	// Hook is called at each [Window]; a test stages a race there. nil: none.
	Hook func(Window, workspace.Path)
}

// Hatch is a position of the switch that turns the cache off (RC-28): while it
// is off nothing is looked up, recorded or enforced.
type Hatch struct {
	Disabled bool
	Turn     int64 // which turning-off it comes after, 0 for none: a cache filled before that is to be emptied (RC-29)
}

// Window names a moment between two looks at a file.
type Window string

// The windows of a read.
const (
	WindowStatRead Window = "stat-read" // between the stat and the opening
	WindowReading  Window = "reading"   // between the first and the last stat of the open file
)

// Service is one conversation's file state: its counter, its cache, and the
// reads and decisions made with them. It is safe for concurrent use and holds
// no goroutine and no descriptor. [New] allocates next to nothing; the cache
// fills as files are read (RC-24).
type Service struct {
	Versions SessionStateService
	Cache    FileReadCache

	files   Files
	limits  Limits
	now     func() time.Time
	log     *slog.Logger
	hatch   func() Hatch
	steers  func(base string) bool
	mayShow func(workspace.Path) bool
	bases   *BaseStore
	strict  bool
	single  bool // there is no session
	hook    func(Window, workspace.Path)
	result  atomic.Int64 // the limit ResultBytes

	dropped droppedSet

	hatchMu sync.Mutex
	turn    int64 // of the hatch, when it was last heeded
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{
		files:   o.Files,
		limits:  o.Limits.withDefaults(),
		now:     o.Now,
		log:     o.Logger,
		hatch:   o.Hatch,
		steers:  o.Instructions,
		mayShow: o.MayShow,
		bases:   o.Bases,
		strict:  o.RequireSeen,
		single:  o.NoSession,
		hook:    o.Hook,
	}
	s.Cache.Max = s.limits.CacheSize
	if s.bases == nil {
		s.bases = new(BaseStore)
	}
	s.result.Store(int64(s.limits.ResultBytes))
	if s.now == nil {
		s.now = time.Now
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.hatch != nil {
		s.turn = s.hatch().Turn
	}
	return s
}

// Limits returns the limits in force, defaults filled in.
func (s *Service) Limits() Limits {
	l := s.limits
	l.ResultBytes = s.ResultBytes()
	return l
}

// HeedHatch empties the cache if it was turned off since the hatch was last
// heeded, even if it is on again, and reports whether it is off now (RC-28,
// RC-29, RC-30). Every check begins with it.
func (s *Service) HeedHatch() (disabled bool) {
	if s.hatch == nil {
		return false
	}
	h := s.hatch()
	s.hatchMu.Lock()
	defer s.hatchMu.Unlock()
	if h.Turn > s.turn {
		s.Cache.Clear()
		s.turn = h.Turn
	}
	return h.Disabled
}

// StartSession forgets what was shown and starts the versions after
// highest, which is 0 for a history without any (AR-04, RC-21).
func (s *Service) StartSession(highest int64) {
	s.Versions.Reset()
	s.Versions.Raise(highest)
	s.Cache.Clear()
}

// Compacted forgets what was shown, since the history that showed it is gone;
// versions go on (RC-22, CR-19).
func (s *Service) Compacted() { s.Cache.Clear() }

func (s *Service) at(w Window, p workspace.Path) {
	if s.hook != nil {
		s.hook(w, p)
	}
}

func (s *Service) isInstructions(path string) bool {
	base := filepath.Base(path)
	if s.steers != nil {
		return s.steers(base)
	}
	return strings.EqualFold(base, "agents.md")
}

// Sum returns the hash that stands for data in state objects (FS-06).
func Sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

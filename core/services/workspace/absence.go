package workspace

import (
	"strings"
	"sync"
	"time"
)

// timed is a directory whose times may show that its entries have changed.
type timed interface {
	// times returns the identity and the times of the directory; false if they do not show each
	// change of its entries.
	times() (Info, bool)
	// now returns the time that a change would get.
	now() time.Time
}

// absences remembers directories without any of some names. The zero value is empty.
type absences struct {
	mu   sync.Mutex
	dirs map[string]Info // when they were searched, by path and names
}

const (
	maxAbsences = 4096
	// settledFine is the age from which the next change of a directory gets a later time, if the file system stores fractions of
	// seconds: several ticks of the kernel's clock.
	settledFine = 100 * time.Millisecond
	// settledCoarse is that age if it stores seconds only.
	settledCoarse = 2 * time.Second
)

// search returns the names that look finds in the directory dir at p. If there was none of them and
// the directory has not changed since, it returns none, and does not call look.
func (a *absences) search(dir directory, p Path, names []string, look func() ([]string, error)) ([]string, error) {
	t, ok := dir.(timed)
	if !ok {
		return look()
	}
	info, ok := t.times()
	if !ok {
		return look()
	}
	key := p.String() + "\x00" + strings.Join(names, "\x00")
	a.mu.Lock()
	known, ok := a.dirs[key]
	a.mu.Unlock()
	if ok && known == info {
		return nil, nil
	}
	old := settled(info, t.now()) // before the search, so that a later change gets later times
	found, err := look()
	if err == nil && len(found) == 0 && old {
		a.add(key, info)
	}
	return found, err
}

// settled reports whether the next change of a directory gets other times than these.
func settled(dir Info, now time.Time) bool {
	age := now.Sub(time.Unix(0, max(dir.MtimeNS, dir.CtimeNS)))
	fractions := dir.CtimeNS%int64(time.Second) != 0 // the mtime may have been set
	return age > settledCoarse || fractions && age > settledFine
}

func (a *absences) add(key string, dir Info) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dirs == nil || len(a.dirs) >= maxAbsences {
		a.dirs = make(map[string]Info)
	}
	a.dirs[key] = dir
}

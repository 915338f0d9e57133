package workspace

import (
	"strings"
	"sync"
	"time"
)

// timed is a directory whose times tell that its entries have changed.
type timed interface {
	// glance describes the file that rel leads to through directories and links, wherever it is.
	glance(rel string) (Info, error)
	// keepsTimes reports whether the file system of a directory below updates its times at each
	// change of its entries.
	keepsTimes(below Info) bool
}

// absences remembers directories without any of some names. The zero value is empty.
type absences struct {
	now func() time.Time // nil: time.Now

	mu   sync.Mutex
	dirs map[string]Info // when they were searched, by path and names
}

const (
	maxAbsences = 4096
	// settledTimes is the age from which the next change certainly gets another time.
	settledTimes = 2 * time.Second
)

// search returns the names that look finds in the directory at p, below dir, unless none of them
// existed before and the directory has not changed since.
func (a *absences) search(dir directory, p Path, names []string, look func() ([]string, error)) ([]string, error) {
	t, ok := dir.(timed)
	if !ok {
		return look()
	}
	before, err := t.glance(p.rel)
	if err != nil {
		return look()
	}
	key := p.String() + "\x00" + strings.Join(names, "\x00")
	a.mu.Lock()
	known, ok := a.dirs[key]
	a.mu.Unlock()
	if ok && known == before {
		return nil, nil
	}
	found, err := look()
	if err == nil && len(found) == 0 && a.settled(before) && t.keepsTimes(before) {
		a.add(key, before)
	}
	return found, err
}

func (a *absences) settled(dir Info) bool {
	now := time.Now
	if a.now != nil {
		now = a.now
	}
	return now().Sub(time.Unix(0, max(dir.MtimeNS, dir.CtimeNS))) > settledTimes
}

func (a *absences) add(key string, dir Info) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dirs == nil || len(a.dirs) >= maxAbsences {
		a.dirs = make(map[string]Info)
	}
	a.dirs[key] = dir
}

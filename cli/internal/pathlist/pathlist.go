// Package pathlist finds files by a few letters of their path, for completion. A [List]
// holds the paths of a workspace, which its source lists once and again from time to
// time; [Rank] orders names. It knows neither file systems nor ignore rules.
package pathlist

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"
)

const (
	// maxPaths limits the paths of a list.
	maxPaths = 200_000
	// staleAfter is the age at which a list is read again in the background.
	staleAfter = 3 * time.Second
	// firstWait limits the wait for the first list. After it the paths found so far count.
	firstWait = time.Second
	// partEvery is the number of paths after which an unfinished first list is available.
	partEvery = 2000
)

// Source yields the paths of all files, relative and with slashes, until yield returns
// false. The error is that of ctx or of the source.
type Source func(ctx context.Context, yield func(path string) bool) error

// Match is a file or directory whose path matches.
type Match struct {
	Path string // with slashes; a directory ends in one
	At   []int  // the matching bytes of Path, in order
}

// List is a list of files and their directories. It is safe for concurrent use.
type List struct {
	source Source
	now    func() time.Time
	spawn  func(work func(ctx context.Context))
	end    func()

	mu       sync.Mutex
	names    *Names // nil: none yet
	whole    bool   // names is complete
	read     time.Time
	building chan struct{} // closed when the current reading has ended; nil: none
}

// New returns a list, which is read at the first use. [List.Close] must be called.
func New(ctx context.Context, source Source, now func() time.Time) *List {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	return &List{
		source: source, now: now,
		spawn: func(work func(context.Context)) { running.Go(func() { work(ctx) }) },
		end:   func() { cancel(); running.Wait() },
	}
}

// Close ends the reading of the list and waits for it. The list must not be used later.
func (l *List) Close() { l.end() }

// Find returns the best matches, at most most, best first. If the list is old it is read
// again in the background. The first call waits for the list, for a limited time.
func (l *List) Find(ctx context.Context, typed string, most int) []Match {
	names, building := l.current()
	if building != nil {
		timer := time.NewTimer(firstWait)
		defer timer.Stop()
		select {
		case <-building:
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		l.mu.Lock()
		names = l.names
		l.mu.Unlock()
	}
	if names == nil {
		return nil
	}
	var found []Match
	for _, r := range names.Rank(typed, most) {
		found = append(found, Match{names.Name(r.Index), r.At})
	}
	return found
}

// current returns the list, and what to wait for if there is none yet. It begins to read
// the list if that is necessary.
func (l *List) current() (names *Names, building <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.building == nil && (!l.whole || l.now().Sub(l.read) >= staleAfter) {
		done := make(chan struct{})
		l.building = done
		l.spawn(func(ctx context.Context) {
			defer close(done)
			l.build(ctx)
		})
	}
	if l.whole {
		return l.names, nil
	}
	return l.names, l.building
}

// build reads the list. Until the first one is complete, its parts are available.
func (l *List) build(ctx context.Context) {
	paths := make([]string, 0, partEvery)
	dirs := map[string]bool{}
	err := l.source(ctx, func(file string) bool {
		for dir := path.Dir(file); dir != "." && dir != "/" && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			paths = append(paths, dir+"/")
		}
		paths = append(paths, file)
		if len(paths)%partEvery == 0 {
			l.publish(slices.Clone(paths), false)
		}
		return len(paths) < maxPaths
	})
	if err != nil && len(paths) == 0 {
		paths = nil
	}
	l.mu.Lock()
	keep := l.whole && err != nil // an incomplete list does not replace a complete one
	l.mu.Unlock()
	if !keep {
		l.publish(paths, ctx.Err() == nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.building, l.read = nil, l.now()
}

// publish makes paths the list, unless a part would replace a complete list.
func (l *List) publish(paths []string, whole bool) {
	l.mu.Lock()
	replace := whole || !l.whole
	l.mu.Unlock()
	if !replace {
		return
	}
	names := NewNames(paths)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names, l.whole = names, whole
}

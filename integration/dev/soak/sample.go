package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"time"
)

// sample is what is in use at a moment when nobody works. A count of -1 cannot be
// had on this system.
type sample struct {
	at          time.Duration // since the run began
	Seconds     float64       `json:"seconds"`
	Calls       int           `json:"calls"`
	Heap        int64         `json:"heap"` // bytes that are live
	RSS         int64         `json:"rss"`  // bytes of memory that the process has
	Goroutines  int           `json:"goroutines"`
	Descriptors int           `json:"descriptors"`
	Children    int           `json:"children"` // processes that this one has started
	Files       int           `json:"files"`    // below the directory of the run
}

func (s sample) String() string {
	return fmt.Sprintf("%6.0f s %8d calls  heap %6.2f MiB  rss %4d MiB  goroutines %d  descriptors %d  children %d  files %d",
		s.Seconds, s.Calls, float64(s.Heap)/(1<<20), s.RSS>>20, s.Goroutines, s.Descriptors, s.Children, s.Files)
}

// quiet is how long what ends by itself is given to end.
const quiet = 5 * time.Second

// measure counts what is in use. What is on its way out, as a goroutine that has
// given its result, is waited for.
func (s *soak) measure(begun time.Time) sample {
	var now sample
	last := -1
	for until := time.Now().Add(quiet); ; time.Sleep(2 * time.Millisecond) {
		now.Goroutines, now.Descriptors, now.Children = runtime.NumGoroutine(), descriptors(), children()
		sum := now.Goroutines + now.Descriptors + now.Children
		if sum == last || time.Now().After(until) {
			break
		}
		last = sum
	}
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now.Heap, now.RSS = int64(m.HeapAlloc), resident()
	_ = filepath.WalkDir(s.dir, func(string, fs.DirEntry, error) error { now.Files++; return nil })
	now.at = time.Since(begun)
	now.Seconds = now.at.Seconds()
	s.mu.Lock()
	now.Calls = s.asked
	s.mu.Unlock()
	return now
}

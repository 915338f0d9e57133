package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"time"
)

// sample is the resource usage at a moment without activity. A count is -1 if this system does not
// provide it.
type sample struct {
	at          time.Duration // since the start of the run
	Seconds     float64       `json:"seconds"`
	Calls       int           `json:"calls"`
	Heap        int64         `json:"heap"` // live bytes
	RSS         int64         `json:"rss"`  // resident bytes of the process
	Goroutines  int           `json:"goroutines"`
	Descriptors int           `json:"descriptors"`
	Children    int           `json:"children"` // child processes
	Files       int           `json:"files"`    // below the directory of the run
}

func (s sample) String() string {
	return fmt.Sprintf("%6.0f s %8d calls  heap %6.2f MiB  rss %4d MiB  goroutines %d  descriptors %d  children %d  files %d",
		s.Seconds, s.Calls, float64(s.Heap)/(1<<20), s.RSS>>20, s.Goroutines, s.Descriptors, s.Children, s.Files)
}

// quiet is the time limit for goroutines and processes to exit by themselves.
const quiet = 5 * time.Second

// measure counts the resources in use. It waits for those that are being released,
// such as a goroutine that has returned its result.
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
	runtime.GC() // released by finalizers
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

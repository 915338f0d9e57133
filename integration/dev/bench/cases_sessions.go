package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// sessionCounts are the sizes of the cases sessions/KIND-N. The last one runs only with -full.
func sessionCounts() []int { return []int{1, 100, 1_000, 10_000} }

const (
	mostSessions = 10_000
	usedSessions = "each has read a file"
)

// sessionReport is the report of a process with many sessions about itself.
type sessionReport struct {
	Elapsed    time.Duration `json:"elapsed"`  // of all sessions
	Resident   float64       `json:"resident"` // growth of the resident memory in bytes; 0: unknown
	Heap       float64       `json:"heap"`     // growth of the heap in bytes
	Goroutines float64       `json:"goroutines"`
	// OutOfDescriptors is set if the system does not allow as many open files.
	OutOfDescriptors bool `json:"out_of_descriptors,omitempty"`
}

func sessionCases() []Case {
	var all []Case
	for _, n := range sessionCounts() {
		title := thousands(n) + " Configs"
		if n == 1 {
			title = "1 Config"
		}
		figure := func(key, title, what string, unit Unit, of func(sessionReport) Measured) Case {
			return Case{ID: fmt.Sprintf("sessions/%s-%d", key, n), Title: title, Description: what, Unit: unit, Turns: 5, Contestants: []Contestant{
				{"fettle", Ours, sessionsOf(n, false, of)},
				{usedSessions, Part, sessionsOf(n, true, of)},
			}}
		}
		created := figure("time", title+": creation of one", "The time of New and Initialize per Config, in a process of their own.", Time,
			func(r sessionReport) Measured { return Measured{Elapsed: r.Elapsed / time.Duration(n)} })
		created.Growth = &Growth{Plot: "creation", Line: "initialized, unused", X: float64(n)}
		resident := figure("memory", title+": resident memory", "The growth of a process after its garbage was returned to the system.", Bytes,
			func(r sessionReport) Measured { return Measured{Value: r.Resident} })
		resident.Growth = &Growth{Plot: "sessions", Line: "initialized, unused", X: float64(n)}
		left := figure("goroutines", title+": goroutines", "The number of additional goroutines.", Count,
			func(r sessionReport) Measured { return Measured{Value: r.Goroutines} })
		if n == mostSessions {
			resident.Budgets = []Budget{{Kind: Absolute, Most: 200e6}}
			left.Budgets = []Budget{{Kind: Absolute, Most: 0}}
			all = append(all, left)
		}
		all = append(all, created, resident)
	}
	return all
}

// sessionsOf prepares turns of one process with n sessions each. Cases that use different figures
// of it share the processes.
func sessionsOf(n int, use bool, of func(sessionReport) Measured) func(context.Context, *Lab) (*Prepared, error) {
	return func(_ context.Context, lab *Lab) (*Prepared, error) {
		if n > lab.Size(100, 1_000, mostSessions) {
			return nil, absent("%s sessions need -full", thousands(n))
		}
		turn := 0
		return &Prepared{Run: func(ctx context.Context) (Measured, error) {
			turn++
			r, err := Shared(ctx, lab, fmt.Sprintf("sessions %d %t %d", n, use, turn), func(ctx context.Context) (sessionReport, func() error, error) {
				cmd, err := lab.child(ctx, childTask{Sessions: n, Use: use})
				if err != nil {
					return sessionReport{}, nil, err
				}
				r, err := outputOf[sessionReport](cmd)
				return r, nil, err
			})
			if err == nil && r.OutOfDescriptors {
				err = absent("each Config in use holds a descriptor, and the system does not allow as many (ulimit -n)")
			}
			return of(r), err
		}}, nil
	}
}

// makeSessions creates the sessions of a task in this process, and closes them.
func makeSessions(ctx context.Context, t childTask) (r sessionReport, err error) {
	dir, err := os.MkdirTemp("", "fettle-bench-sessions-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	target, home := filepath.Join(dir, "target"), filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(target, 0o755), os.Mkdir(home, 0o755), os.WriteFile(filepath.Join(target, "f"), []byte("text\n"), 0o644)); err != nil {
		return r, err
	}
	read, err := request("read_file", map[string]any{"file_path": "f"})
	if err != nil {
		return r, err
	}
	goroutines, heap, resident := runtime.NumGoroutine(), heapBytes(), residentBytes()
	all := make([]*config.Config, 0, t.Sessions)
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.Close())
		}
	}()
	began := time.Now()
	for range t.Sessions {
		c, err := config.New(config.Parameters{TargetDir: target, Environment: config.Environment{HomeDir: home}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}})
		if err != nil {
			return r, err
		}
		all = append(all, c)
		if err := c.Initialize(ctx); err != nil {
			return r, err
		}
		if !t.Use {
			continue
		}
		calls, err := c.Scheduler()
		if err != nil {
			return r, err
		}
		if response := calls.Run(ctx, read); response.Status != scheduler.StatusSuccess {
			if e := response.Result.Error; e != nil && errors.Is(e, syscall.EMFILE) {
				r.OutOfDescriptors = true
				return r, nil
			}
			return r, fmt.Errorf("read_file: %v", response.Result.Error)
		}
	}
	r.Elapsed = time.Since(began)
	r.Heap, r.Resident = heapBytes()-heap, residentBytes()-resident
	r.Goroutines = float64(runtime.NumGoroutine() - goroutines)
	return r, nil
}

// heapBytes returns the size of the reachable memory.
func heapBytes() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// residentBytes returns the resident memory of this process after garbage was returned to the
// system; 0 if the system does not report it.
func residentBytes() float64 {
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, resident float64
	if _, err := fmt.Sscan(string(data), &total, &resident); err != nil {
		return 0
	}
	return resident * float64(os.Getpagesize())
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// options are the options of a run.
type options struct {
	time     time.Duration // minimum duration
	rounds   int           // minimum number
	warm     int           // rounds of warm-up
	fill     int           // states of a file that the long session receives before the first round
	workers  int
	seed     uint64
	parts    []part
	progress func(sample) // nil: progress is not reported
}

// part is one kind of traffic. It ends everything that it starts, and returns an error for an
// unexpected result.
type part struct {
	name string
	run  func(ctx context.Context, s *soak, r *rand.Rand) error
}

// soak is a run in progress. One session lasts for the whole run, others are opened
// and closed.
type soak struct {
	options
	dir     string // the directory of all files
	program string // this program, which is also a server
	long    *session
	files   []*account

	settings sync.Mutex // held while the long session's settings are changed
	count    int        // of these changes

	mu       sync.Mutex
	calls    map[string]int // results, by status
	asked    int            // calls made
	done     map[string]int // completed parts, by name
	held     int            // changes refused because the file was open for writing
	problems []string
}

// result is the result of a run.
type result struct {
	samples  []sample
	baseline sample // before the long session started, with the process warmed up
	end      sample // after everything has ended
	figures  []judged
	calls    map[string]int
	done     map[string]int
	held     int
	problems []string
}

// maxProblems is the maximum number of reported problems.
const maxProblems = 20

// soakIt runs the traffic in rounds: in each, every worker runs every part once, in
// random order. Between rounds there is no activity, and the resources are counted.
func soakIt(ctx context.Context, o options) (r result, err error) {
	dir, err := os.MkdirTemp("", "fettle-soak-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return r, err
	}
	s := &soak{options: o, dir: dir, calls: map[string]int{}, done: map[string]int{}}
	if s.program, err = os.Executable(); err != nil {
		return r, err
	}
	// The first round makes the one-time allocations of a process.
	if err := s.begin(ctx); err != nil {
		return r, err
	}
	for n := range s.warm {
		s.round(ctx, 1<<40+uint64(n))
	}
	if err := s.long.Close(); err != nil {
		return r, err
	}
	r.samples = make([]sample, 0, 1<<14) // before the baseline, which then includes it
	r.baseline = s.measure(time.Now())

	if err := s.begin(ctx); err != nil {
		return r, err
	}
	if err := s.filled(ctx); err != nil {
		return r, err
	}
	begun := time.Now()
	every := o.time / (1 << 13)
	for n := 1; (n <= o.rounds || time.Since(begun) < o.time) && ctx.Err() == nil && len(s.problems) < maxProblems; n++ {
		s.round(ctx, uint64(n))
		if len(r.samples) > 0 && time.Since(begun)-r.samples[len(r.samples)-1].at < every || len(r.samples) == cap(r.samples) {
			continue
		}
		now := s.measure(begun)
		r.samples = append(r.samples, now)
		if o.progress != nil {
			o.progress(now)
		}
	}
	s.settle()
	if err := s.long.Close(); err != nil {
		s.report("close", err)
	}
	s.long = nil
	r.end = s.measure(begun)
	if ctx.Err() != nil {
		return r, fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	r.figures = judge(r.samples, r.baseline, r.end)
	r.calls, r.done, r.held, r.problems = s.calls, s.done, s.held, s.problems
	for _, f := range r.figures {
		if f.wrong != "" {
			r.problems = append(r.problems, f.wrong)
		}
	}
	return r, nil
}

// stable is the directory of the long session's files that nobody changes. Reads of other files beside the
// changes would tell the session what the changes expect it not to know.
const stable = "stable"

// begin opens the long session, with new files.
func (s *soak) begin(ctx context.Context) error {
	if err := errors.Join(os.RemoveAll(s.path("long")), os.RemoveAll(s.path("home"))); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(s.path("long"), 0o755), os.MkdirAll(s.path("home/.fettle"), 0o755)); err != nil {
		return err
	}
	s.files = nil
	for i := range 24 {
		a := &account{name: fmt.Sprintf("f%02d.txt", i), want: "first\n"}
		if err := os.WriteFile(s.path("long", a.name), []byte(a.want), 0o644); err != nil {
			return err
		}
		s.files = append(s.files, a)
	}
	if err := os.Mkdir(s.path("long", stable), 0o755); err != nil {
		return err
	}
	for i := range 4 {
		if err := os.WriteFile(s.path("long", stable, fmt.Sprintf("f%02d.txt", i)), []byte("first\n"), 0o644); err != nil {
			return err
		}
	}
	var err error
	s.long, err = s.open(ctx, s.path("long"), s.path("home"), longSession(s))
	return err
}

// filled shows the long session many states of a file, so that its bounded stores of contents and
// hashes are full before the first sample.
func (s *soak) filled(ctx context.Context) error {
	const name = "filled.txt"
	line := strings.Repeat("x", 69) + "\n"
	for n := range s.fill {
		if err := os.WriteFile(s.path("long", name), []byte(fmt.Sprintln("state", n)+strings.Repeat(line, 100)), 0o644); err != nil {
			return err
		}
		if _, err := s.long.read(ctx, name); err != nil {
			return err
		}
	}
	return os.RemoveAll(s.path("long", name))
}

// round makes every worker run every part.
func (s *soak) round(ctx context.Context, n uint64) {
	var working sync.WaitGroup
	for w := range s.workers {
		working.Go(func() {
			r := rand.New(rand.NewPCG(s.seed, n<<8|uint64(w)))
			for _, i := range r.Perm(len(s.parts)) {
				if ctx.Err() != nil {
					return
				}
				p := s.parts[i]
				err := p.run(ctx, s, r)
				if err != nil && ctx.Err() == nil {
					s.report(p.name, err)
				}
				s.mu.Lock()
				s.done[p.name]++
				s.mu.Unlock()
			}
		})
	}
	working.Wait()
}

func (s *soak) report(part string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, fmt.Sprintf("%s: %v", part, err))
	}
}

// settle checks the accounts: every call has one result, and every file has the
// expected content.
func (s *soak) settle() {
	answers := 0
	for _, n := range s.calls {
		answers += n
	}
	if answers != s.asked {
		s.report("calls", fmt.Errorf("%d calls were made, and %d have a result", s.asked, answers))
	}
	for _, a := range s.files {
		if err := a.check(s.path("long", a.name)); err != nil {
			s.report("accounts", err)
		}
	}
	left, err := os.ReadDir(s.path("long"))
	if want := len(s.files) + 1; err != nil || len(left) != want { // and the directory of stable files
		s.report("accounts", fmt.Errorf("there are %d files, want %d: %v", len(left), want, err))
	}
}

func (s *soak) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// session is a Config with the calls made in it.
type session struct {
	*config.Config
	soak  *soak
	calls *scheduler.Scheduler
	dir   string
}

// everyTool lists the tools of sessions.
var everyTool = []string{
	"read_file", "read_many_files", "list_directory", "glob", "search_file_content", "safe_patch", "write_file", "edit",
	"run_shell_command", "list_background_processes", "read_background_output", "write_background_input", "stop_background_process",
}

// open opens a session. The caller must close it.
func (s *soak) open(ctx context.Context, dir, home string, change func(*config.Parameters)) (*session, error) {
	p := config.Parameters{
		TargetDir: dir, Environment: config.Environment{HomeDir: home, OnDefect: func(err error) { s.report("defect", err) }}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}, Tools: config.Tools{Core: everyTool},
	}
	if change != nil {
		change(&p)
	}
	c, err := config.New(p)
	if err != nil {
		return nil, err
	}
	if err := c.Initialize(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	calls, err := c.Scheduler()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &session{Config: c, soak: s, calls: calls, dir: dir}, nil
}

// short runs f in a separate session with temporary directories.
func (s *soak) short(ctx context.Context, change func(*config.Parameters), f func(c *session) error) (err error) {
	dir, err := os.MkdirTemp(s.dir, "short-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(work, 0o755), os.MkdirAll(filepath.Join(home, ".fettle", "commands"), 0o755)); err != nil {
		return err
	}
	c, err := s.open(ctx, work, home, change)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

// call makes one call and counts it and its result.
func (c *session) call(ctx context.Context, tool string, args map[string]any) scheduler.Response {
	return c.through(ctx, c.calls, tool, args)
}

func (c *session) through(ctx context.Context, calls *scheduler.Scheduler, tool string, args map[string]any) scheduler.Response {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // maps of plain values
	}
	s := c.soak
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	r := calls.Run(ctx, scheduler.Request{Tool: tool, Args: raw})
	if slices.Contains([]scheduler.Status{scheduler.StatusSuccess, scheduler.StatusError, scheduler.StatusDenied, scheduler.StatusCancelled}, r.Status) {
		s.mu.Lock()
		s.calls[string(r.Status)]++
		s.mu.Unlock()
	}
	return r
}

// must makes a call that must succeed; it returns the text for the model.
func (c *session) must(ctx context.Context, tool string, args map[string]any) (string, error) {
	r := c.call(ctx, tool, args)
	if r.Status != scheduler.StatusSuccess {
		return "", fmt.Errorf("%s: %s: %w", tool, r.Status, r.Result.Error)
	}
	return r.Result.LLMContent.String(), nil
}

// names returns the keys of a count, sorted.
func names(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }

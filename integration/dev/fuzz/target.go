package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is one fuzz function.
type target struct {
	dir    string // directory of its package, relative to the module's root, with slashes
	name   string
	seeded bool // it calls Add for the inputs of its archive
}

func (t target) String() string { return t.dir + "." + t.name }

// failures returns the directory in which the go command writes failing inputs.
func (t target) failures(root string) string {
	return filepath.Join(root, filepath.FromSlash(t.dir), "testdata", "fuzz", t.name)
}

// archive returns the file of the inputs that every test of the package runs.
func (t target) archive(root string) string { return t.failures(root) + ".txtar" }

// find returns the root of fettle's module and its fuzz targets in order. It reads
// the test files for this platform and compiles nothing.
func find(ctx context.Context) (root string, targets []target, err error) {
	out, err := goTool(ctx, "", "list", "-m", "-f", "{{.Dir}}", "github.com/fettle-dev/fettle")
	if err != nil {
		return "", nil, err
	}
	root = strings.TrimSpace(string(out))
	out, err = goTool(ctx, root, "list", "-json=Dir,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return "", nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir                       string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", nil, fmt.Errorf("go list: %w", err)
		}
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return "", nil, err
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			found, err := fuzzFuncs(filepath.Join(p.Dir, file))
			if err != nil {
				return "", nil, err
			}
			for _, t := range found {
				t.dir = filepath.ToSlash(dir)
				targets = append(targets, t)
			}
		}
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return root, targets, nil
}

func fuzzFuncs(file string) (targets []target, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, is := d.(*ast.FuncDecl); is && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			targets = append(targets, target{name: fn.Name.Name, seeded: seeded(fn)})
		}
	}
	return targets, nil
}

// seeded reports whether a fuzz target calls fuzzseed.Add, or Add in that package.
func seeded(fn *ast.FuncDecl) (calls bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				calls = calls || f.Name == "Add"
			case *ast.SelectorExpr:
				pkg, is := f.X.(*ast.Ident)
				calls = calls || is && pkg.Name == "fuzzseed" && f.Sel.Name == "Add"
			}
		}
		return true
	})
	return calls
}

const (
	ok       = "ok"
	failed   = "failed"
	notBuilt = "did not run"
)

// outcome is the result of one run of a target.
type outcome struct {
	Target     string  `json:"target"`
	Executions int64   `json:"executions"`
	PerSecond  int64   `json:"perSecond"`
	Seconds    float64 `json:"seconds"` // of fuzzing, without the build
	Corpus     int     `json:"corpus"`  // inputs in the archive
	New        int     `json:"new"`     // interesting inputs found in this run
	Load       string  `json:"load"`    // the machine's load average of the last minute; empty if it has none
	Date       string  `json:"date"`
	Result     string  `json:"result"`
	Input      string  `json:"input,omitempty"` // the file of the failing input
	Again      string  `json:"again,omitempty"` // the command that reproduces the failure
	output     string
}

// fuzz runs the target. All its processes have ended when it returns, also after ctx ended.
// Minimizing an input is limited to three seconds: with slow executions it would take the whole
// time.
func (t target) fuzz(ctx context.Context, root string, o options) outcome {
	cmd := exec.CommandContext(ctx, "go", "test", "./"+t.dir, "-run", "^$", "-fuzz", "^"+t.name+"$",
		"-fuzztime", o.time.String(), "-fuzzminimizetime", "3s", "-parallel", strconv.Itoa(o.parallel), "-timeout", "0")
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ownGroup(cmd)
	cmd.WaitDelay = 30 * time.Second
	err := cmd.Run()
	r := read(out.String(), err == nil)
	r.Target, r.Date, r.Load, r.output = t.String(), time.Now().Format(time.DateOnly), loadAverage(), out.String()
	if r.Input != "" {
		r.Again = "go test ./" + t.dir + " -run '^" + t.name + "$/^" + path.Base(r.Input) + "$'"
		if strings.HasPrefix(r.Input, "testdata/") {
			r.Input = t.dir + "/" + r.Input
		}
	}
	if all, err := archived(t.archive(root)); err == nil {
		r.Corpus = len(all)
	}
	return r
}

var (
	progress = regexp.MustCompile(`(?m)^fuzz: elapsed: ([0-9hms.]+), execs: (\d+) \(\d+/sec\)(?:, new interesting: (\d+))?`)
	written  = regexp.MustCompile(`(?m)^\s+Failing input written to (\S+)$`)
	seed     = regexp.MustCompile(`(?m)^failure while testing seed corpus entry: (\w+/(\S+))$`)
	atTheEnd = regexp.MustCompile(`(?s)^--- FAIL: \w+ \([0-9.]+s\)\n\s+context deadline exceeded\nFAIL\n`)
)

// read parses the output of go test.
func read(out string, passed bool) outcome {
	r := outcome{Result: ok}
	if lines := progress.FindAllStringSubmatch(out, -1); len(lines) > 0 {
		last := lines[len(lines)-1]
		took, _ := time.ParseDuration(last[1])
		r.Seconds = took.Seconds()
		r.Executions, _ = strconv.ParseInt(last[2], 10, 64)
		r.New, _ = strconv.Atoi(last[3])
		if r.Seconds > 0 {
			r.PerSecond = int64(float64(r.Executions) / r.Seconds)
		}
	}
	if passed {
		return r
	}
	if m := written.FindStringSubmatch(out); m != nil {
		r.Result, r.Input = failed, m[1]
		return r
	}
	if m := seed.FindStringSubmatch(out); m != nil {
		r.Result, r.Input = failed, "testdata/fuzz/"+m[1]
		if strings.HasPrefix(m[2], "seed#") { // of f.Add, not a file
			r.Input = "the source, as " + m[1]
		}
		return r
	}
	// The go command reports a failure if the time ends during an execution, although no input
	// failed.
	if at := strings.Index(out, "--- FAIL: "); at >= 0 && r.Executions > 0 && atTheEnd.MatchString(out[at:]) {
		return r
	}
	if r.Executions > 0 || strings.Contains(out, "--- FAIL: ") {
		r.Result = failed
	} else {
		r.Result = notBuilt
	}
	return r
}

// loadAverage returns the load average of the last minute, if the system has one.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

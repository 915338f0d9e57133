package integration_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fettle-dev/fettle/cli"
	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/gateway"
	"github.com/fettle-dev/fettle/cli/guard/hook"
	"github.com/fettle-dev/fettle/cli/guard/importer"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

// More tests run in parallel than there are processors, because many wait for programs.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(memtemp.Of(m), map[string]func(){"fettle": fettle, "fettle-guard": fettleGuard, "terminal": terminal, "typist": typist, "mcpclient": mcpclient, "mcpstarts": mcpstarts, "bookshelf": bookshelf, "unenforced": unenforced})
}

// brief are variables for short-lived programs. Otherwise the race detector pauses
// for a second at the end of each, and garbage collection takes a quarter of the time
// of a short session.
var brief = []string{"GORACE=atexit_sleep_ms=0", "GOGC=400"}

// fettle runs the program under the layout of the test. A flag in the script comes later and takes
// precedence.
func fettle() {
	if name := os.Getenv(layoutVariable); name != "" {
		os.Args = slices.Insert(os.Args, 1, "--layout", name)
	}
	os.Exit(cli.Main())
}

// fettleGuard runs the program for other agents.
func fettleGuard() {
	os.Exit(guard.Main("fettle-guard", hook.Command(), gateway.Command(), importer.Command()))
}

// layoutVariable holds the layout of the scripts.
const layoutVariable = "TEST_LAYOUT"

// The scripts run the program as users do, once under each layout (CR-27). A script without names
// of a layout runs under the second one with FETTLE_FULL=1 only.
//
// Scripts take names from variables: $TEST_LAYOUT is the layout. $DIR, $CONTEXT and $IGNORE are its
// directory and files, $PREFIX its prefix of variables with the underscore, $NAME its name in
// headings. $EDIT, $SEARCH and $WEB_SEARCH are the names of those tools. [fettle] and [gemini] are
// conditions. The commands in addition to those of testscript are
//
//	exits CODE PROGRAM ARGS…   runs a program that must end with this exit code
//	json LINE PATH WANT        compares a value in a line of the last stdout; PATH is as a.b.0
//	json LINE PATH             the value must exist and not be null
//	! json LINE PATH           the value must be absent or null
//	hash LINE PATH FILE        the value must be the SHA-256 of a file
//	fill FILE…                 replaces the layout's variables and $SERVER in files
//	unfold DIR                 copies a directory of testdata into $WORK
//	serve DIR                  serves a directory over HTTP on 127.0.0.1. Its URL is in
//	                           $SERVER; $WORK/requests lists the requests. Below /keyed the
//	                           request needs a key that begins with "good"
//	mkfork NAME DIR            creates a fork of the current directory, or opens it, and gives it
//	                           the files of $WORK/DIR; an empty one is removed
func TestProgram(t *testing.T) {
	t.Parallel()
	for _, names := range []layout.Layout{layout.Fettle(), layout.Gemini()} {
		t.Run(names.Name, func(t *testing.T) {
			t.Parallel()
			p := scripts("testdata/script", names)
			if names.Name != layout.Fettle().Name && os.Getenv("FETTLE_FULL") == "" {
				p.Dir, p.Files = "", aboutLayouts(t, p.Dir)
				t.Logf("%q", p.Files)
			}
			testscript.Run(t, p)
		})
	}
}

// aboutLayouts returns the scripts for the second layout alone, and scripts that together contain
// every name of a layout that any script contains: each of its variables, and each entry of its
// directory. Scripts with more names come first: layout_names.txtar.
func aboutLayouts(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	variables := slices.Sorted(maps.Keys(layoutNames(layout.Fettle())))
	mention := regexp.MustCompile(`\$\{?(DIR\b\}?/[\w.-]+|(` + strings.Join(variables, "|") + `)\b)|\[!?(` + layout.Fettle().Name + "|" + layout.Gemini().Name + `)\]`)
	names := map[string]map[string]bool{}
	var some []string
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "[!"+layout.Gemini().Name+"] skip") {
			some = append(some, name)
			continue
		}
		names[name] = map[string]bool{}
		for _, m := range mention.FindAllString(string(text), -1) {
			names[name][strings.NewReplacer("{", "", "}", "", "!", "").Replace(m)] = true
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(names[b]) - len(names[a]) })
	seen := map[string]bool{}
	for _, name := range all {
		before := len(seen)
		maps.Copy(seen, names[name])
		if len(seen) > before {
			some = append(some, name)
		}
	}
	if len(seen) < 20 {
		t.Fatalf("the scripts contain only %d names of a layout", len(seen))
	}
	return some
}

// scripts returns the parameters to run the scripts of a directory under a layout.
func scripts(dir string, names layout.Layout) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "landlock": // this kernel can confine commands
				return process.Confinement{Kind: process.Landlock}.Check(context.Background()) == nil, nil
			case "namespaces": // this system can confine single commands
				return process.Confinement{Kind: process.Namespaces}.Check(context.Background()) == nil, nil
			case layout.Fettle().Name, layout.Gemini().Name:
				return cond == names.Name, nil
			case "full": // the full run
				return os.Getenv("FETTLE_FULL") != "", nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("TMPDIR", env.WorkDir+"/tmp")
			env.Setenv("YES", "y\ny\ny\n")
			env.Setenv("DBUS_SESSION_BUS_ADDRESS", "") // no test stores a key in the keychain of the developer
			env.Vars = append(env.Vars, brief...)
			for name, value := range layoutNames(names) {
				env.Setenv(name, value)
			}
			for _, dir := range []string{"home", "tmp"} {
				if err := os.MkdirAll(env.WorkDir+"/"+dir, 0o755); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"json":   jsonValue,
			"hash":   hashValue,
			"fill":   fill,
			"unfold": unfold,
			"serve":  serve,
			"mkfork": makeFork,
		},
	}
}

// layoutNames returns the variables with the names of a layout for scripts.
func layoutNames(names layout.Layout) map[string]string {
	return map[string]string{
		layoutVariable: names.Name,
		"DIR":          names.Dir,
		"CONTEXT":      names.ContextFile,
		"IGNORE":       names.IgnoreFile,
		"PREFIX":       names.EnvPrefix,
		"NAME":         strings.ToUpper(names.Name[:1]) + names.Name[1:],
		"EDIT":         cmp.Or(names.ToolNames["edit"], "edit"),
		"SEARCH":       cmp.Or(names.ToolNames["search_file_content"], "search_file_content"),
		"WEB_SEARCH":   cmp.Or(names.ToolNames["web_search"], "web_search"),
	}
}

// fill changes only the variables of the layout.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fill FILE…")
	}
	names, _ := layout.Named(ts.Getenv(layoutVariable))
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), func(variable string) string {
			if value, ok := layoutNames(names)[variable]; ok {
				return value
			}
			if variable == "SERVER" {
				return ts.Getenv(variable)
			}
			return "$" + variable
		})
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg && len(args) == 3 {
		ts.Fatalf("usage: [!] json LINE PATH [WANT]")
	}
	got, ok := valueAt(ts, args[0], args[1])
	switch {
	case neg && ok:
		ts.Fatalf("%s is %s", args[1], got)
	case !neg && !ok:
		ts.Fatalf("%s is absent in\n%s", args[1], ts.ReadFile("stdout"))
	case len(args) == 3 && got != args[2]:
		ts.Fatalf("%s is %q, want %q", args[1], got, args[2])
	}
}

func hashValue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: hash LINE PATH FILE")
	}
	sum := sha256.Sum256([]byte(ts.ReadFile(args[2])))
	if got, _ := valueAt(ts, args[0], args[1]); got != hex.EncodeToString(sum[:]) {
		ts.Fatalf("%s is %q, the SHA-256 of %s is %x", args[1], got, args[2], sum)
	}
}

func unfold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unfold DIR")
	}
	ts.Check(os.CopyFS(ts.Getenv("WORK"), os.DirFS(filepath.Join("testdata", args[0]))))
}

// serve serves a directory; below /away it redirects to the rest of the path, and
// below /hostile it sends malicious responses.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve DIR")
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	mux.HandleFunc("/away/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+strings.TrimPrefix(r.URL.Path, "/away/"), http.StatusFound)
	})
	mux.HandleFunc("/hostile/", hostile)
	mux.HandleFunc("/keyed/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer good") {
			http.StripPrefix("/keyed", http.FileServer(http.Dir(ts.MkAbs(args[0])))).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}`)
	})
	requests := ts.MkAbs("requests")
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if f, err := os.OpenFile(requests, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			_, _ = fmt.Fprintln(f, r.Method, r.URL)
			_ = f.Close()
		}
		mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("SERVER", server.URL)
}

// valueAt returns a value of a line of stdout: strings unquoted with line feeds as
// \n, others as JSON.
func valueAt(ts *testscript.TestScript, line, path string) (string, bool) {
	n, err := strconv.Atoi(line)
	ts.Check(err)
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if n < 1 || n > len(lines) {
		ts.Fatalf("stdout has no line %d", n)
	}
	var v any
	if err := json.Unmarshal([]byte(lines[n-1]), &v); err != nil {
		ts.Fatalf("line %d of stdout: %v", n, err)
	}
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return "", false
			}
			v = x[i]
		default:
			return "", false
		}
	}
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return strings.ReplaceAll(x, "\n", `\n`), true
	}
	data, err := json.Marshal(v)
	ts.Check(err)
	return string(data), true
}

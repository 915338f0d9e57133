package integration

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// testFlags are the flags of go test that pages use, and whether each takes a value.
var testFlags = map[string]bool{
	"run": true, "bench": true, "benchtime": true, "count": true, "timeout": true, "fuzz": true, "fuzztime": true, "parallel": true, "shuffle": true,
	"tags": true, "cpuprofile": true, "memprofile": true, "list": true, "ldflags": true, "o": true, "C": true,
	"benchmem": false, "race": false, "v": false, "short": false, "cover": false, "trimpath": false,
}

// GO-11: commands that take too long to run in every test refer to existing packages,
// tests, benchmarks, flags and files.
func TestDocsBlocksNameWhatExists(t *testing.T) {
	t.Parallel()
	for _, b := range allBlocks(t) {
		if b.how == "names" {
			checkNames(t, b, "")
		}
	}
}

// checkNames checks each command of a block; if only is not empty, only those of that
// program.
func checkNames(t *testing.T, b block, only string) {
	t.Helper()
	script, err := shell.Read(b.text, nil)
	if err != nil {
		t.Errorf("%s: %v", b, err)
		return
	}
	for _, call := range script.Calls {
		if len(call.Words) == 0 {
			continue
		}
		words := make([]string, len(call.Words))
		for i, word := range call.Words {
			words[i] = word.Text
		}
		switch {
		case only != "" && words[0] != only:
		case words[0] == "go":
			checkGo(t, b, words[1:])
		case words[0] == "fettle":
			checkFettle(t, b, words[1:])
		case words[0] == "cd" && len(words) == 2, strings.HasPrefix(words[0], "."):
			if !exists(filepath.Join(root, words[len(words)-1])) && !exists(filepath.Join(root, words[0])) {
				t.Errorf("%s: there is no %s", b, words[0])
			}
		default:
			t.Errorf("%s: the names in %s cannot be checked: use run or not run", b, words[0])
		}
	}
}

// checkFettle checks that the program has the command, and the command the flags.
func checkFettle(t *testing.T, b block, args []string) {
	t.Helper()
	command := 0
	for command < len(args) && regexp.MustCompile(`^[a-z]`).MatchString(args[command]) {
		command++
	}
	help, err := exec.CommandContext(t.Context(), "fettle", append(slices.Clone(args[:command]), "--help")...).Output()
	if err != nil {
		t.Errorf("%s: fettle %s: %v", b, strings.Join(args[:command], " "), err)
	}
	for _, arg := range args[command:] {
		if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "-") && !regexp.MustCompile(`(?m)^ .*`+regexp.QuoteMeta(name)+`\b`).Match(help) {
			t.Errorf("%s: fettle %s has no flag %s", b, strings.Join(args[:command], " "), name)
		}
	}
}

// checkGo checks go test FLAGS PACKAGES FLAGS and go run PACKAGE ARGS.
func checkGo(t *testing.T, b block, args []string) {
	t.Helper()
	if len(args) < 2 || args[0] != "test" && args[0] != "run" {
		t.Errorf("%s: go %s is not checked: use not run", b, strings.Join(args, " "))
		return
	}
	var packages, flags []string
	patterns := map[string]string{} // of -run, -bench and -fuzz
	verb, args := args[0], args[1:]
	moduleDir := root
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		takes, known := testFlags[name]
		switch {
		case !strings.HasPrefix(args[i], "-"):
			if verb == "run" && len(packages) == 1 {
				continue // for the program itself
			}
			packages = append(packages, args[i])
			continue
		case verb == "run" && len(packages) == 1 || !known:
			flags = append(flags, name)
			continue
		case takes && !given && i+1 < len(args):
			i++
			value = args[i]
		}
		if name == "C" {
			moduleDir = filepath.Join(root, value)
		}
		patterns[name] = value
	}
	source := ""
	for _, pkg := range packages {
		text, ok := sourceOf(t, moduleDir, pkg)
		if !ok {
			t.Errorf("%s: there is no package %s", b, pkg)
		}
		source += text
	}
	if verb == "run" && !strings.Contains(source, "package main") {
		t.Errorf("%s: %v is not a program", b, packages)
	}
	for name, prefix := range map[string]string{"run": "Test", "bench": "Benchmark", "fuzz": "Fuzz"} {
		for _, pattern := range alternatives(patterns[name]) {
			if pattern == "^$" || pattern == "" {
				continue
			}
			of, err := regexp.Compile(pattern)
			if err != nil {
				t.Errorf("%s: -%s %s: %v", b, name, pattern, err)
				continue
			}
			declared := regexp.MustCompile(`(?m)^func (` + prefix + `\w*|` + map[string]string{"run": `Fuzz\w*|Example\w*`}[name] + `)\(`)
			if !slices.ContainsFunc(declared.FindAllStringSubmatch(source, -1), func(m []string) bool { return of.MatchString(m[1]) }) {
				t.Errorf("%s: -%s %s matches no function of %v", b, name, pattern, packages)
			}
		}
	}
	for _, name := range flags {
		if name, _, _ = strings.Cut(name, "="); !regexp.MustCompile(`(?:String|Bool|Int|Duration|Float64|Var|Func)\w*\([^"\n]*"` + regexp.QuoteMeta(name) + `"`).MatchString(source) {
			t.Errorf("%s: %v has no flag -%s", b, packages, name)
		}
	}
}

// alternatives returns the parts of a go test pattern separated by |, each up to its
// first slash.
func alternatives(pattern string) []string {
	pattern, _, _ = strings.Cut(pattern, "/")
	if m := regexp.MustCompile(`^(\^?\w*)\(([\w|]+)\)(\$?)$`).FindStringSubmatch(pattern); m != nil { // ^Test(A|B)$
		var all []string
		for part := range strings.SplitSeq(m[2], "|") {
			all = append(all, m[1]+part+m[3])
		}
		return all
	}
	return strings.Split(pattern, "|")
}

// sourceOf returns the Go files of a package, including tests, or of all packages
// below ./… .
func sourceOf(t *testing.T, moduleDir, pkg string) (string, bool) {
	t.Helper()
	dir, all := strings.CutSuffix(pkg, "/...")
	if !strings.HasPrefix(dir, ".") {
		return "", false
	}
	var text strings.Builder
	err := fs.WalkDir(os.DirFS(moduleDir), filepath.ToSlash(filepath.Clean(dir)), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !all && path != filepath.ToSlash(filepath.Clean(dir)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		data, err := os.ReadFile(filepath.Join(moduleDir, path))
		text.Write(data)
		return err
	})
	return text.String(), err == nil && text.Len() > 0
}

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// GO-11: the commands on the pages work as described, and the outputs on the pages are the real
// ones. The blocks of one CASE share a scratch directory and run in the order of their page:
//
//	<!-- file: CASE PATH -->   writes the block to PATH in the directory
//	<!-- run: CASE -->         runs the block with bash in project/, which must succeed
//	<!-- output: CASE -->      compares the block with the output of the last command
//
// The directory has project/, home/ with the user's home, and bin/, which is first in PATH.
// testdata/pages/CASE.txtar has further content:
//
//   - files of the directory. In them $WORK is replaced by the directory, and
//     $REPOSITORIES by the address of a server with the Git repositories in remote/.
//   - env, with lines of NAME=VALUE.
//   - before, a script that runs first.
//   - after, a script that runs last and checks that the files are as the page states.
//
// No case reaches a network: a server on this machine imitates Gemini, and all other addresses
// refuse connections at once.
//
// In an output, … matches any text within a line, and alone on a line any lines. An output in JSON
// is compared as JSON: keys and types must be equal, and texts must match. The key or value "…"
// matches all other keys or values.
func TestDocsBlocksRun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS != "linux" {
		t.Skip("the blocks are run with bash, on Linux")
	}
	cases := map[string][]block{}
	var names []string
	for _, b := range allBlocks(t) {
		name, _, _ := strings.Cut(b.rest, " ")
		if b.how != "run" && b.how != "output" && b.how != "file" {
			continue
		}
		if before := cases[name]; before == nil {
			names = append(names, name)
		} else if before[0].page != b.page {
			t.Errorf("%s: the case %s belongs to %s", b, name, before[0].page)
		}
		cases[name] = append(cases[name], b)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runCase(t, name, cases[name])
		})
	}
	fixtures, err := filepath.Glob("testdata/pages/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range fixtures {
		if name := strings.TrimSuffix(filepath.Base(path), ".txtar"); !slices.Contains(names, name) {
			t.Errorf("%s belongs to no block of a page", path)
		}
	}
}

// pageCase is the scratch directory of a case.
type pageCase struct {
	work string
	env  []string

	stdout, both string // of the last script
}

func runCase(t *testing.T, name string, blocks []block) {
	c := &pageCase{}
	var err error
	if c.work, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	model := httptest.NewServer(http.HandlerFunc(answerAsGemini))
	t.Cleanup(model.Close)
	repositories := httptest.NewServer(gitServer(filepath.Join(c.work, "remote")))
	t.Cleanup(repositories.Close)
	const nowhere = "http://127.0.0.1:1" // refuses connections, because no server uses that port
	c.env = []string{
		"PATH=" + filepath.Join(c.work, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "WORK=" + c.work,
		"HOME=" + filepath.Join(c.work, "home"), "TMPDIR=" + filepath.Join(c.work, "tmp"), "LANG=C.UTF-8", "TERM=dumb",
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
		"GOOGLE_GEMINI_BASE_URL=" + model.URL, "GEMINI_API_KEY=none-is-needed",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	for _, dir := range []string{"home", "tmp", "bin", "project"} {
		if err := os.MkdirAll(filepath.Join(c.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.write(t, "bin/go", "#!/usr/bin/env bash\n"+standInForGo)
	scripts := map[string]string{}
	if fixture := filepath.Join("testdata/pages", name+".txtar"); exists(fixture) {
		archive, err := txtar.ParseFile(fixture)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			switch f.Name {
			case "before", "after":
				scripts[f.Name] = string(f.Data)
			case "env":
				c.env = append(c.env, strings.Fields(string(f.Data))...)
			default:
				c.write(t, f.Name, strings.NewReplacer("$WORK", c.work, "$REPOSITORIES", repositories.URL).Replace(string(f.Data)))
			}
		}
	}
	if scripts["before"] != "" {
		c.bash(t, name+": before", scripts["before"])
	}
	used := true // whether a block has used the last file
	for _, b := range blocks {
		switch b.how {
		case "file":
			_, path, _ := strings.Cut(b.rest, " ")
			c.write(t, path, b.text)
			used = false
		case "run":
			c.bash(t, b.String(), b.text)
			used = true
			checkNames(t, b, "go")
		case "output":
			if c.both == "" {
				t.Fatalf("%s: no block before it has printed anything", b)
			}
			c.compare(t, b)
		}
	}
	if scripts["after"] != "" {
		c.bash(t, name+": after", scripts["after"])
	} else if !used {
		t.Errorf("the case %s has a file that no block checks: add a script named after to testdata/pages/%s.txtar", name, name)
	}
}

// standInForGo runs the prebuilt program where a block would build it, and runs no
// tests: [checkNames] checks that they exist.
const standInForGo = `case "$1 ${2-}" in
"run ./cli/fettle") shift 2; exec fettle "$@" ;;
"test "*) exit 0 ;;
esac
echo "go $*: a page may run go test, and go run ./cli/fettle; all else is <!-- not run -->" >&2
exit 1
`

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (c *pageCase) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(c.work, filepath.FromSlash(name))
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// bash runs a script in the project; the test fails if one of its commands fails.
func (c *pageCase) bash(t *testing.T, where, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -eu -o pipefail\n"+script)
	cmd.Dir = filepath.Join(c.work, "project")
	cmd.Env = c.env
	both, err := os.Create(filepath.Join(c.work, "tmp", "both"))
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	var stdout strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, both), both
	err = cmd.Run()
	text, readErr := os.ReadFile(both.Name())
	if err = errors.Join(err, readErr); err != nil {
		t.Fatalf("%s: %v\n%s\nprinted\n%s", where, err, script, text)
	}
	c.stdout, c.both = stdout.String(), string(text)
}

func (c *pageCase) compare(t *testing.T, b block) {
	t.Helper()
	if b.lang == "json" {
		want, err := jsonValues(b.text)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		got, err := jsonValues(c.stdout)
		if err != nil {
			t.Fatalf("%s: %v in the output:\n%s", b, err, c.stdout)
		}
		if err := fitsJSON(want, got, "$"); err != nil {
			t.Errorf("%s: %v; the output is\n%s", b, err, c.stdout)
		}
		return
	}
	got := strings.ReplaceAll(strings.TrimRight(c.both, "\n"), c.work, "/home/me")
	if !fitsText(strings.TrimRight(b.text, "\n"), got) {
		t.Errorf("%s: the output is\n%s", b, got)
	}
}

// fitsText reports whether a text matches the text on a page.
func fitsText(shown, text string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for i, line := range strings.Split(shown, "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:(?:\A|\n)[^\n]*)*`)
			continue
		}
		if i > 0 {
			pattern.WriteString(`\n`)
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, " ")), "…", `[^\n]*`) + ` *`)
	}
	return regexp.MustCompile(pattern.String() + `\n*\z`).MatchString(text)
}

// jsonValues returns the values of a text that contains one or more.
func jsonValues(text string) ([]any, error) {
	var all []any
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
}

// fitsJSON compares a value with the value on a page.
func fitsJSON(shown, got any, at string) error {
	switch shown := shown.(type) {
	case string:
		text, ok := got.(string)
		if shown != "…" && (!ok || !fitsText(shown, text)) {
			return fmt.Errorf("%s is %v, not %q", at, got, shown)
		}
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v, not an object", at, got)
		}
		for key := range object {
			if _, ok := shown[key]; !ok && shown["…"] == nil {
				return fmt.Errorf("%s has the unexpected key %q", at, key)
			}
		}
		for key, value := range shown {
			if _, ok := object[key]; !ok && key != "…" {
				return fmt.Errorf("%s has no key %q", at, key)
			}
			if err := fitsJSON(value, object[key], at+"."+key); err != nil && key != "…" {
				return err
			}
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(shown) {
			return fmt.Errorf("%s is %v, not %d values", at, got, len(shown))
		}
		for i := range shown {
			if err := fitsJSON(shown[i], list[i], fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	default:
		if fmt.Sprintf("%T", shown) != fmt.Sprintf("%T", got) {
			return fmt.Errorf("%s is %v, not of the type of %v", at, got, shown)
		}
	}
	return nil
}

// answerAsGemini is a model that reports that it has nothing to do. If the prompt asks for capitals
// in f.txt, whose only line is "one", it makes that change.
func answerAsGemini(w http.ResponseWriter, r *http.Request) {
	const patch = `{"functionCall":{"name":"safe_patch","args":{"file_path":"f.txt",` +
		`"base_content_sha256":"2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806","unified_diff":"@@ -1 +1 @@\n-one\n+ONE\n"}}}`
	const usage = `"usageMetadata":{"promptTokenCount":4100,"candidatesTokenCount":310,"totalTokenCount":4530,"cachedContentTokenCount":3200,"thoughtsTokenCount":120}`
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	parts := `{"text":"Done."}`
	if strings.Contains(string(body), "Make it loud") && !strings.Contains(string(body), "functionResponse") {
		parts = `{"text":"I change it."},` + patch
	}
	answer := `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"finishReason":"STOP"}],` + usage + `}`
	if strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "text/event-stream")
		answer = "data: " + answer + "\n\n"
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, answer)
}

// gitServer serves the repositories of a directory.
func gitServer(dir string) http.Handler {
	path, err := exec.LookPath("git")
	if err != nil {
		return http.NotFoundHandler()
	}
	return &cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
}

// A difference between a page and the output is found.
func TestDocsBlocksRunCompare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shown, text string
		want        bool
	}{
		{"a b", "a b", true}, {"a b", "a c", false}, {"a … d", "a b c d", true}, {"a … d", "a b\nc d", false},
		{"a\n…\nz", "a\nb\nc\nz", true}, {"a\n…\nz", "a\nz", true}, {"a\n…\nz", "a\nb", false}, {"…\nz", "x\nz", true}, {"a\n…", "a\nb", true}, {"a", "a\nb", false},
		{"…", "", true}, {"a.b", "axb", false},
	} {
		if fitsText(tt.shown, tt.text) != tt.want {
			t.Errorf("fitsText(%q, %q) is not %t", tt.shown, tt.text, tt.want)
		}
	}
	for _, tt := range []struct {
		shown, text string
		want        bool
	}{
		{`{"a": 1}`, `{"a": 2}`, true}, {`{"a": 1}`, `{"a": "2"}`, false}, {`{"a": 1}`, `{"b": 1}`, false}, {`{"a": 1}`, `{"a": 1, "b": 1}`, false},
		{`{"a": 1, "…": 0}`, `{"a": 1, "b": 1}`, true}, {`{"a": "x…"}`, `{"a": "xy"}`, true}, {`{"a": "x…"}`, `{"a": "y"}`, false}, {`[1, 2]`, `[1]`, false},
		{`{"a": "…"}`, `{"a": [1]}`, true}, {`{"a": {"b": true}}`, `{"a": {"b": 1}}`, false}, {`1 2`, `1`, false},
	} {
		shown, _ := jsonValues(tt.shown)
		got, _ := jsonValues(tt.text)
		if err := fitsJSON(shown, got, "$"); (err == nil) != tt.want {
			t.Errorf("fitsJSON(%s, %s): %v", tt.shown, tt.text, err)
		}
	}
}

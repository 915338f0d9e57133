package policy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// modes are the modes for which the corpus has verdicts.
var modes = []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo, policy.ModePlan}

// entry is one line of testdata/corpus.jsonl.
type entry struct {
	Line     string         `json:"line"`
	Default  policy.Verdict `json:"default"`
	AutoEdit policy.Verdict `json:"autoEdit"`
	Yolo     policy.Verdict `json:"yolo"`
	Plan     policy.Verdict `json:"plan"`
	Why      string         `json:"why"`
	// Runs is the guarded program that bash runs for the line.
	Runs string `json:"runs"`
}

// in returns the verdict that the corpus expects in a mode.
func (e entry) in(mode policy.ApprovalMode) policy.Verdict {
	return map[policy.ApprovalMode]policy.Verdict{
		policy.ModeDefault: e.Default, policy.ModeAutoEdit: e.AutoEdit, policy.ModeYolo: e.Yolo, policy.ModePlan: e.Plan,
	}[mode]
}

// corpus reads testdata/corpus.jsonl.
func corpus(t testing.TB) []entry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "corpus.jsonl"))
	require.NoError(t, err)
	var entries []entry
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		decode := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decode.DisallowUnknownFields()
		var e entry
		require.NoError(t, decode.Decode(&e), lines.Text())
		for _, mode := range modes {
			require.Contains(t, []policy.Verdict{policy.Allow, policy.AskUser, policy.Deny}, e.in(mode), e.Line)
		}
		require.NotEmpty(t, e.Why, e.Line)
		entries = append(entries, e)
	}
	require.NoError(t, lines.Err())
	return entries
}

// listed reads a list of command lines such as testdata/everyday.txt.
func listed(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var lines []string
	fresh := true // no line that a tab could continue
	for text := range strings.Lines(string(data)) {
		text = strings.TrimSuffix(text, "\n")
		more, continues := strings.CutPrefix(text, "\t")
		switch {
		case continues && !fresh:
			lines[len(lines)-1] += "\n" + more
		case text == "" || strings.HasPrefix(text, "#"):
			fresh = true
		default:
			lines, fresh = append(lines, text), false
		}
	}
	return lines
}

// corpusRules reads testdata/policy.toml without its loader, so that only the
// engine is tested.
func corpusRules(t testing.TB) []policy.Rule {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "policy.toml"))
	require.NoError(t, err)
	var file struct {
		Rule []struct {
			Name, ToolName string
			CommandPrefix  []string
			Decision       policy.Verdict
			Priority       int
			DenyMessage    string
		}
	}
	require.NoError(t, toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file))
	var rules []policy.Rule
	for _, r := range file.Rule {
		rules = append(rules, policy.Rule{
			Name: r.Name, Tools: []string{r.ToolName}, Decision: r.Decision, Priority: r.Priority, CommandPrefix: r.CommandPrefix,
			DenyMessage: r.DenyMessage, Tier: policy.TierUser, Source: "policy.toml",
		})
	}
	return rules
}

// corpusEngine returns an engine with the rules of testdata/policy.toml.
func corpusEngine(t testing.TB) *policy.Engine {
	t.Helper()
	e, err := policy.NewEngine(policy.Options{Rules: corpusRules(t)})
	require.NoError(t, err)
	return e
}

// shellCall returns a call of the shell in the workspace /w, whose link leads to
// /outside and whose linked.txt leads to a file there.
func shellCall(t testing.TB, e *policy.Engine, line string, mode policy.ApprovalMode) policy.Call {
	t.Helper()
	call, ok := policy.WellKnown("run_shell_command")
	require.True(t, ok)
	params, err := json.Marshal(map[string]string{"command": line})
	require.NoError(t, err)
	call.Params, call.Mode, call.Dir, call.Roots = params, mode, "/w", []string{"/w"}
	e.Prepare(&call)
	call.RealPaths = map[string]string{}
	for _, path := range e.Paths(call) {
		call.RealPaths[path] = path
		if rest, ok := strings.CutPrefix(path, "/w/link"); ok && (rest == "" || rest[0] == '/') {
			call.RealPaths[path] = "/outside" + rest
		}
		if path == "/w/linked.txt" {
			call.RealPaths[path] = "/outside/linked.txt"
		}
	}
	return call
}

// decide returns the decision on a line.
func decide(t testing.TB, e *policy.Engine, line string, mode policy.ApprovalMode) policy.Decision {
	t.Helper()
	return e.Decide(shellCall(t, e, line, mode))
}

// strict orders verdicts.
func strict(v policy.Verdict) int {
	return map[policy.Verdict]int{policy.Allow: 0, policy.AskUser: 1, policy.Deny: 2}[v]
}

// consistent fails unless a decision explains itself and is as strict as the
// strictest of its parts.
func consistent(t testing.TB, line string, d policy.Decision) {
	t.Helper()
	require.NotEmpty(t, d.Reason, line)
	for _, part := range d.Parts {
		if strict(d.Decision) < strict(part.Decision) {
			t.Errorf("%q is %s, laxer than its part %q", line, d.Decision, part.Text)
		}
	}
}

// describe prints a decision with its parts.
func describe(d policy.Decision) string {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// AR-25, AR-26, AR-27: the corpus, half of which tries to evade the rules, in
// four approval modes.
func TestCorpus(t *testing.T) {
	e := corpusEngine(t)
	entries := corpus(t)
	require.GreaterOrEqual(t, len(entries), 320)
	for _, entry := range entries {
		var wrong []string
		var last policy.Decision
		for _, mode := range modes {
			d := decide(t, e, entry.Line, mode)
			consistent(t, entry.Line, d)
			if want := entry.in(mode); d.Decision != want {
				wrong, last = append(wrong, fmt.Sprintf("%s in %s mode, want %s", d.Decision, mode, want)), d
			}
		}
		if wrong != nil {
			t.Errorf("%q (%s): %s\n%s", entry.Line, entry.Why, strings.Join(wrong, "; "), describe(last))
		}
	}
}

// AR-25: everyday lines run without approval.
func TestEveryday(t *testing.T) {
	e := corpusEngine(t)
	lines := listed(t, "everyday.txt")
	require.GreaterOrEqual(t, len(lines), 170)
	for _, line := range lines {
		for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo} {
			if d := decide(t, e, line, mode); d.Decision != policy.Allow {
				t.Errorf("%q in %s mode: %s", line, mode, describe(d))
				break
			}
		}
		require.Equal(t, policy.AskUser, decide(t, e, line, policy.ModePlan).Decision, line) // CR-22
	}
}

// AR-27: lines that write into the workspace run without approval in autoEdit
// mode, and only with it in default mode.
func TestEdits(t *testing.T) {
	e := corpusEngine(t)
	for _, line := range listed(t, "edits.txt") {
		for mode, want := range map[policy.ApprovalMode]policy.Verdict{
			policy.ModeDefault: policy.AskUser, policy.ModeAutoEdit: policy.Allow, policy.ModeYolo: policy.Allow,
			policy.ModePlan: policy.AskUser, // CR-22
		} {
			if d := decide(t, e, line, mode); d.Decision != want {
				t.Errorf("%q in %s mode: want %s: %s", line, mode, want, describe(d))
			}
		}
	}
}

// Lines too large to parse require approval in every mode, whatever their
// content; just below the limits they are evaluated.
func TestCorpusLimits(t *testing.T) {
	e := corpusEngine(t)
	filler := strings.Repeat("ls;", shell.MaxBytes/3)
	for name, line := range map[string]string{
		"17 kB":                   strings.Repeat("x", 17<<10),
		"17 kB, then guarded":     strings.Repeat("ls ", 17<<10/3) + "; rm x",
		"17 kB of blanks":         "ls" + strings.Repeat(" ", 17<<10) + "; rm x",
		"17 kB of comment":        "rm x # " + strings.Repeat("x", 17<<10),
		"one byte more":           filler + strings.Repeat("x", shell.MaxBytes+1-len(filler)),
		"1 MB":                    strings.Repeat("(", 1<<20),
		"brackets":                strings.Repeat("(", 8192) + "ls" + strings.Repeat(")", 8192),
		"arithmetic brackets":     "echo " + strings.Repeat("$((", 300) + "1" + strings.Repeat("))", 300),
		"substitutions":           strings.Repeat("echo $(", 300) + "rm x" + strings.Repeat(")", 300),
		"groups":                  strings.Repeat("{ ", 300) + "ls;" + strings.Repeat(" };", 300),
		"parameters":              "echo " + strings.Repeat("${x:-", 300) + "$(rm x)" + strings.Repeat("}", 300),
		"subscripts":              strings.Repeat("a[", 300) + "0" + strings.Repeat("]", 300) + "=1",
		"escaped backticks":       "echo `ls \\`ls \\\\\\`rm x\\\\\\`\\``" + strings.Repeat("`", 301),
		"a NUL byte before":       "\x00rm x",
		"a NUL byte after":        "rm x\x00",
		"a NUL byte in a comment": "ls # \x00\nrm x",
	} {
		for _, mode := range modes {
			t.Run(name+" in "+mode.String(), func(t *testing.T) {
				call, ok := policy.WellKnown("run_shell_command")
				require.True(t, ok)
				params, err := json.Marshal(map[string]string{"command": line}) // encodes invalid UTF-8 as U+FFFD
				require.NoError(t, err)
				call.Params, call.Mode, call.Dir, call.Roots = params, mode, "/w", []string{"/w"}
				call.Line = shell.Parse(line)
				require.NotEmpty(t, call.Line.Problem)
				require.Equal(t, policy.AskUser, e.Decide(call).Decision)
			})
		}
	}
	nested := strings.Repeat("( ", 150) + "rm x" + strings.Repeat(" )", 150)
	require.Equal(t, policy.Deny, decide(t, e, nested, policy.ModeYolo).Decision)
	nested = strings.Repeat("( ", 150) + "ls" + strings.Repeat(" )", 150)
	require.Equal(t, policy.Allow, decide(t, e, nested, policy.ModeDefault).Decision)
	long := "ls # " + strings.Repeat("x", shell.MaxBytes-5)
	require.Len(t, long, shell.MaxBytes)
	require.Equal(t, policy.Allow, decide(t, e, long, policy.ModeDefault).Decision)
}

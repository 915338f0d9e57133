package integration_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
)

// promptCall is a call of a session in testdata/prompts, in fettle's arguments.
type promptCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// promptSession is a file of testdata/prompts: a title, one call a line, and the files
// of the workspace. A line is read, edit or write with a path, or $ with a command.
// $! is a command that needs access outside of the sandbox, and after " | " its reason.
type promptSession struct {
	name, title string
	calls       []promptCall
	files       []txtar.File
}

func promptSessions(t *testing.T) []promptSession {
	t.Helper()
	paths, err := filepath.Glob("testdata/prompts/*.txtar")
	require.NoError(t, err)
	var all []promptSession
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		title, lines, _ := strings.Cut(string(archive.Comment), "\n")
		s := promptSession{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), title: title, files: archive.Files}
		s.calls = promptCalls(t, lines)
		require.GreaterOrEqual(t, len(s.calls), 20, path)
		require.LessOrEqual(t, len(s.calls), 60, path)
		all = append(all, s)
	}
	return all
}

func promptCalls(t *testing.T, lines string) []promptCall {
	t.Helper()
	var calls []promptCall
	document := "" // the end of a here-document, while its lines follow
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if document != "" {
			args := calls[len(calls)-1].Args
			args["command"] = args["command"].(string) + "\n" + line
			if line == document {
				document = ""
			}
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "":
		case "$":
			calls = append(calls, promptCall{"run_shell_command", map[string]any{"command": rest}})
			if _, end, ok := strings.Cut(rest, "<<'"); ok {
				document = strings.TrimSuffix(end, "'")
			}
		case "$!":
			command, reason, ok := strings.Cut(rest, " | ")
			require.True(t, ok, line)
			calls = append(calls, promptCall{"run_shell_command", map[string]any{"command": command, "unconfined": true, "reason": reason}})
		case "read":
			calls = append(calls, promptCall{"read_file", map[string]any{"file_path": rest}})
		case "edit":
			calls = append(calls, promptCall{"edit", map[string]any{"file_path": rest, "old_string": "a", "new_string": "b", "expected_sha256": strings.Repeat("0", 64)}})
		case "write":
			calls = append(calls, promptCall{"write_file", map[string]any{"file_path": rest, "content": "text\n"}})
		default:
			t.Fatalf("the line %q is invalid", line)
		}
	}
	return calls
}

// promptSetup is a column of the table in docs/prompts.md.
type promptSetup struct {
	title   string
	sandbox bool
	mode    policy.ApprovalMode
}

// askedCall is a call of a session that would ask.
type askedCall struct {
	call promptCall
	policy.Decision
}

// prompts returns the calls of a session that would ask.
func prompts(t *testing.T, s promptSession, setup promptSetup) (asked []askedCall) {
	t.Helper()
	session := configtest.New(t, func(p *config.Parameters) {
		for _, f := range s.files {
			path := filepath.Join(p.TargetDir, f.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			mode := os.FileMode(0o644)
			if bytes.HasPrefix(f.Data, []byte("#!")) {
				mode = 0o755
			}
			require.NoError(t, os.WriteFile(path, f.Data, mode))
		}
		out, err := exec.CommandContext(t.Context(), "git", "-C", p.TargetDir, "init", "-q", "-b", "main").CombinedOutput()
		require.NoError(t, err, "%s", out)
		p.Policy.ApprovalMode = setup.mode
		if setup.sandbox {
			p.Tools.Shell.Confinement = process.Confinement{Kind: process.Namespaces, PerCommand: true, NoTCP: true}
		}
	})
	explainer, err := session.Scheduler()
	require.NoError(t, err)
	for _, c := range s.calls {
		args, err := json.Marshal(c.Args)
		require.NoError(t, err)
		d, err := explainer.Explain(t.Context(), scheduler.Request{Tool: c.Tool, Args: args}, scheduler.Situation{})
		require.NoError(t, err)
		require.NotEqual(t, policy.Deny, d.Decision, "%s: %s", args, d.Reason)
		if d.Decision == policy.AskUser {
			asked = append(asked, askedCall{c, d})
		}
	}
	return asked
}

// PB-06: the prompts of each session in each mode. docs/prompts.md has them beside
// those of gemini-cli for the same calls; -update writes its table again. As the
// installed programs count, the table is compared only with FETTLE_FULL.
func TestPrompts(t *testing.T) {
	t.Parallel()
	setups := []promptSetup{
		{"`default`, no sandbox", false, policy.ModeDefault},
		{"`default`", true, policy.ModeDefault},
		{"`auto_edit`, no sandbox", false, policy.ModeAutoEdit},
		{"`auto_edit`", true, policy.ModeAutoEdit},
		{"`auto`, no sandbox", false, policy.ModeAuto},
		{"`auto`", true, policy.ModeAuto},
	}
	if err := (process.Confinement{Kind: process.Namespaces}).Check(t.Context()); err != nil {
		t.Skip(err)
	}
	sessions := promptSessions(t)
	require.Len(t, sessions, 10)
	theirs := geminiDecisions(t, sessions)

	var table strings.Builder
	families := make(askingFamilies)
	table.WriteString("| session | calls | gemini-cli `default` | gemini-cli `auto_edit` |")
	for _, s := range setups {
		table.WriteString(" " + s.title + " |")
	}
	table.WriteString("\n|---|---|---|---|" + strings.Repeat("---|", len(setups)) + "\n")
	total := make([]int, 3+len(setups))
	for _, s := range sessions {
		counts := []int{len(s.calls), questions(theirs[s.name]["default"]), questions(theirs[s.name]["autoEdit"])}
		for _, setup := range setups {
			asked := prompts(t, s, setup)
			counts = append(counts, len(asked))
			if setup.mode == policy.ModeAuto && setup.sandbox {
				require.LessOrEqual(t, len(asked), 2, "%s: %v", s.name, asked)
			}
			if setup.mode != policy.ModeAutoEdit && setup.sandbox {
				for _, a := range asked {
					families.add(a, setup.mode == policy.ModeAuto)
				}
			}
		}
		table.WriteString("| " + s.title + " |")
		for i, n := range counts {
			total[i] += n
			fmt.Fprintf(&table, " %d |", n)
		}
		table.WriteString("\n")
	}
	table.WriteString("| all |")
	for _, n := range total {
		fmt.Fprintf(&table, " %d |", n)
	}
	table.WriteString("\n")
	require.Less(t, total[4], total[1], "prompts in default mode, and those of gemini-cli")

	const page = "docs/prompts.md"
	text := textOf(t, page)
	for name, now := range map[string]string{"table": table.String(), "table of families": families.table()} {
		begin, end := "<!-- "+name+" -->\n\n", "\n<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		require.True(t, ok)
		old, after, ok := strings.Cut(rest, end)
		require.True(t, ok)
		if os.Getenv("FETTLE_FULL") != "" && !*update {
			require.Equal(t, old, now, "go test ./integration -run TestPrompts -update")
		}
		text = before + begin + now + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join("..", page), []byte(text), 0o644))
	}
}

func questions(decisions []string) int {
	n := 0
	for _, d := range decisions {
		if d != "allow" {
			n++
		}
	}
	return n
}

// geminiDecisions returns what gemini-cli decides, by session and mode. It is stored in
// testdata/prompts/gemini-cli.json, and compared with the npm package if that is in the
// directory FETTLE_BENCH_NODE; -update then writes it again.
func geminiDecisions(t *testing.T, sessions []promptSession) map[string]map[string][]string {
	t.Helper()
	const file = "testdata/prompts/gemini-cli.json"
	packages := cmp.Or(os.Getenv("FETTLE_BENCH_NODE"), "dev/bench/node")
	var current []byte
	if fileExists(filepath.Join(packages, "node_modules/@google/gemini-cli-core")) {
		calls := make(map[string][]promptCall)
		for _, s := range sessions {
			for _, c := range s.calls {
				calls[s.name] = append(calls[s.name], inGemini(c))
			}
		}
		in, err := json.Marshal(calls)
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "node", "comparison/prompts.mjs", packages)
		cmd.Env, cmd.Stdin = append(os.Environ(), "HOME="+t.TempDir()), bytes.NewReader(in)
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, out, "", " "))
		current = append(bytes.TrimSpace(indented.Bytes()), '\n')
		if *update {
			require.NoError(t, os.WriteFile(file, current, 0o644))
		}
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	if current != nil {
		require.Equal(t, string(stored), string(current))
	}
	var all map[string]map[string][]string
	require.NoError(t, json.Unmarshal(stored, &all))
	for _, s := range sessions {
		require.Len(t, all[s.name]["default"], len(s.calls), s.name)
	}
	return all
}

// inGemini returns a call in gemini-cli's names and arguments.
func inGemini(c promptCall) promptCall {
	g := promptCall{c.Tool, map[string]any{}}
	for key, value := range c.Args {
		switch key {
		case "unconfined", "reason", "expected_sha256":
		default:
			g.Args[key] = value
		}
	}
	if c.Tool == "edit" {
		g.Tool = "replace"
	}
	return g
}

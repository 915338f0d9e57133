package rulefile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// With the stand-ins, a mistake in any line of a rule never allows a call that was not
// allowed before (AR-27).
func TestMistakesNeverLoosen(t *testing.T) {
	files := 8
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		files = 1_000
	case testing.Short():
		files = 5
	}
	random := rand.New(rand.NewPCG(1, 2))
	calls := sampleCalls(t)
	judged, refused := 0, 0
	for range files {
		rules := randomRules(random)
		before := verdicts(t, strings.Join(rules, ""), calls)
		for _, text := range spoiled(random, rules) {
			after := verdicts(t, text, calls)
			for i, call := range calls {
				judged++
				if before[i] == policy.Allow {
					continue
				}
				refused++
				if after[i] == policy.Allow {
					t.Fatalf("%s %s in %s was %s and is allowed by\n%s\nmade of\n%s",
						call.Tool, call.Params, call.Mode, before[i], text, strings.Join(rules, ""))
				}
			}
		}
	}
	require.Greater(t, refused, judged/4, "most calls must have something to lose")
	t.Logf("%d decisions, %d of them on calls that were not allowed", judged, refused)
}

func sampleCalls(t *testing.T) []policy.Call {
	var calls []policy.Call
	for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeYolo} {
		for _, c := range []struct{ tool, args string }{
			{"read_file", `{"file_path":"/w/a"}`},
			{"glob", `{"pattern":"*.go"}`},
			{"write_file", `{"file_path":"/w/a","content":"x"}`},
			{"run_shell_command", `{"command":"git push"}`},
			{"run_shell_command", `{"command":"git status && rm -rf x"}`},
		} {
			call, ok := policy.WellKnown(c.tool)
			require.True(t, ok)
			call.Params, call.Mode, call.Dir, call.Roots = json.RawMessage(c.args), mode, "/w", []string{"/w"}
			calls = append(calls, call)
		}
		calls = append(calls, policy.Call{Tool: "mcp_s_t", Server: "s", ServerTool: "t", Kind: "other", Params: json.RawMessage(`{}`), Mode: mode})
	}
	return calls
}

func verdicts(t *testing.T, text string, calls []policy.Call) []policy.Verdict {
	file, _ := rulefile.Parse("p.toml", []byte(text), user)
	return verdictsOf(t, file, calls)
}

func verdictsOf(t *testing.T, file rulefile.File, calls []policy.Call) []policy.Verdict {
	engine, err := policy.NewEngine(policy.Options{Rules: slices.Concat(file.Rules, file.StandIns), Checkers: file.Checkers})
	require.NoError(t, err)
	out := make([]policy.Verdict, len(calls))
	for i, call := range calls {
		d := engine.Decide(call)
		out[i] = d.Decision
		if len(d.Checkers) > 0 { // it may still be refused
			out[i] = policy.Stricter(d.Decision, policy.AskUser)
		}
	}
	return out
}

// randomRules returns the tables of a valid file.
func randomRules(random *rand.Rand) []string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	var tables []string
	for range 1 + random.IntN(6) {
		if random.IntN(6) == 0 {
			tables = append(tables, "[[safety_checker]]\ntoolName = "+pick(`"glob"`, `"*"`, `["read_file", "write_file"]`)+
				"\nchecker = {type = \"external\", name = \"x\"}\n\n")
			continue
		}
		tool := pick(`"read_file"`, `"glob"`, `"write_file"`, `"run_shell_command"`, `"run_shell_command"`, `"*"`, `["glob", "read_file"]`, `"mcp_s_t"`, `"t"`)
		lines := []string{
			"decision = " + pick(`"deny"`, `"deny"`, `"ask_user"`, `"allow"`),
			fmt.Sprintf("priority = %d", random.IntN(1000)),
		}
		extra := []string{"", "", `modes = ["yolo"]`, `modes = ["default", "plan"]`, "interactive = true", `name = "n"`, `argsPattern = "a"`}
		if tool == `"run_shell_command"` {
			extra = append(extra, `commandPrefix = "git push"`, `commandPrefix = ["rm", "git"]`, `commandRegex = "git"`)
		}
		if tool == `"t"` {
			extra = []string{`mcpName = "s"`}
		}
		lines = append(lines, pick(extra...))
		random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		tables = append(tables, "[[rule]]\ntoolName = "+tool+"\n"+strings.Join(lines, "\n")+"\n\n")
	}
	return tables
}

// spoiled returns files made of these tables with one mistake each.
func spoiled(random *rand.Rand, tables []string) []string {
	lines := []string{ // added below a header
		`argsPattern = "("`, `argsPattern = "(?!x)"`, `argsPattern = ""`, `commandPrefix = 5`, `commandPrefix = []`, `commandPrefix = "git '"`,
		`commandRegex = "(a+)+"`, `modes = ["fast"]`, `modes = "yolo"`, `interactive = "yes"`, `subagent = ""`, `effects = ["net"]`,
		`mcpName = 5`, `toolAnnotations = 5`, `allowRedirection = 5`, `denyMessage = 5`, `name = "a\nb"`, `onlyOn = "monday"`, `comandPrefix = "ls"`,
		`decision = "allow"`, `priority = 0`, `modes = 1`, "safety_checker.x = 1",
		"???", "x =", "= 5", "]", `"`, `x = "`, "x = {", "[[rule", "[rule]]", "x = 99999999999999999999", "a.b = 1\na.b.c = 2",
	}
	replaced := map[string][]string{
		"decision = ": {`decision = "dney"`, `decision = 5`, `decision = `, `Decision = "deny"`, ""},
		"priority = ": {`priority = 1000`, `priority = -1`, `priority = "5"`, `priority = 1.5`, `priority = `, ""},
		"[[rule]]":    {"[rule]", "[[rule]", "[[rule]] x", "[[rules]]", "[Rule]", "", "[[policy.rule]]", "[policy.rule]", "[[policy]]", "[a.b.c]"},
		"toolName = ": {
			`toolName = 5`, `toolName = ""`, `toolName = []`, `toolName = `, `toolName = ["glob"`, `toolNme = "glob"`, `tool = "glob"`,
			`"toolName" = "glob" "glob"`, `toolName = ["glob",` + "\n" + `"edit"`, "",
		},
		"mcpName = ": {`mcpName = 5`, `mcpName = ""`, `mcpName = `, `mcpName = "s*"`, `mcpNme = "s"`, `server = "s"`, `"mcpName" = "s`},
		"[[safety":   {"[safety_checker]", "[[safety_checkers]]", "[[safety_checker]", "", "[[policy.safety_checker]]", "[x]"},
	}
	var files []string
	join := func(i int, table string) {
		files = append(files, strings.Join(slices.Concat(tables[:i], []string{table}, tables[i+1:]), ""))
	}
	for i, table := range tables {
		parts := strings.SplitAfter(table, "\n")
		at := 2 + random.IntN(3) // below the tool's name
		for _, line := range lines {
			if strings.Contains(line, `decision = `) && strings.HasPrefix(table, "[[safety") {
				continue
			}
			at := min(at, len(parts))
			join(i, strings.Join(slices.Concat(parts[:at], []string{line + "\n"}, parts[at:]), ""))
		}
		for prefix, others := range replaced {
			for j, part := range parts {
				if !strings.HasPrefix(part, prefix) {
					continue
				}
				for _, other := range others {
					join(i, strings.Join(slices.Concat(parts[:j], []string{other + "\n"}, parts[j+1:]), ""))
				}
			}
		}
	}
	for _, tt := range mistakes {
		if i := random.IntN(len(tables)); !tt.kept && random.IntN(10) == 0 { // the original may allow it
			files = append(files, strings.Join(slices.Concat(tables[:i], []string{tt.text}, tables[i:]), ""))
		}
	}
	return files
}

// A deny rule with a missing or misspelled header still applies, and is reported as a
// mistake (AR-26).
func TestRulesWithoutHeaderDeny(t *testing.T) {
	rule := "toolName = \"run_shell_command\"\ncommandPrefix = \"git push\"\ndecision = \"deny\"\npriority = 5\n"
	for _, header := range []string{"", "[[policy.rule]]\n", "[policy.rule]\n", "[[policy.guards.rules]]\n", "[guard]\n"} {
		call, _ := policy.WellKnown("run_shell_command")
		call.Params, call.Mode = json.RawMessage(`{"command":"git push"}`), policy.ModeYolo
		file, problems := rulefile.Parse("p.toml", []byte(header+rule), user)
		require.Equal(t, []policy.Verdict{policy.Deny}, verdictsOf(t, file, []policy.Call{call}), header)
		require.True(t, slices.ContainsFunc(problems, func(p fault.Problem) bool { return p.Severity == rulefile.Error }), header)
		call.Params = json.RawMessage(`{"command":"git status"}`)
		require.Equal(t, []policy.Verdict{policy.Allow}, verdictsOf(t, file, []policy.Call{call}), header)
	}
}

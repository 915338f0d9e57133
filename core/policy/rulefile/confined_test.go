package rulefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// AR-26: the key confined of rules and of safety checkers.
func TestConfined(t *testing.T) {
	file := parse(t, `
[[rule]]
toolName = ["run_shell_command", "write_file", "write_background_input"]
confined = true
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
confined = false
decision = "ask_user"
priority = 90

[[rule]]
toolName = "run_shell_command"
commandPrefix = "ls"
decision = "allow"
priority = 90

[[safety_checker]]
toolName = "run_shell_command"
confined = false
checker = {type = "in-process", name = "allowed-path"}
`)
	yes, no := true, false
	require.Len(t, file.Rules, 3)
	require.Equal(t, &yes, file.Rules[0].Confined)
	require.Equal(t, &no, file.Rules[1].Confined)
	require.Nil(t, file.Rules[2].Confined)
	require.Equal(t, &no, file.Checkers[0].Confined)
}

// The examples of the manual pass their tests.
func TestManual(t *testing.T) {
	var manual string
	for _, page := range []string{"policy.md", "policy-commands.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		require.NoError(t, err)
		manual += string(text)
	}
	examples := strings.Split(manual, "```toml\n")[1:]
	require.Len(t, examples, 2)
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		file := parse(t, example)
		require.NotEmpty(t, file.Tests)
		e, err := policy.NewEngine(policy.Options{Rules: file.Rules})
		require.NoError(t, err)
		for _, test := range file.Tests {
			test.Call.Dir, test.Call.Roots = "/w", []string{"/w"}
			require.NoError(t, test.Run(e.Decide))
		}
	}
}

// A mistake in the condition drops a rule that allows; other rules become ask rules that
// match at least the same calls.
func TestConfinedMistakes(t *testing.T) {
	const shell = "toolName = \"run_shell_command\"\n"
	for name, tt := range map[string]struct {
		text, message string
		kind          rulefile.Kind
		about         []string // the tools of the stand-in rule
	}{
		"a kind":       {"[[rule]]\n" + shell + "confined = \"landlock\"\ndecision = \"deny\"\npriority = 1", "a string, and must be true or false", rulefile.KindSchema, []string{"run_shell_command"}},
		"a number":     {"[[rule]]\n" + shell + "confined = 1\ndecision = \"deny\"\npriority = 1", "must be true or false", rulefile.KindSchema, []string{"run_shell_command"}},
		"of allow":     {"[[rule]]\n" + shell + "confined = 1\ndecision = \"allow\"\npriority = 1", "must be true or false", rulefile.KindSchema, nil},
		"all tools":    {"[[rule]]\ntoolName = \"*\"\nconfined = true\ndecision = \"deny\"\npriority = 1", `names "*", which runs no command`, rulefile.KindRule, []string{"*"}},
		"another tool": {"[[rule]]\ntoolName = [\"read_file\"]\nconfined = true\ndecision = \"deny\"\npriority = 1", `names "read_file"`, rulefile.KindRule, []string{"read_file"}},
		"a server":     {"[[rule]]\nmcpName = \"s\"\nconfined = true\ndecision = \"deny\"\npriority = 1", "runs no command", rulefile.KindRule, []string{"*"}},
		"no tool":      {"[[rule]]\nconfined = true\ndecision = \"deny\"\npriority = 1", "missing", rulefile.KindSchema, []string{"*"}},
		"a checker":    {"[[safety_checker]]\ntoolName = \"glob\"\nconfined = true\nchecker = {type = \"in-process\", name = \"allowed-path\"}", "runs no command", rulefile.KindRule, []string{"glob"}},
	} {
		t.Run(name, func(t *testing.T) {
			file, problems := rulefile.Parse("p.toml", []byte(tt.text), user)
			require.Len(t, problems, 1, "%v", problems)
			require.Equal(t, tt.kind, problems[0].Kind)
			require.Equal(t, rulefile.Error, problems[0].Severity)
			require.Contains(t, problems[0].Message, tt.message)
			require.Empty(t, file.Rules)
			require.Empty(t, file.Checkers)
			if tt.about == nil {
				require.Empty(t, file.StandIns)
				return
			}
			require.Len(t, file.StandIns, 1)
			require.Equal(t, policy.AskUser, file.StandIns[0].Decision)
			require.Equal(t, tt.about, file.StandIns[0].Tools)
			require.Nil(t, file.StandIns[0].Confined)
		})
	}
	// A misspelled key is reported with a suggestion.
	_, problems := rulefile.Parse("p.toml", []byte("[[rule]]\n"+shell+"confine = true\ndecision = \"allow\"\npriority = 1"), user)
	require.Len(t, problems, 1)
	require.Equal(t, "Did you mean confined?", problems[0].Remedy)
	require.Equal(t, rulefile.Error, problems[0].Severity)
}

// CF-07: a saved approval of a confined command stays separate, and does not widen the
// approval for unconfined commands.
func TestAppendConfined(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auto-saved.toml")
	yes := true
	confined := approval("git push")
	confined.Confined = &yes
	add(t, path, confined)
	require.Contains(t, content(t, path), "confined = true\n")
	once := content(t, path)
	add(t, path, confined)
	require.Equal(t, once, content(t, path))
	add(t, path, approval("git push"))
	file, problems := rulefile.Parse(path, []byte(content(t, path)), user)
	require.Empty(t, problems)
	require.Len(t, file.Rules, 2)
	require.Equal(t, &yes, file.Rules[0].Confined)
	require.Nil(t, file.Rules[1].Confined)
	require.True(t, file.Rules[0].Approval)
}

// A [[test]] states the confinement of its command.
func TestTestConfined(t *testing.T) {
	file := parse(t, `
[[test]]
command = "make"
confined = true
decision = "allow"

[[test]]
command = "make"
confined = "container"
decision = "allow"

[[test]]
command = "make"
confined = false
decision = "ask_user"

[[test]]
tool = "write_background_input"
args = {id = "p1", input = "x"}
confined = "landlock"
decision = "ask_user"
`)
	var kinds []string
	for _, test := range file.Tests {
		kinds = append(kinds, test.Call.Confined)
	}
	require.Equal(t, []string{"landlock", "container", "", "landlock"}, kinds)
	yes := true
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{
		{Tools: []string{"run_shell_command"}, Confined: &yes, Decision: policy.Allow, Tier: policy.TierUser},
	}})
	require.NoError(t, err)
	for _, test := range file.Tests {
		require.NoError(t, test.Run(func(c policy.Call) policy.Decision {
			c.Sealed = true
			return e.Decide(c)
		}))
	}

	for name, tt := range map[string]struct{ text, message string }{
		"an unknown kind": {"command = \"ls\"\nconfined = \"landlocked\"", `"landlocked" is not a valid value.`},
		"a number":        {"command = \"ls\"\nconfined = 2", "must be true, false or a confinement"},
		"another tool":    {"tool = \"glob\"\nconfined = true", `The tool "glob" runs no command`},
	} {
		t.Run(name, func(t *testing.T) {
			file, problems := rulefile.Parse("p.toml", []byte("[[test]]\n"+tt.text+"\ndecision = \"allow\""), user)
			require.Empty(t, file.Tests)
			require.Len(t, problems, 1)
			require.Contains(t, problems[0].Message, tt.message)
			require.Equal(t, "confined", problems[0].Key)
		})
	}
}

// SB-05: the key run of a rule is read and written.
func TestRun(t *testing.T) {
	for text, want := range map[string]string{
		"decision = \"allow\"\nrun = \"confined\"":   "",
		"decision = \"allow\"\nrun = \"unconfined\"": "",
		"decision = \"allow\"\nrun = \"outside\"":    "is not a valid value",
		"decision = \"deny\"\nrun = \"confined\"":    "in rules that allow only",
	} {
		f, problems := rulefile.Parse("p.toml", []byte("[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\npriority = 1\n"+text+"\n"), user)
		if want == "" {
			require.Empty(t, problems, text)
			require.NotEmpty(t, f.Rules[0].Run)
			continue
		}
		require.Len(t, problems, 1, text)
		require.Contains(t, problems[0].Message, want)
	}
}

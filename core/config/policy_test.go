package config_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// explained returns the policy decision on a call in a session.
func explained(t *testing.T, c *config.Config, tool, args string) policy.Decision {
	t.Helper()
	run, err := c.Scheduler()
	require.NoError(t, err)
	d, err := run.Explain(t.Context(), scheduler.Request{Tool: tool, Args: json.RawMessage(args)}, scheduler.Situation{})
	require.NoError(t, err)
	return d
}

func command(line string) string {
	args, _ := json.Marshal(map[string]string{"command": line})
	return string(args)
}

// userPolicy writes the user's policy file before the session begins.
func userPolicy(t *testing.T, text string) func(*config.Parameters) {
	return func(p *config.Parameters) {
		dir := filepath.Join(p.Environment.HomeDir, ".fettle")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "policies.toml"), []byte(text), 0o600))
	}
}

// CR-26: the calls that an entry of the allowed tools allows, and others.
func TestAllowedTools(t *testing.T) {
	for name, tt := range map[string]struct {
		allowed []string
		tool    string
		args    string
		want    policy.Verdict
	}{
		"a tool":                  {[]string{"write_file"}, "write_file", `{}`, policy.Allow},
		"an alias":                {[]string{"replace"}, "edit", `{}`, policy.Allow},
		"not what it governs":     {[]string{"edit"}, "safe_patch", `{}`, policy.AskUser},
		"empty brackets":          {[]string{" write_file() "}, "write_file", `{}`, policy.Allow},
		"no name":                 {[]string{"", "()"}, "write_file", `{}`, policy.AskUser},
		"a prefix":                {[]string{"run_shell_command(git status)"}, "run_shell_command", command("git status -s"), policy.Allow},
		"several prefixes":        {[]string{"ShellTool(git log, ls)"}, "run_shell_command", command("ls && git log"), policy.Allow},
		"another command":         {[]string{"run_shell_command(git status)"}, "run_shell_command", command("git push"), policy.AskUser},
		"a part that is not":      {[]string{"run_shell_command(git status)"}, "run_shell_command", command("git status; make"), policy.AskUser},
		"the whole shell":         {[]string{"run_shell_command"}, "run_shell_command", command("make"), policy.Allow},
		"a mutator, in plan mode": {[]string{"write_file"}, "write_file", `{}`, policy.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, func(p *config.Parameters) { p.Policy.AllowedTools = tt.allowed })
			d := explained(t, s.Config, tt.tool, tt.args)
			require.Equal(t, tt.want, d.Decision, d.Reason)
			if d.Decision == policy.Allow {
				require.Equal(t, "--allowed-tools", d.Source)
			}
		})
	}
	for _, entry := range []string{"run_shell_command()", "ShellTool( , )", "write_file(src)", "run_shell_command(a && b)"} {
		c, err := config.New(config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{AllowedTools: []string{entry}}})
		require.NoError(t, err)
		err = c.Initialize(t.Context())
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), entry)
		require.ErrorContains(t, err, entry)
		require.NoError(t, c.Close())
	}
}

// AR-09, AR-27: excluded tools are denied in every mode, with brackets too.
func TestExcludedToolsAreDenied(t *testing.T) {
	for _, entry := range []string{"run_shell_command", "run_shell_command(rm)", "ShellTool"} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude, p.Policy.ApprovalMode = []string{entry}, policy.ModeYolo })
		require.Equal(t, policy.Deny, explained(t, s.Config, "run_shell_command", command("rm -rf x")).Decision, entry)
	}
}

// 20469, 5382: a call of an excluded tool is refused with the flag that excludes
// it.
func TestExcludedToolsAreNamed(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"write_file"} })
	r := call(t, s.Config, "write_file", map[string]any{"file_path": "a", "content": "b"})
	require.Equal(t, fault.ToolNotRegistered, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, `The rule "excluded: write_file" (user, --exclude-tools) denies write_file.`)
}

// An entry of a list is reported with its position.
func TestPlacesOfTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Policy.AllowedTools, p.Tools.Exclude = []string{"safe_patch", "run_shell_command(ls)"}, []string{"write_file", "write_todos", "glob"}
		allowed := map[string]config.Place{"run_shell_command(ls)": {Source: "a.json", Line: 3}}
		excluded := map[string]config.Place{"write_file": {Source: "b.json", Line: 4}, "write_todos": {Source: "c.json", Line: 5, Rule: "useWriteTodos"}}
		p.SetPlaces(allowed, excluded)
	})
	for tool, want := range map[string]confirmation.Explanation{
		"safe_patch": {Rule: "safe_patch", Source: "--allowed-tools"}, "glob": {Rule: "excluded: glob", Source: "--exclude-tools"},
		"write_file": {Rule: "excluded: write_file", Source: "b.json", Line: 4}, "write_todos": {Rule: "useWriteTodos", Source: "c.json", Line: 5},
	} {
		d := explained(t, s.Config, tool, `{}`)
		require.Equal(t, want, confirmation.Explanation{Rule: d.Rule, Source: d.Source, Line: d.Line}, tool)
	}
	d := explained(t, s.Config, "run_shell_command", command("ls"))
	require.Equal(t, "a.json", d.Source)
	require.Equal(t, 3, d.Line)
	r := call(t, s.Config, "write_todos", map[string]any{"todos": []any{}})
	require.Contains(t, r.Result.Error.Message, `The rule "useWriteTodos" (user, c.json:5) denies write_todos.`)

	p := config.Parameters{Policy: config.Policy{AllowedTools: []string{"run_shell_command()"}}}
	p.SetPlaces(map[string]config.Place{"run_shell_command()": {Source: "a.json", Line: 7}}, nil)
	c := newConfig(t, p)
	require.ErrorContains(t, c.Initialize(t.Context()), "(a.json:7)")
}

// AR-21, CF-07: a session's approval ends with the process, a saved one goes to
// the user's file and applies in the next session; other calls require approval.
func TestRemember(t *testing.T) {
	home := t.TempDir()
	dir := t.TempDir()
	open := func(answer bus.Outcome) *configtest.Session {
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.TargetDir = home, dir })
		s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return answer }
		return s
	}
	write := func(s *configtest.Session, name string) int {
		before := len(s.Confirmations())
		r := call(t, s.Config, "write_file", map[string]any{"file_path": name, "content": name})
		require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
		require.Empty(t, r.Notices)
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		return len(s.Confirmations()) - before
	}
	s := open(bus.ProceedAlways)
	require.Equal(t, 1, write(s, "a"))
	require.Equal(t, 1, write(s, "b"))
	s.StartNewSession("", 0)
	child := derive(t, s.Config, config.DeriveParameters{})
	require.Equal(t, policy.Allow, explained(t, child, "write_file", `{"file_path":"b","content":""}`).Decision, "rules are shared")

	s = open(bus.ProceedAlwaysAndSave)
	require.Equal(t, 1, write(s, "a"), "another process")
	s = open(bus.ProceedOnce)
	require.Equal(t, 0, write(s, "a"), "%+v", explained(t, s.Config, "write_file", `{"file_path":"a","content":"a"}`))
	require.Equal(t, 1, write(s, "b"))
	saved, err := os.ReadFile(filepath.Join(home, ".fettle", "policies", "auto-saved.toml"))
	require.NoError(t, err)
	require.Contains(t, string(saved), "write_file")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is written into the project")
}

// PR-29: a refused change shows the file only if read_file would have shown it
// without approval.
func TestStateFollowsThePolicyOfReads(t *testing.T) {
	for name, tt := range map[string]struct {
		rules string
		shown bool
	}{
		"no rule":          {"", true},
		"denied":           {"[[rule]]\ntoolName = \"read_file\"\ndecision = \"deny\"\npriority = 1\n", false},
		"asked about":      {"[[rule]]\ntoolName = \"read_file\"\ndecision = \"ask_user\"\npriority = 1\n", false},
		"another file":     {"[[rule]]\ntoolName = \"read_file\"\nargsPattern = \"elsewhere\"\ndecision = \"deny\"\npriority = 1\n", true},
		"where it leads":   {"[[rule]]\ntoolName = \"read_file\"\nargsPattern = \"target\"\ndecision = \"deny\"\npriority = 1\n", false},
		"a safety checker": {"[[safety_checker]]\ntoolName = \"read_file\"\npriority = 1\nchecker = {type = \"in-process\", name = \"allowed-path\"}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, userPolicy(t, tt.rules), func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeYolo })
			s.Write("target", "one\n")
			require.NoError(t, os.Symlink("target", s.Path("link")))
			sum := "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806" // of one\n
			r := s.Call("safe_patch", file.SafePatchParams{FilePath: "link", UnifiedDiff: "@@\n-one\n+two\n", BaseContentSHA256: sum})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
			report := configtest.Decode[file.Report](t, r)
			if tt.shown {
				require.Equal(t, "two\n", *report.LatestFileState.Content)
			} else {
				require.Nil(t, report.LatestFileState.Content)
			}
		})
	}
}

// CF-09, AR-27, FT-20: an untrusted directory has no yolo and provides no
// instructions; its rules tighten in any case.
func TestUntrusted(t *testing.T) {
	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{Trust: trust.Untrusted, ApprovalMode: policy.ModeYolo}}
	_, err := config.New(p)
	require.Equal(t, fault.UntrustedFolder, fault.CodeOf(err))

	for state, want := range map[trust.State]policy.Verdict{
		trust.Undecided: policy.AskUser, trust.Trusted: policy.Allow, trust.Untrusted: policy.AskUser,
	} {
		s := configtest.New(t, func(p *config.Parameters) {
			p.Policy.Trust = state
			dir := filepath.Join(p.TargetDir, ".fettle")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "policies.toml"), []byte(
				"[[rule]]\ntoolName = \"write_file\"\ndecision = \"allow\"\npriority = 1\n"+
					"[[rule]]\ntoolName = \"list_directory\"\ndecision = \"deny\"\npriority = 1\n"), 0o644))
		})
		require.Equal(t, want, explained(t, s.Config, "write_file", `{}`).Decision, state)
		require.Equal(t, policy.Deny, explained(t, s.Config, "list_directory", `{}`).Decision, state)

		s.Write("AGENTS.md", "be kind")
		s.Write("f", "x")
		require.Equal(t, scheduler.StatusSuccess, s.Call("read_file", map[string]any{"file_path": "f"}).Status)
		tracker, err := s.FileTracker()
		require.NoError(t, err)
		require.Equal(t, state != trust.Untrusted, len(tracker.LoadedByAccess()) > 0, state)

		yolo := s.SetApprovalMode(policy.ModeYolo)
		require.Equal(t, state == trust.Untrusted, fault.CodeOf(yolo) == fault.UntrustedFolder, state)
		_, err = s.Derive(config.DeriveParameters{ApprovalMode: policy.ModeYolo})
		require.Equal(t, state == trust.Untrusted, fault.CodeOf(err) == fault.UntrustedFolder, state)
	}
}

// AR-26: a rule for a subagent applies to its Config and those derived from it.
func TestSubagentRules(t *testing.T) {
	s := configtest.New(t, userPolicy(t, "[[rule]]\ntoolName = \"write_file\"\nsubagent = \"writer\"\ndecision = \"allow\"\npriority = 1\n"))
	writer := derive(t, s.Config, config.DeriveParameters{Subagent: "writer"})
	for c, want := range map[*config.Config]policy.Verdict{
		s.Config: policy.AskUser,
		derive(t, s.Config, config.DeriveParameters{Subagent: "reader"}): policy.AskUser,
		writer: policy.Allow,
		derive(t, writer, config.DeriveParameters{}): policy.Allow,
	} {
		require.Equal(t, want, explained(t, c, "write_file", `{}`).Decision)
	}
}

// The steps around a call run in the order of the parameters, in derived
// Configs too.
func TestMiddlewares(t *testing.T) {
	var order []string
	before := func(name string) scheduler.Before {
		return func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
			order = append(order, name)
			return scheduler.Advice{}, nil
		}
	}
	after := func(name string) scheduler.After {
		return func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) {
			order = append(order, name)
			return r, nil
		}
	}
	s := configtest.New(t, func(p *config.Parameters) {
		p.Calls.Before = []scheduler.Before{before("a"), before("b")}
		p.Calls.After = []scheduler.After{after("c"), after("d")}
	})
	s.Write("f", "x")
	for _, c := range []*config.Config{s.Config, derive(t, s.Config, config.DeriveParameters{})} {
		order = nil
		r := configtest.Call(t.Context(), t, c, "read_file", map[string]any{"file_path": "f"})
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.Equal(t, []string{"a", "b", "c", "d"}, order)
		require.Equal(t, "x", *configtest.Decode[filestate.State](t, r).Content)
	}
}

// GO-07: two Configs in one process have rules of their own.
func TestPoliciesNeverMeet(t *testing.T) {
	denies := configtest.New(t, userPolicy(t, "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 1\n"))
	other := configtest.New(t)
	require.Equal(t, policy.Deny, explained(t, denies.Config, "read_file", `{}`).Decision)
	require.Equal(t, policy.Allow, explained(t, other.Config, "read_file", `{}`).Decision)
}

// PR-29: a file that may not be read is not shown by a preview or an error
// either.
func TestPreviewFollowsThePolicyOfReads(t *testing.T) {
	const denied = "[[rule]]\ntoolName = \"read_file\"\ndecision = \"deny\"\npriority = 1\n"
	off := true
	for name, mode := range map[string]policy.ApprovalMode{"preview": policy.ModePlan, "error": policy.ModeYolo} {
		for _, rules := range []string{"", denied} {
			s := configtest.New(t, userPolicy(t, rules), func(p *config.Parameters) {
				p.Policy.ApprovalMode, p.Session.FileReadCacheDisabled, p.Tools.Core = mode, &off, []string{"edit", "safe_patch"}
			})
			s.Write("f", "hidden one\nhidden two\n")
			r := s.Call("edit", map[string]any{"file_path": "f", "old_string": "one", "new_string": "1"})
			if name == "error" {
				r = s.Call("safe_patch", file.SafePatchParams{FilePath: "f", UnifiedDiff: "@@\n-hidden 0ne\n+x\n", BaseContentSHA256: sha(s.Read("f"))})
				require.Equal(t, fault.InvalidDiff, r.Result.Error.Code)
			}
			told := r.Result.LLMContent.String()
			if r.Result.Error != nil {
				told += r.Result.Error.Error() + r.Result.Error.Remedy
			}
			require.Equal(t, rules == "", strings.Contains(told, "hidden two") || strings.Contains(told, "hidden one"), "%s: %s", name, told)
		}
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// PR-29: a file that read_file may not show is not shown by any other reading
// tool.
func TestReadManyFollowsThePolicyOfReads(t *testing.T) {
	s := configtest.New(t, userPolicy(t, "[[rule]]\ntoolName = \"read_file\"\nargsPattern = \"secret\"\ndecision = \"deny\"\npriority = 1\n"))
	s.Write("open.txt", "open\n")
	s.Write("secret.txt", "hidden\n")
	require.NoError(t, os.Symlink("secret.txt", s.Path("link")))
	r := s.Call("read_many_files", map[string]any{"paths": []string{"*.txt", "link"}})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	told := r.Result.LLMContent.String()
	require.Contains(t, told, "open\\n")
	require.NotContains(t, told, "hidden")
	require.Equal(t, 2, strings.Count(told, string(fault.PolicyViolation)))
}

// A safety checker on write_file sees the files that a command line writes: the
// target of the redirection, not the line.
func TestCheckersSeeRedirections(t *testing.T) {
	shell, err := tools.Define("run_shell_command", "Runs a command.", tools.KindExecute,
		func(context.Context, struct {
			Command string `json:"command"`
		}) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text("ran")}, nil
		})
	require.NoError(t, err)
	s := configtest.New(t, userPolicy(t, "[[safety_checker]]\ntoolName = \"write_file\"\npriority = 1\nchecker = {type = \"in-process\", name = \"allowed-path\"}\n"),
		func(p *config.Parameters) {
			p.Policy.ApprovalMode, p.Tools.Own = policy.ModeYolo, []tools.DeclarativeTool{shell}
		})
	require.Equal(t, scheduler.StatusSuccess, s.Call("run_shell_command", map[string]any{"command": "echo x > a.txt"}).Status)
	r := s.Call("run_shell_command", map[string]any{"command": "echo x > .env"})
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Contains(t, r.Decision.Reason, ".env")
}

// PR-29: a search shows nothing of a file that read_file would not show without
// approval, however it is found.
func TestSearchShowsWhatMayBeRead(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Policy.Rules = []policy.Rule{{Tools: []string{"read_file"}, Decision: policy.Deny, ArgsPattern: `secret`, Priority: 100, Tier: policy.TierUser}}
	})
	s.Write("open.txt", "the password\n")
	s.Write("secret.txt", "the password\n")
	for _, args := range []map[string]any{{"pattern": "password"}, {"pattern": "password", "names_only": true}} {
		told := s.Call("search_file_content", args).Result.LLMContent.String()
		require.Contains(t, told, "open.txt")
		require.NotContains(t, told, "secret.txt")
	}
	require.Contains(t, s.Call("glob", map[string]any{"pattern": "*.txt"}).Result.LLMContent.String(), "secret.txt", "names are no bytes of a file")
}

// The policy's properties of a built-in tool match the tool's own Spec, so that
// rules can be validated where it is not registered.
func TestWellKnownTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = append(slices.Clone(defaultTools), "edit", "web_fetch", "web_search")
	})
	r, err := s.ToolRegistry()
	require.NoError(t, err)
	for _, tool := range r.All() {
		spec := tool.Spec()
		known, ok := policy.WellKnown(spec.Name)
		require.True(t, ok, spec.Name)
		require.Equal(t, string(spec.Kind), known.Kind, spec.Name)
		require.Equal(t, spec.Mutates(), known.Mutates, spec.Name)
		require.ElementsMatch(t, spec.Aliases, known.Aliases, spec.Name)
		require.ElementsMatch(t, spec.GovernedBy, known.GovernedBy, spec.Name)
		var effects []string
		for _, e := range spec.Effects {
			effects = append(effects, string(e))
		}
		require.ElementsMatch(t, effects, known.Effects, spec.Name)
	}
}

// A safety checker with a missing program is reported at its position.
func TestMissingCheckerProgram(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		dir := filepath.Join(p.Environment.HomeDir, ".fettle")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "checkers"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "checkers", "here"), []byte("#!/bin/sh\n"), 0o755))
		rules := "[[safety_checker]]\ntoolName = \"read_file\"\n[safety_checker.checker]\ntype = \"external\"\nname = \"here\"\n" +
			"[[safety_checker]]\ntoolName = \"glob\"\n[safety_checker.checker]\ntype = \"external\"\nname = \"gone\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "policies.toml"), []byte(rules), 0o644))
	})
	problems, err := s.Policy().Problems()
	require.NoError(t, err)
	require.Len(t, problems, 1, "%v", problems)
	require.Contains(t, problems[0].Message, `"gone"`)
	require.Equal(t, 6, problems[0].Line)
}

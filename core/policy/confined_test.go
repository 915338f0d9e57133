package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// confinedBy returns the call of a confined command.
func confinedBy(t testing.TB, kind, line string) policy.Call {
	t.Helper()
	c := command(t, line, policy.ModeDefault)
	c.Confined, c.Sealed = kind, true
	return c
}

// onlyIf returns a rule about confined commands, or about the others.
func onlyIf(confined bool, v policy.Verdict, tools ...string) policy.Rule {
	return policy.Rule{Tools: tools, Confined: &confined, Decision: v, Priority: 100, Tier: policy.TierUser}
}

// AR-26: a rule can require that a command runs confined, and the decision names
// the confinement.
func TestConfined(t *testing.T) {
	const allow, deny, ask = policy.Allow, policy.Deny, policy.AskUser
	const shell, input, write = "run_shell_command", "write_background_input", "write_file"
	for name, tt := range map[string]struct {
		rule                  policy.Rule
		call                  policy.Call
		plain, landlock, tank policy.Verdict
	}{
		"allowed if confined":     {onlyIf(true, allow, shell), command(t, "make", policy.ModeDefault), ask, allow, allow},
		"by the other name":       {onlyIf(true, allow, "ShellTool"), command(t, "make", policy.ModeDefault), ask, allow, allow},
		"denied if not confined":  {onlyIf(false, deny, shell), command(t, "make", policy.ModeYolo), deny, allow, allow},
		"denied if confined":      {onlyIf(true, deny, shell), command(t, "make", policy.ModeYolo), allow, deny, deny},
		"asked if not confined":   {onlyIf(false, ask, shell), command(t, "make", policy.ModeYolo), ask, allow, allow},
		"input of a process":      {onlyIf(true, allow, shell, input), called(t, input, `{"id":"p1","text":"x"}`), ask, allow, allow},
		"not the input":           {onlyIf(true, allow, shell), called(t, input, `{"id":"p1","text":"x"}`), ask, ask, ask},
		"what it writes":          {onlyIf(true, allow, shell, write), command(t, "make > log", policy.ModeDefault), ask, allow, allow},
		"what it writes, without": {onlyIf(true, allow, shell), command(t, "make > log", policy.ModeDefault), ask, ask, ask},
		"write_file itself":       {onlyIf(true, allow, write), called(t, write, `{"file_path":"a"}`), ask, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, tt.rule)
			for kind, want := range map[string]policy.Verdict{"": tt.plain, "landlock": tt.landlock, "container": tt.tank} {
				if want == "" {
					continue
				}
				tt.call.Confined, tt.call.Sealed = kind, true
				d := e.Decide(tt.call)
				require.Equal(t, want, d.Decision, "%q: %s", kind, d.Reason)
				require.Equal(t, kind, d.Confined)
			}
		})
	}

	// In plan mode too, where the decision is computed separately.
	c := confinedBy(t, "landlock", "make")
	c.Mode = policy.ModePlan
	require.Equal(t, "landlock", engine(t).Decide(c).Confined)

	// The JSON form contains it only if it is set.
	data, err := json.Marshal(engine(t).Decide(confinedBy(t, "landlock", "make")))
	require.NoError(t, err)
	require.Contains(t, string(data), `"confined":"landlock"`)
	data, err = json.Marshal(engine(t).Decide(command(t, "make", policy.ModeDefault)))
	require.NoError(t, err)
	require.NotContains(t, string(data), "confined")
}

// AR-26, AR-27: a rule about unconfined commands covers a protected path like the
// same rule without that condition; one about confined commands does not.
func TestConfinedAndProtectedPaths(t *testing.T) {
	const write = "write_file"
	hook := called(t, write, `{"file_path":".git/hooks/pre-commit","content":"x"}`)
	redirection := command(t, "echo x > .git/hooks/pre-commit", policy.ModeDefault)
	named := func(r policy.Rule) policy.Rule {
		r.ArgsPattern = `"file_path":"[^"]*\.git/hooks/pre-commit"`
		return r
	}
	for name, tt := range map[string]struct {
		rule policy.Rule
		call policy.Call
		want policy.Verdict
	}{
		"no condition":  {named(policy.Rule{Tools: []string{write}, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser}), hook, policy.Allow},
		"not confined":  {named(onlyIf(false, policy.Allow, write)), hook, policy.Allow},
		"confined only": {named(onlyIf(true, policy.Allow, write)), hook, policy.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			d := engine(t, tt.rule).Decide(tt.call)
			require.Equal(t, tt.want, d.Decision, d.Reason)
		})
	}
	confined := redirection
	confined.Confined = "landlock"
	echo := policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"echo"}, Decision: policy.Allow, Tier: policy.TierUser}
	require.Equal(t, policy.AskUser, engine(t, echo, named(onlyIf(true, policy.Allow, write))).Decide(confined).Decision)
	require.Equal(t, policy.Allow, engine(t, echo, named(onlyIf(false, policy.Allow, write))).Decide(redirection).Decision)
}

// AR-26: the explanation names the condition, for each part of a line.
func TestConfinedExplained(t *testing.T) {
	rule := onlyIf(true, policy.Allow, "run_shell_command")
	d := engine(t, rule).Decide(confinedBy(t, "landlock", "make && ls"))
	require.Equal(t, policy.Allow, d.Decision)
	for _, part := range d.Parts {
		require.Contains(t, part.Reason, "allows the whole tool if confined.")
	}
	rule.CommandPrefix = []string{"make"}
	d = engine(t, rule).Decide(confinedBy(t, "landlock", "make"))
	require.Contains(t, d.Reason, `allows commands that begin with "make" if confined.`)
	d = engine(t, onlyIf(true, policy.Deny, "write_background_input")).Decide(func() policy.Call {
		c := called(t, "write_background_input", `{}`)
		c.Confined = "container"
		return c
	}())
	require.Contains(t, d.Reason, "denies write_background_input if confined.")

	require.Equal(t, "allow run_shell_command(make) if confined", rule.String())
	other := onlyIf(false, policy.Deny, "run_shell_command")
	other.Modes, other.Interactive = []policy.ApprovalMode{policy.ModeYolo}, ptr(false)
	require.Equal(t, "deny run_shell_command in yolo if not confined without an approver", other.String())
}

// A safety checker can apply to unconfined commands only.
func TestConfinedChecker(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{
		Rules: []policy.Rule{allowTool("run_shell_command", "write_file")},
		Checkers: []policy.Checker{
			{Name: "commands", Rule: policy.Rule{Tools: []string{"run_shell_command"}, Confined: ptr(false), Tier: policy.TierUser}},
			{Name: "files", Rule: policy.Rule{Tools: []string{"write_file"}, Confined: ptr(false), Tier: policy.TierUser}},
		},
	})
	require.NoError(t, err)
	d := e.Decide(command(t, "ls > out", policy.ModeDefault))
	require.Len(t, d.Checkers, 2)
	require.Empty(t, e.Decide(confinedBy(t, "landlock", "ls > out")).Checkers)
}

// AR-26: the condition is valid for tools that may be confined; for others it
// would never be met, or always.
func TestConfinedValidate(t *testing.T) {
	for name, r := range map[string]policy.Rule{
		"a file tool":  onlyIf(true, policy.Deny, "read_file"),
		"one of them":  onlyIf(true, policy.Deny, "run_shell_command", "read_file"),
		"all":          onlyIf(false, policy.Deny, "*"),
		"a wildcard":   onlyIf(false, policy.Deny, "run_*"),
		"an MCP tool":  {Tools: []string{"run_shell_command"}, Server: "git", Confined: ptr(true), Decision: policy.Deny, Tier: policy.TierUser},
		"a safe_patch": onlyIf(true, policy.Allow, "safe_patch"),
	} {
		t.Run(name, func(t *testing.T) {
			err := r.Validate()
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.ErrorContains(t, err, "confined requires one of the tools run_shell_command")
			c := policy.Checker{Name: "c", Rule: policy.Rule{Tools: r.Tools, Server: r.Server, Confined: r.Confined, Tier: policy.TierUser}}
			require.Error(t, c.Validate())
		})
	}
	require.NoError(t, onlyIf(false, policy.Deny, "run_shell_command", "ShellTool", "write_background_input", "write_file").Validate())
}

// AR-27: the approval of a confined command, and of its outputs, does not extend
// to unconfined ones.
func TestNarrowConfined(t *testing.T) {
	for name, tt := range map[string]struct {
		call  policy.Call
		rules []string
	}{
		"a command":    {confinedBy(t, "landlock", "git fetch origin"), []string{"allow run_shell_command(git fetch)"}},
		"as it stands": {confinedBy(t, "landlock", "rm -r build"), []string{`allow run_shell_command(/\x00"command":"rm -r build"\x00/)`}},
		"with what it writes": {confinedBy(t, "container", "git fetch > log"), []string{
			"allow run_shell_command(git fetch)", `allow write_file(/\x00"file_path":"/w/src/log"\x00/)`}},
		"input": {func() policy.Call {
			c := called(t, "write_background_input", `{"id":"p1","input":"y"}`)
			c.Confined = "landlock"
			return c
		}(), []string{`allow write_background_input(/\A\{\x00"id":"p1"\x00,?\x00"input":"y"\x00,?\}\z/)`}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scope := range []policy.Scope{policy.ScopeSession, policy.ScopeSaved} {
				e := engine(t, askAll)
				rules, err := e.Narrow(tt.call, scope)
				require.NoError(t, err)
				require.Len(t, rules, len(tt.rules))
				for i, r := range rules {
					require.Equal(t, ptr(true), r.Confined)
					require.Equal(t, tt.rules[i]+" in default, autoEdit, yolo if confined", r.String())
				}
				require.NoError(t, e.Add(rules...))
				require.Equal(t, policy.Allow, e.Decide(tt.call).Decision)
				loose := tt.call
				loose.Confined = ""
				require.Equal(t, policy.AskUser, e.Decide(loose).Decision)
			}
		})
	}
	// The file was approved as an output of a confined command.
	e := engine(t)
	rules, err := e.Narrow(confinedBy(t, "landlock", "git fetch > log"), policy.ScopeSession)
	require.NoError(t, err)
	require.NoError(t, e.Add(rules...))
	require.Equal(t, policy.AskUser, e.Decide(called(t, "write_file", `{"file_path":"log"}`)).Decision)

	// The approval of any command applies to confined ones too.
	e = engine(t)
	rules, err = e.Narrow(command(t, "git fetch", policy.ModeDefault), policy.ScopeSession)
	require.NoError(t, err)
	require.Nil(t, rules[0].Confined)
	require.NoError(t, e.Add(rules...))
	require.Equal(t, policy.Allow, e.Decide(confinedBy(t, "landlock", "git fetch")).Decision)
}

// An approval answers a rule that asks about all unconfined commands.
func TestNarrowBesideConfined(t *testing.T) {
	e := engine(t, onlyIf(false, policy.AskUser, "run_shell_command"), onlyIf(true, policy.Allow, "run_shell_command"))
	c := command(t, "git push", policy.ModeDefault)
	rules, err := e.Narrow(c, policy.ScopeSaved)
	require.NoError(t, err)
	require.NoError(t, e.Add(rules...))
	require.Equal(t, policy.Allow, e.Decide(c).Decision)
	require.Equal(t, policy.AskUser, e.Decide(command(t, "git pull", policy.ModeDefault)).Decision)
}

// AR-26: a rule that allows confined commands does not cover one that could write
// protected paths; one that remembers an approval does.
func TestConfinedOpen(t *testing.T) {
	const allow, ask = policy.Allow, policy.AskUser
	prefix := onlyIf(true, allow, "run_shell_command")
	prefix.CommandPrefix = []string{"make"}
	approved := prefix
	approved.Approval, approved.Priority = true, 950
	for name, tt := range map[string]struct {
		rules        []policy.Rule
		line         string
		open, sealed policy.Verdict
		says         string
	}{
		"the tool":       {[]policy.Rule{onlyIf(true, allow, "run_shell_command")}, "make", ask, allow, "could still write protected paths"},
		"a prefix":       {[]policy.Rule{prefix}, "make x", ask, allow, "could still write protected paths"},
		"an approval":    {[]policy.Rule{approved}, "make x", allow, allow, "allows"},
		"another":        {[]policy.Rule{prefix}, "ls", ask, ask, "No rule allows"},
		"a lower one":    {[]policy.Rule{onlyIf(true, allow, "run_shell_command"), {Tools: []string{"run_shell_command"}, CommandPrefix: []string{"make"}, Decision: allow, Tier: policy.TierUser}}, "make", allow, allow, "allows"},
		"what it writes": {[]policy.Rule{allowTool("run_shell_command"), onlyIf(true, allow, "write_file")}, "make > log", allow, allow, "allows"},
		"protected":      {[]policy.Rule{allowTool("run_shell_command"), onlyIf(true, allow, "write_file")}, "make > .envrc", ask, allow, "decides what runs later"},
	} {
		c := command(t, tt.line, policy.ModeDefault)
		c.Confined = "landlock"
		d := engine(t, tt.rules...).Decide(c)
		require.Equal(t, tt.open, d.Decision, "%s: %s", name, d.Reason)
		require.Contains(t, d.Reason, tt.says, name)
		c.Sealed = true
		require.Equal(t, tt.sealed, engine(t, tt.rules...).Decide(c).Decision, name)
	}
	input := called(t, "write_background_input", `{"id":"p1","input":"y"}`)
	input.Confined = "landlock"
	d := engine(t, onlyIf(true, allow, "write_background_input")).Decide(input)
	require.Equal(t, ask, d.Decision)
	require.Contains(t, d.Reason, "could still write protected paths")
}

// SB-04, FK-03: where mounts confine every command of a session, as in a fork, commands run without approval in the
// mode auto, and read-only ones in each mode. Known writes to protected paths need approval.
func TestAllConfinedByMounts(t *testing.T) {
	e := table(t)
	for line, want := range map[string]map[policy.ApprovalMode]policy.Verdict{
		"make":              {policy.ModeAuto: policy.Allow, policy.ModeAutoEdit: policy.AskUser, policy.ModeDefault: policy.AskUser},
		"echo x > out":      {policy.ModeAuto: policy.Allow, policy.ModeDefault: policy.AskUser},
		"ls -l":             {policy.ModeAuto: policy.Allow, policy.ModeDefault: policy.Allow},
		"echo x > .envrc":   {policy.ModeAuto: policy.AskUser},
		"git commit -qam x": {policy.ModeAuto: policy.AskUser},
	} {
		for mode, verdict := range want {
			c := command(t, line, mode)
			c.Confined, c.Sealed = policy.Namespaces, true
			places(nil).look(e, &c)
			d := e.Decide(c)
			require.Equal(t, verdict, d.Decision, "%s in %s: %s", line, mode, d.Reason)
			require.Equal(t, policy.Namespaces, d.Confined, line)
			c.Sealed = false // other confinements do not count
			if line == "make" {
				require.Equal(t, policy.AskUser, e.Decide(c).Decision, line)
			}
		}
	}
}

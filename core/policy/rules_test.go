package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

func ptr[T any](v T) *T { return &v }

// AR-26: each condition of a rule, met and not met.
func TestConditions(t *testing.T) {
	write := policy.Call{Tool: "write_file", Kind: "edit", Effects: []string{"read_files", "write_files"}, Dir: "/w",
		Params: []byte(`{"file_path":"src/a.go","content":"x"}`)}
	with := func(change func(*policy.Call)) policy.Call {
		c := write
		change(&c)
		return c
	}
	tests := map[string]struct {
		rule policy.Rule // its tools are write_file
		call policy.Call
		deny bool
	}{
		"none": {policy.Rule{}, write, true},
		"mode": {policy.Rule{Modes: []policy.ApprovalMode{"default", "plan"}}, write, true},
		"mode, written the other way": {policy.Rule{Modes: []policy.ApprovalMode{"auto_edit"}},
			with(func(c *policy.Call) { c.Mode = policy.ModeAutoEdit }), true},
		"another mode":     {policy.Rule{Modes: []policy.ApprovalMode{"yolo"}}, write, false},
		"subagent":         {policy.Rule{Subagent: "a"}, with(func(c *policy.Call) { c.Subagent = "a" }), true},
		"another subagent": {policy.Rule{Subagent: "a"}, with(func(c *policy.Call) { c.Subagent = "ab" }), false},
		"the main agent":   {policy.Rule{Subagent: "a"}, write, false},
		"interactive":      {policy.Rule{Interactive: ptr(true)}, write, true},
		"not interactive":  {policy.Rule{Interactive: ptr(true)}, with(func(c *policy.Call) { c.Headless = true }), false},
		"headless":         {policy.Rule{Interactive: ptr(false)}, with(func(c *policy.Call) { c.Headless = true }), true},
		"not headless":     {policy.Rule{Interactive: ptr(false)}, write, false},
		"annotation":       {policy.Rule{Annotations: map[string]any{"a": true, "n": int64(2)}}, with(func(c *policy.Call) { c.Annotations = map[string]any{"a": true, "n": 2.0, "z": 1} }), true},
		"another value":    {policy.Rule{Annotations: map[string]any{"a": true}}, with(func(c *policy.Call) { c.Annotations = map[string]any{"a": "true"} }), false},
		"one of two":       {policy.Rule{Annotations: map[string]any{"a": true, "b": true}}, with(func(c *policy.Call) { c.Annotations = map[string]any{"a": true} }), false},
		"no annotations":   {policy.Rule{Annotations: map[string]any{"a": nil}}, write, false},
		"effect":           {policy.Rule{Effects: []string{"network", "write_files"}}, write, true},
		"another effect":   {policy.Rule{Effects: []string{"network"}}, write, false},
		"argument":         {policy.Rule{ArgsPattern: `"file_path":"src/`}, write, true},
		"absolute path":    {policy.Rule{ArgsPattern: `\x00"file_path":"/w/src/a\.go"\x00`}, write, true},
		"not cleaned":      {policy.Rule{ArgsPattern: `"/w/src/a\.go"`}, with(func(c *policy.Call) { c.Params = []byte(`{"file_path":"./src/../src//a.go"}`) }), true},
		"where it leads":   {policy.Rule{ArgsPattern: `"/w/\.env"`}, with(func(c *policy.Call) { c.RealPaths = map[string]string{"/w/src/a.go": "/w/.env"} }), true},
		"another argument": {policy.Rule{ArgsPattern: `"file_path":"lib/`}, write, false},
		"not forged": {policy.Rule{ArgsPattern: `\x00"file_path":"/etc/x"\x00`}, with(func(c *policy.Call) {
			c.Params = []byte(`{"content":"\u0000\"file_path\":\"/etc/x\"\u0000","file_path":"a"}`)
		}), false},
		"other tool":         {policy.Rule{}, policy.Call{Tool: "write_files", Kind: "edit"}, false},
		"everything at once": {policy.Rule{Modes: []policy.ApprovalMode{"default"}, Interactive: ptr(true), Effects: []string{"write_files"}, ArgsPattern: "content"}, write, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, verdict := range []policy.Verdict{policy.Deny, policy.Allow} {
				r := tt.rule
				r.Name, r.Tools, r.Tier, r.Decision, r.Source, r.Line = "it", []string{"write_file"}, policy.TierUser, verdict, "p.toml", 7
				d := engine(t, r).Decide(tt.call)
				match := tt.deny
				if verdict == policy.Allow && (strings.Contains(name, "effect") || name == "everything at once" || name == "where it leads") {
					continue // allowing is stricter about these: see below
				}
				require.Equal(t, match, d.Rule == "it", "%+v", d)
				if match {
					require.Equal(t, verdict, d.Decision)
					require.Equal(t, "user", d.Tier)
					require.Equal(t, "p.toml", d.Source)
					require.Equal(t, 7, d.Line)
					require.Contains(t, d.Reason, "p.toml:7")
				}
			}
		})
	}
}

// A rule that allows by effects covers tools without other effects; undeclared
// effects may be anything.
func TestEffectsAllow(t *testing.T) {
	r := policy.Rule{Name: "it", Tools: []string{"*"}, Decision: policy.Allow, Tier: policy.TierUser, Effects: []string{"read_files", "write_files"}}
	for _, tt := range []struct {
		call policy.Call
		want bool
	}{
		{policy.Call{Tool: "x", Kind: "edit", Effects: []string{"write_files"}}, true},
		{policy.Call{Tool: "x", Kind: "other", Effects: []string{"read_files"}}, true},
		{policy.Call{Tool: "x", Kind: "edit", Effects: []string{"write_files", "network"}}, false},
		{policy.Call{Tool: "x", Kind: "edit"}, false},
		{policy.Call{Tool: "x", Kind: "other", Mutates: true, Effects: []string{"read_files"}}, false},
	} {
		require.Equal(t, tt.want, engine(t, r).Decide(tt.call).Rule == "it", "%+v", tt.call)
	}
}

// If the arguments are not JSON, a pattern that denies may match them and one
// that allows does not.
func TestUnclearArguments(t *testing.T) {
	for _, params := range []string{`[1]`, `{"a"`, `"text"`} {
		c := policy.Call{Tool: "x", Kind: "read", Params: []byte(params)}
		r := policy.Rule{Name: "it", Tools: []string{"x"}, Decision: policy.Deny, ArgsPattern: "zzz", Tier: policy.TierUser}
		d := engine(t, r).Decide(c)
		require.Equal(t, policy.AskUser, d.Decision)
		require.Equal(t, "it", d.Rule)
		r.Decision, r.ArgsPattern, c.Kind = policy.Allow, ".*", "edit"
		require.Equal(t, policy.AskUser, engine(t, r).Decide(c).Decision)
	}
}

// AR-26: tier before priority; at the same rank deny beats ask beats allow, in
// whatever order the rules are given; the session counts as 3.95.
func TestOrder(t *testing.T) {
	verdicts := []policy.Verdict{policy.Allow, policy.AskUser, policy.Deny}
	var rules []policy.Rule
	for _, tier := range []policy.Tier{policy.TierDefault, policy.TierExtension, policy.TierWorkspace, policy.TierUser, policy.TierAdmin} {
		for _, priority := range []int{0, 500, 950, 999} {
			for _, v := range verdicts {
				rules = append(rules, policy.Rule{Name: fmt.Sprint(tier, priority, v), Tools: []string{"x"}, Decision: v, Priority: priority, Tier: tier})
			}
		}
	}
	rules = append(rules, policy.Rule{Name: "session", Tools: []string{"x"}, Decision: policy.Allow, Priority: 1, Session: true})
	strict := map[policy.Verdict]int{policy.Allow: 0, policy.AskUser: 1, policy.Deny: 2}
	for _, a := range rules {
		for _, b := range rules {
			want := a
			if b.Effective() > a.Effective() || b.Effective() == a.Effective() && strict[b.Decision] > strict[a.Decision] {
				want = b
			}
			if a.Effective() < 1.1 && b.Effective() < 1.1 {
				continue // below the generated rules
			}
			d := engine(t, a, b).Decide(policy.Call{Tool: "x", Kind: "other"})
			require.Equal(t, want.Decision, d.Decision, "%s, %s", a.Name, b.Name)
			require.Equal(t, want.Name, d.Rule)
		}
	}
	require.InDelta(t, 3.95, policy.Rule{Session: true, Priority: 1}.Effective(), 1e-9)
	require.InDelta(t, 4.007, policy.Rule{Tier: policy.TierUser, Priority: 7}.Effective(), 1e-9)

	listed := engine(t, rules...).Rules()
	require.Len(t, listed, len(rules)+len(engine(t).Rules()))
	builtIns := 0
	for i, r := range listed {
		if i > 0 {
			require.GreaterOrEqual(t, listed[i-1].Effective(), r.Effective())
		}
		if r.Source == "built-in" {
			builtIns++
			require.Equal(t, policy.TierDefault, r.Tier)
		}
	}
	require.Equal(t, len(engine(t).Rules()), builtIns)
}

// An "always" approval does not count if the settings disable it.
func TestDisableAlwaysAllow(t *testing.T) {
	rules := []policy.Rule{
		{Tools: []string{"a"}, Decision: policy.Allow, Priority: 950, Tier: policy.TierUser},
		{Tools: []string{"b"}, Decision: policy.Allow, Session: true},
		{Tools: []string{"c"}, Decision: policy.Allow, Priority: 949, Tier: policy.TierUser},
		{Tools: []string{"d"}, Decision: policy.Deny, Priority: 950, Tier: policy.TierUser},
	}
	e, err := policy.NewEngine(policy.Options{Rules: rules, DisableAlwaysAllow: true})
	require.NoError(t, err)
	require.NoError(t, e.Add(rules[1]))
	want := map[string]policy.Verdict{"a": policy.AskUser, "b": policy.AskUser, "c": policy.Allow, "d": policy.Deny}
	for tool, verdict := range want {
		require.Equal(t, verdict, e.Decide(policy.Call{Tool: tool, Kind: "other"}).Decision, tool)
	}
	_, err = e.Narrow(policy.Call{Tool: "a", Kind: "other"}, policy.ScopeSession)
	require.Equal(t, fault.NotRemembered, fault.CodeOf(err))
}

// Complaints 20469, 16012: a call that requires approval is not denied without an
// approver; the reason states that.
func TestHeadless(t *testing.T) {
	d := engine(t).Decide(policy.Call{Tool: "x", Kind: "edit", Headless: true})
	require.Equal(t, policy.AskUser, d.Decision)
	require.Contains(t, d.Reason, "No approver is available")
	require.Contains(t, d.Remedy, "auto_edit")
}

// A denial contains the rule's message for the model.
func TestDenyMessage(t *testing.T) {
	r := policy.Rule{Tools: []string{"x"}, Decision: policy.Deny, DenyMessage: "Ask Ann.", Tier: policy.TierAdmin, Source: "a.toml"}
	d := engine(t, r).Decide(policy.Call{Tool: "x"})
	require.Equal(t, "Ask Ann.", d.Message)
	require.Empty(t, d.Remedy) // an administrator's
	r.Tier = policy.TierUser
	require.Contains(t, engine(t, r).Decide(policy.Call{Tool: "x"}).Remedy, "a.toml")
	r.Decision = policy.AskUser
	require.Empty(t, engine(t, r).Decide(policy.Call{Tool: "x"}).Message)
}

// An invalid rule is an error with the reason, and no engine is created with it.
func TestValidate(t *testing.T) {
	fine := policy.Rule{Tools: []string{"x"}, Decision: policy.Deny, Tier: policy.TierUser}
	shellRule := fine
	shellRule.Tools = []string{"run_shell_command"}
	require.NoError(t, fine.Validate())
	with := func(r policy.Rule, change func(*policy.Rule)) policy.Rule {
		change(&r)
		return r
	}
	for want, r := range map[string]policy.Rule{
		"is not an MCP server":                               with(fine, func(r *policy.Rule) { r.Server = "git*" }),
		"is not an effect":                                   with(fine, func(r *policy.Rule) { r.Effects = []string{"network", "net"} }),
		"names no tool":                                      with(fine, func(r *policy.Rule) { r.Tools = nil }),
		"is empty":                                           with(fine, func(r *policy.Rule) { r.Tools = []string{"x", " "} }),
		"is not a decision":                                  with(fine, func(r *policy.Rule) { r.Decision = "ask" }),
		"priority is -1":                                     with(fine, func(r *policy.Rule) { r.Priority = -1 }),
		"priority is 1000":                                   with(fine, func(r *policy.Rule) { r.Priority = 1000 }),
		"0 is not a tier":                                    with(fine, func(r *policy.Rule) { r.Tier = 0 }),
		"6 is not a tier":                                    with(fine, func(r *policy.Rule) { r.Tier = 6 }),
		"not an approval mode":                               with(fine, func(r *policy.Rule) { r.Modes = []policy.ApprovalMode{"plan", "YOLO"} }),
		"argsPattern: it has the lookaround":                 with(fine, func(r *policy.Rule) { r.ArgsPattern = "a(?!b)" }),
		"argsPattern: it has the back reference":             with(fine, func(r *policy.Rule) { r.ArgsPattern = `(a)\1` }),
		"not a valid regular expression":                     with(fine, func(r *policy.Rule) { r.ArgsPattern = "(" }),
		"at most 2048":                                       with(fine, func(r *policy.Rule) { r.ArgsPattern = strings.Repeat("a", 2049) }),
		"nests repetitions":                                  with(fine, func(r *policy.Rule) { r.ArgsPattern = `"command":"(ls|a+)*"` }),
		"commandRegex require the tool":                      with(fine, func(r *policy.Rule) { r.CommandPrefix = []string{"ls"} }),
		"require the tool run_shell_command":                 with(shellRule, func(r *policy.Rule) { r.Tools = []string{"*"}; r.CommandRegex = "ls" }),
		"are mutually exclusive":                             with(shellRule, func(r *policy.Rule) { r.CommandPrefix, r.CommandRegex = []string{"ls"}, "ls" }),
		"argsPattern are mutually exclusive":                 with(shellRule, func(r *policy.Rule) { r.CommandPrefix, r.ArgsPattern = []string{"ls"}, "ls" }),
		"commandRegex: it is not a valid regular expression": with(shellRule, func(r *policy.Rule) { r.CommandRegex = "a)(b" }),
		`the commandPrefix "ls; rm" is none`:                 with(shellRule, func(r *policy.Rule) { r.CommandPrefix = []string{"ls; rm"} }),
		`the commandPrefix "" is none`:                       with(shellRule, func(r *policy.Rule) { r.CommandPrefix = []string{""} }),
	} {
		r.Source, r.Line = "p.toml", 3
		err := r.Validate()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "p.toml:3")
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		_, err = policy.NewEngine(policy.Options{Rules: []policy.Rule{fine, r}})
		require.Error(t, err, want)
		e := engine(t)
		require.Error(t, e.Add(fine, r))
		require.Len(t, e.Rules(), len(engine(t).Rules()), "none of them was added")
	}
}

func TestRuleString(t *testing.T) {
	for want, r := range map[string]policy.Rule{
		"deny run_shell_command(git push)": {Tools: []string{"run_shell_command"}, CommandPrefix: []string{"git push"}, Decision: policy.Deny},
		"allow a|b in plan, autoEdit":      {Tools: []string{"a", "b"}, Decision: policy.Allow, Modes: []policy.ApprovalMode{"plan", "autoEdit"}},
		"ask_user git/* for x":             {Tools: []string{"*"}, Server: "git", Decision: policy.AskUser, Subagent: "x"},
		"deny x(/y/)":                      {Tools: []string{"x"}, ArgsPattern: "y", Decision: policy.Deny},
		"allow x that may network, read_files declared as a=true, n=1 in plan without an approver": {Tools: []string{"x"}, Decision: policy.Allow,
			Effects: []string{"network", "read_files"}, Annotations: map[string]any{"n": 1, "a": true}, Modes: []policy.ApprovalMode{"plan"}, Interactive: ptr(false)},
		"deny x with an approver":                     {Tools: []string{"x"}, Decision: policy.Deny, Interactive: ptr(true)},
		"deny a|b|c|…":                                {Tools: []string{"a", "b", "c", "d", "e"}, Decision: policy.Deny},
		"deny x(/" + strings.Repeat("é", 119) + "…/)": {Tools: []string{"x"}, ArgsPattern: strings.Repeat("é", 121), Decision: policy.Deny},
	} {
		require.Equal(t, want, r.String())
	}
}

// CF-09: a rule of a source that may only tighten asks in addition to a lower
// rule that denies, and does not override it.
func TestTightensOnly(t *testing.T) {
	lower := policy.Rule{Tools: []string{"*"}, Decision: policy.Deny, Priority: 1, Tier: policy.TierExtension}
	for name, command := range map[string]string{"a tool": "", "a command": "make"} {
		t.Run(name, func(t *testing.T) {
			call := policy.Call{Tool: "web_fetch", Kind: "fetch", Mode: policy.ModeYolo}
			asks := policy.Rule{Tools: []string{"web_fetch"}, Decision: policy.AskUser, Priority: 1, Tier: policy.TierWorkspace}
			if command != "" {
				call, _ = policy.WellKnown("run_shell_command")
				call.Mode, call.Params = policy.ModeYolo, []byte(`{"command":"make install"}`)
				asks.Tools, asks.CommandPrefix = []string{"run_shell_command"}, []string{command}
			}
			verdict := func(rules ...policy.Rule) policy.Verdict {
				e, err := policy.NewEngine(policy.Options{Rules: rules})
				require.NoError(t, err)
				d := e.Decide(call)
				require.NotEmpty(t, d.Reason)
				return d.Decision
			}
			require.Equal(t, policy.Allow, verdict())
			require.Equal(t, policy.AskUser, verdict(asks, lower), "a rule of the user's own project stands in front")
			asks.TightensOnly = true
			require.Equal(t, policy.Deny, verdict(asks, lower))
			require.Equal(t, policy.AskUser, verdict(asks))
		})
	}
}

// Complaint 28548: the annotations of a server's tool change nothing by
// themselves, in plan mode or in any other. A user's rule may refer to them; its
// explanation states that they are unverified.
func TestReadOnlyHintIsNotTrusted(t *testing.T) {
	hint := map[string]any{"readOnlyHint": true, "destructiveHint": false}
	for _, mode := range everyMode {
		c := mcp("git", "log")
		c.Kind, c.Mode = "other", mode
		plain := engine(t).Decide(c)
		c.Annotations = hint
		require.Equal(t, plain, engine(t).Decide(c), mode)
		if mode != policy.ModeYolo {
			require.Equal(t, policy.AskUser, plain.Decision, mode)
		}
		c.Mutates = true
		require.Equal(t, mode == policy.ModePlan, engine(t).Decide(c).Previews, "what changes something is shown in plan mode, whatever is declared")
	}
	r := policy.Rule{Tools: []string{"*"}, Server: "git", Decision: policy.Allow, Annotations: map[string]any{"readOnlyHint": true},
		Modes: []policy.ApprovalMode{policy.ModePlan}, Tier: policy.TierUser}
	c := mcp("git", "log")
	c.Kind, c.Mode = "other", policy.ModePlan
	require.Equal(t, policy.AskUser, engine(t, r).Decide(c).Decision)
	c.Annotations = hint
	d := engine(t, r).Decide(c)
	require.Equal(t, policy.Allow, d.Decision)
	require.Contains(t, d.Reason, "unverified declarations")
}

// A safety checker on write_file applies to the files that a command line writes,
// and receives each as a call of write_file.
func TestCheckersSeeRedirections(t *testing.T) {
	path := policy.Checker{Name: "allowed-path", Rule: policy.Rule{Tools: []string{"write_file"}, Tier: policy.TierUser, Priority: 5}}
	env := policy.Checker{Name: "env", Rule: policy.Rule{Tools: []string{"write_file"}, ArgsPattern: `\.env`, Tier: policy.TierUser}}
	lines := policy.Checker{Name: "lines", Rule: policy.Rule{Tools: []string{"run_shell_command"}, Tier: policy.TierUser}}
	all := shellRule(policy.Allow, 100, "ls", "sort")
	all.AllowRedirection = true
	e, err := policy.NewEngine(policy.Options{Checkers: []policy.Checker{path, env, lines}, Rules: []policy.Rule{all, shellRule(policy.Deny, 200, "rm")}})
	require.NoError(t, err)
	for line, want := range map[string][]string{
		"ls":                        {"lines"},
		"ls > out; ls >> out":       {"lines", "allowed-path /w/src/out"},
		"ls > .env":                 {"lines", "allowed-path /w/src/.env", "env /w/src/.env"},
		"sort -o ../a f | ls > b":   {"lines", "allowed-path /w/a", "allowed-path /w/src/b"},
		"cd ../a && ls > ../.env":   {"lines", "allowed-path /w/.env", "env /w/.env"},
		"ls > /dev/null 2>&1":       {"lines"},
		"ls > .git/hooks/x && rm x": nil,
	} {
		c := command(t, line, policy.ModeYolo)
		c.RealPaths = map[string]string{"/w/q": "/etc/q"}
		var got []string
		for _, ch := range e.Decide(c).Checkers {
			name := ch.Name
			if about := ch.About; about != nil {
				require.Equal(t, "write_file", about.Tool)
				require.Equal(t, c.RealPaths, about.RealPaths)
				require.Equal(t, c.Roots, about.Roots)
				var args struct {
					Path string `json:"file_path"`
				}
				require.NoError(t, json.Unmarshal(about.Params, &args))
				name += " " + args.Path
			}
			got = append(got, name)
		}
		require.Equal(t, want, got, line)
	}
	d := e.Decide(command(t, `ls > "$f"`, policy.ModeYolo))
	require.Equal(t, policy.AskUser, d.Decision)
	require.Contains(t, d.Reason, "allowed-path")
	require.Equal(t, policy.Allow, engine(t, all).Decide(command(t, `ls > "$f"`, policy.ModeYolo)).Decision)
}

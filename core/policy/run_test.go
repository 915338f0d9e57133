package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
)

// in returns the call of a command in a session that can confine single commands.
func in(t testing.TB, mode policy.ApprovalMode, line string) policy.Call {
	t.Helper()
	c := command(t, line, mode)
	c.Confinable, c.Sealed = policy.Namespaces, true
	return c
}

// placed returns a rule that allows commands to run confined or unconfined.
func placed(tier policy.Tier, run confirmation.Run, prefixes ...string) policy.Rule {
	r := shellRule(policy.Allow, 100, prefixes...)
	r.Tier, r.Run = tier, run
	return r
}

// SB-04: the commands that run without approval in the mode auto, and their confinement.
func TestAuto(t *testing.T) {
	user := placed(policy.TierUser, "", "deploy")
	for name, tt := range map[string]struct {
		line  string
		rules []policy.Rule
		want  policy.Verdict
		run   confirmation.Run
	}{
		"a build":                     {"go build ./... && ./run.sh", nil, policy.Allow, confirmation.RunConfined},
		"unknown commands":            {`$x; bash -c "$y"`, nil, policy.Allow, confirmation.RunConfined},
		"no commands":                 {"cd src; FOO=1", nil, policy.Allow, confirmation.RunRead},
		"a file of the workspace":     {"make > log", nil, policy.Allow, confirmation.RunConfined},
		"an unknown file":             {`make > "$x"`, nil, policy.Allow, confirmation.RunConfined},
		"a temporary file":            {"make 2> /tmp/log", nil, policy.Allow, confirmation.RunConfined},
		"a file elsewhere":            {"make > /etc/x", nil, policy.AskUser, confirmation.RunUnconfined},
		"a protected file":            {"make > .git/hooks/pre-commit", nil, policy.AskUser, confirmation.RunUnconfined},
		"its name":                    {"tee .env", nil, policy.AskUser, confirmation.RunUnconfined},
		"a commit":                    {"git -C lib commit -m x", nil, policy.AskUser, confirmation.RunUnconfined},
		"a list of stashes":           {"git stash list; git stash show", nil, policy.Allow, confirmation.RunConfined},
		"a stash":                     {"git stash", nil, policy.AskUser, confirmation.RunUnconfined},
		"a program's text":            {`python3 -c 'print(open("config.y")["name"])'`, nil, policy.Allow, confirmation.RunConfined},
		"a diff":                      {"git diff", nil, policy.Allow, confirmation.RunConfined},
		"a rule of the user's":        {"deploy x", []policy.Rule{user}, policy.Allow, confirmation.RunUnconfined},
		"with a builtin":              {"cd src && deploy x", []policy.Rule{user}, policy.Allow, confirmation.RunUnconfined},
		"beside others":               {"make && deploy x", []policy.Rule{user}, policy.Allow, confirmation.RunConfined},
		"run confined":                {"deploy", []policy.Rule{placed(policy.TierUser, confirmation.RunConfined, "deploy")}, policy.Allow, confirmation.RunConfined},
		"a rule of the project's":     {"deploy", []policy.Rule{placed(policy.TierWorkspace, "", "deploy")}, policy.Allow, confirmation.RunConfined},
		"a rule of an extension's":    {"deploy", []policy.Rule{placed(policy.TierExtension, "", "deploy")}, policy.Allow, confirmation.RunConfined},
		"a rule that denies":          {"make; rm -rf x", []policy.Rule{shellRule(policy.Deny, 1, "rm -rf")}, policy.Deny, ""},
		"a rule that asks":            {"make; rm -rf x", []policy.Rule{shellRule(policy.AskUser, 1, "rm -rf")}, policy.AskUser, confirmation.RunUnconfined},
		"a rule that may":             {"$x -rf y", []policy.Rule{shellRule(policy.Deny, 1, "rm -rf")}, policy.AskUser, confirmation.RunUnconfined},
		"denied unless confined":      {"make", []policy.Rule{onlyIf(false, policy.Deny, "run_shell_command")}, policy.Allow, confirmation.RunConfined},
		"denied if confined":          {"make", []policy.Rule{onlyIf(true, policy.Deny, "run_shell_command")}, policy.AskUser, confirmation.RunUnconfined},
		"a commit, denied unconfined": {"git commit", []policy.Rule{onlyIf(false, policy.Deny, "run_shell_command")}, policy.Deny, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := engine(t, tt.rules...).Decide(in(t, policy.ModeAuto, tt.line))
			require.Equal(t, tt.want, d.Decision, d.Reason)
			require.Equal(t, tt.run, d.Run, d.Reason)
			require.Equal(t, d.Run == confirmation.RunConfined || d.Run == confirmation.RunRead, d.Confined == policy.Namespaces)
		})
	}
}

// SB-04: if mounts do not enforce protected paths, and in untrusted directories, auto
// is like autoEdit.
func TestAutoWithoutMounts(t *testing.T) {
	for name, change := range map[string]func(c *policy.Call){
		"untrusted": func(c *policy.Call) { c.Untrusted = true },
		"landlock":  func(c *policy.Call) { c.Confinable, c.Sealed = "landlock", false },
		"nothing":   func(c *policy.Call) { c.Confinable, c.Sealed = "", false },
	} {
		t.Run(name, func(t *testing.T) {
			for line, want := range map[string]policy.Verdict{"make": policy.AskUser, "> log": policy.Allow, "> /tmp/log": policy.AskUser} {
				c := in(t, policy.ModeAuto, line)
				change(&c)
				if line == "> /tmp/log" && c.Confinable == policy.Namespaces {
					continue
				}
				require.Equal(t, want, engine(t).Decide(c).Decision, line)
			}
		})
	}
	edit := called(t, "write_file", `{"file_path":"a","content":"x"}`)
	edit.Mode = policy.ModeAuto
	require.Equal(t, policy.Allow, engine(t).Decide(edit).Decision)
	edit = called(t, "write_file", `{"file_path":".env","content":"x"}`)
	edit.Mode = policy.ModeAuto
	require.Equal(t, policy.AskUser, engine(t).Decide(edit).Decision)
}

// SB-04, SB-05: the other modes.
func TestPlacedModes(t *testing.T) {
	user, project := placed(policy.TierUser, "", "make"), placed(policy.TierWorkspace, "", "npm test")
	for _, tt := range []struct {
		mode policy.ApprovalMode
		line string
		want policy.Verdict
		run  confirmation.Run
	}{
		{policy.ModeDefault, "ls $x", policy.AskUser, confirmation.RunUnconfined},
		{policy.ModeDefault, "make", policy.Allow, confirmation.RunUnconfined},
		{policy.ModeDefault, "npm test", policy.Allow, confirmation.RunConfined},
		{policy.ModeDefault, "make && npm test", policy.Allow, confirmation.RunConfined},
		{policy.ModeAutoEdit, "gcc x.c", policy.AskUser, confirmation.RunUnconfined},
		{policy.ModeAutoEdit, "make > log", policy.Allow, confirmation.RunUnconfined},
		{policy.ModeYolo, "gcc x.c", policy.Allow, confirmation.RunConfined},
		{policy.ModeYolo, "make", policy.Allow, confirmation.RunUnconfined},
		{policy.ModePlan, "gcc x.c", policy.AskUser, ""},
	} {
		t.Run(string(tt.mode)+" "+tt.line, func(t *testing.T) {
			d := engine(t, user, project).Decide(in(t, tt.mode, tt.line))
			require.Equal(t, tt.want, d.Decision, d.Reason)
			require.Equal(t, tt.run, d.Run)
			require.Equal(t, tt.mode == policy.ModePlan, d.Previews)
		})
	}

	// A rule with run = "confined" covers nothing where nothing is confined.
	confined := placed(policy.TierUser, confirmation.RunConfined, "make")
	require.Equal(t, policy.AskUser, engine(t, confined).Decide(command(t, "make", policy.ModeDefault)).Decision)
	require.Equal(t, policy.Allow, engine(t, confined).Decide(confinedBy(t, "landlock", "make")).Decision)
	require.Equal(t, policy.Allow, engine(t, project).Decide(command(t, "npm test", policy.ModeDefault)).Decision)

	// A condition on confinement holds for the commands that will run confined.
	only := onlyIf(true, policy.Allow, "run_shell_command")
	d := engine(t, only).Decide(in(t, policy.ModeDefault, "make"))
	require.Equal(t, policy.Allow, d.Decision, d.Reason)
	require.Equal(t, confirmation.RunConfined, d.Run)
	landlock := in(t, policy.ModeDefault, "make")
	landlock.Confinable, landlock.Sealed = "landlock", false
	require.Equal(t, policy.AskUser, engine(t, only).Decide(landlock).Decision)
}

// SB-05: a call that requests to leave the sandbox asks, unless a rule with
// run = "unconfined" allows it.
func TestUnconfined(t *testing.T) {
	requested := func(mode policy.ApprovalMode, line string) policy.Call {
		c := in(t, mode, line)
		params, err := json.Marshal(map[string]any{"command": line, "unconfined": true, "reason": "it needs the network"})
		require.NoError(t, err)
		c.Params = params
		return c
	}
	for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAuto, policy.ModeYolo} {
		d := engine(t).Decide(requested(mode, "make"))
		require.Equal(t, policy.AskUser, d.Decision, mode)
		require.Equal(t, confirmation.RunUnconfined, d.Run)
	}
	require.Equal(t, policy.AskUser, engine(t, placed(policy.TierUser, "", "make")).Decide(requested(policy.ModeAuto, "make")).Decision)
	require.Equal(t, policy.Allow, engine(t, placed(policy.TierUser, confirmation.RunUnconfined, "make")).Decide(requested(policy.ModeAuto, "cd src && make")).Decision)
	require.Equal(t, policy.AskUser, engine(t, placed(policy.TierUser, confirmation.RunUnconfined, "make")).Decide(requested(policy.ModeAuto, "make && ls")).Decision)
	require.Equal(t, policy.Deny, engine(t, shellRule(policy.Deny, 1, "make")).Decide(requested(policy.ModeAuto, "make")).Decision)
}

// SB-05: a lasting approval covers unconfined commands, and the question states that.
func TestNarrowPlaced(t *testing.T) {
	for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAuto} {
		e := engine(t)
		c := in(t, mode, "make all && git commit -m x > log")
		rules, err := e.Narrow(c, policy.ScopeSaved)
		require.NoError(t, err)
		require.NotEmpty(t, rules)
		for _, r := range rules {
			if r.Tools[0] == "run_shell_command" {
				require.Equal(t, confirmation.RunUnconfined, r.Run)
				require.Contains(t, r.Words(), "outside the sandbox")
			}
		}
		require.NoError(t, e.Add(rules...))
		d := e.Decide(c)
		require.Equal(t, policy.Allow, d.Decision, d.Reason)
		require.Equal(t, confirmation.RunUnconfined, d.Run)
	}
}

// SB-05: the rules and tiers in which the key run is valid.
func TestValidateRun(t *testing.T) {
	for name, r := range map[string]policy.Rule{
		"a value":      placed(policy.TierUser, "outside", "make"),
		"a project":    placed(policy.TierWorkspace, confirmation.RunUnconfined, "make"),
		"an extension": placed(policy.TierExtension, confirmation.RunUnconfined, "make"),
		"a denial":     {Tools: []string{"run_shell_command"}, Decision: policy.Deny, Run: confirmation.RunConfined, Tier: policy.TierUser},
		"another tool": {Tools: []string{"write_file"}, Decision: policy.Allow, Run: confirmation.RunConfined, Tier: policy.TierUser},
	} {
		require.Error(t, r.Validate(), name)
	}
	require.NoError(t, placed(policy.TierWorkspace, confirmation.RunConfined, "make").Validate())
	require.NoError(t, placed(policy.TierAdmin, confirmation.RunUnconfined, "make").Validate())
	session := placed(policy.TierWorkspace, confirmation.RunUnconfined, "make")
	session.Session = true
	require.NoError(t, session.Validate())
}

// SB-04: a workspace below /tmp is not part of the private /tmp of a confined command, so
// that writing there needs the same approval as in any other workspace.
func TestWorkspaceInTemporaryDirectory(t *testing.T) {
	for _, dir := range []string{"/home/u/project", "/tmp/project", "/var/tmp/a/b"} {
		for line, want := range map[string]policy.Verdict{
			"echo x > a": policy.AskUser, "echo x > " + dir + "/a": policy.AskUser, "echo x > ./sub/../a": policy.AskUser,
			"echo x > /tmp/other": policy.Allow, "echo x > /tmp/other > a": policy.AskUser, "cat < a > a": policy.AskUser, "echo x >> /var/tmp/other": policy.Allow,
		} {
			c := in(t, policy.ModeDefault, line)
			c.Dir, c.Roots = dir, []string{dir}
			e := table(t)
			e.Prepare(&c)
			places{}.look(e, &c)
			d := e.Decide(c)
			require.Equal(t, want, d.Decision, "%s in %s: %s", line, dir, d.Reason)
		}
	}
}

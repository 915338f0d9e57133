package policy_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/policy"
)

// command returns a shell call in /w/src, a directory of the workspace /w.
func command(t testing.TB, line string, mode policy.ApprovalMode) policy.Call {
	t.Helper()
	c, ok := policy.WellKnown("run_shell_command")
	require.True(t, ok)
	params, err := json.Marshal(map[string]string{"command": line})
	require.NoError(t, err)
	c.Params, c.Mode, c.Dir, c.Roots = params, mode, "/w/src", []string{"/w"}
	return c
}

// shellRule returns a rule of the user about command prefixes.
func shellRule(verdict policy.Verdict, priority int, prefixes ...string) policy.Rule {
	return policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: prefixes, Decision: verdict, Priority: priority, Tier: policy.TierUser, Source: "p.toml"}
}

// everyMode lists the modes in the order of the tables below.
var everyMode = []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo, policy.ModePlan}

// AR-26: how the parts of a line decide about the whole. Complaints 20744: the
// null device and descriptors require no approval; 26539: neither does a
// redirection in yolo; 6389, 10070, 6436: a substitution is evaluated by its
// commands.
func TestShellLines(t *testing.T) {
	const allow, ask, deny = policy.Allow, policy.AskUser, policy.Deny
	rules := []policy.Rule{
		shellRule(allow, 100, "ls", "git status", "git log", "go test", "./gradlew build", "timeout 60 make", "find . -empty -delete", "sed -i", "grep", "sort"),
		shellRule(allow, 100, "echo"),
		shellRule(allow, 300, "find . -delete"),
		shellRule(deny, 200, "rm -rf", "git push", "curl"),
		shellRule(ask, 200, "npm publish"),
	}
	rules[1].AllowRedirection = true
	e := engine(t, rules...)
	for line, want := range map[string][4]policy.Verdict{
		// default, autoEdit, yolo, plan
		"ls":                         {allow, allow, allow, ask},
		"ls -la /etc":                {allow, allow, allow, ask},
		"lsof":                       {ask, ask, allow, ask},
		"git status && ls | grep x":  {allow, allow, allow, ask},
		"git status; make":           {ask, ask, allow, ask},
		"git -C /x status":           {ask, ask, allow, ask},
		"git push":                   {deny, deny, deny, deny},
		"ls && git push":             {deny, deny, deny, deny},
		"git -C /x push origin":      {deny, deny, deny, deny},
		"git --no-pager push":        {deny, deny, deny, deny},
		"git stash push":             {ask, ask, allow, ask},
		"git log push":               {allow, allow, allow, ask},
		"git $x":                     {ask, ask, ask, ask},
		"git -C \"$d\" push":         {deny, deny, deny, deny},
		"git log \"$x\"":             {allow, allow, allow, ask},
		"rm -rf x":                   {deny, deny, deny, deny},
		"rm -fr x":                   {deny, deny, deny, deny},
		"rm x -r -f":                 {deny, deny, deny, deny},
		"rm --recursive -f x":        {deny, deny, deny, deny},
		"rm --rec --for x":           {deny, deny, deny, deny},
		"rm -Rf x":                   {deny, deny, deny, deny},
		"/bin/rm -rf x":              {deny, deny, deny, deny},
		"../rm -rf x":                {deny, deny, deny, deny},
		"rm -r x":                    {ask, ask, allow, ask},
		"rm -- -rf":                  {ask, ask, allow, ask},
		"rm \"$x\"":                  {ask, ask, ask, ask}, // it may be -rf
		"rm \"./$x\"":                {ask, ask, allow, ask},
		"npm publish":                {ask, ask, ask, ask},
		"npm --silent publish":       {ask, ask, ask, ask},
		"npm run publish":            {ask, ask, allow, ask},
		"foo rm -rf x":               {ask, ask, ask, ask}, // foo may run it
		"foo 'ls; rm -rf x'":         {ask, ask, ask, ask},
		"foo 'rm -rf x'":             {ask, ask, ask, ask},
		"grep rm -rf f":              {allow, allow, allow, ask},
		"/usr/bin/git status":        {allow, allow, allow, ask},
		"./git status":               {ask, ask, allow, ask},
		"/tmp/git status":            {ask, ask, allow, ask},
		"/tmp/git push":              {deny, deny, deny, deny},
		"../gradlew build":           {allow, allow, allow, ask}, // /w/gradlew, as in the rule
		"./gradlew build":            {ask, ask, allow, ask},     // /w/src/gradlew
		"/w/gradlew build":           {allow, allow, allow, ask},
		"cd .. && ./gradlew build":   {allow, allow, allow, ask},
		"cd ..; ./gradlew build":     {ask, ask, allow, ask}, // the directory may be unchanged
		"timeout 60 make":            {allow, allow, allow, ask},
		"timeout 30 make":            {ask, ask, allow, ask},
		"timeout 60 curl x":          {deny, deny, deny, deny},
		"timeout 5 ls":               {allow, allow, allow, ask},
		"find . -delete":             {allow, allow, allow, ask},
		"find . -empty -delete":      {ask, ask, ask, ask}, // the rule that denies rm -rf ranks higher, and may match
		"find . -name x -delete":     {ask, ask, ask, ask}, // like rm, with unknown options
		"cd .. && ls":                {allow, allow, allow, ask},
		"cd ../.. && ls":             {ask, ask, allow, ask},
		"cd /w/a && ls":              {allow, allow, allow, ask},
		"cd && ls":                   {ask, ask, allow, ask},
		"cd \"$x\" && ls":            {ask, ask, allow, ask},
		"export A=1; [ -f x ] && ls": {allow, allow, allow, ask},
		"# nothing":                  {allow, allow, allow, ask},
		"ls > out":                   {ask, allow, allow, ask},
		"ls > /dev/null 2>&1":        {allow, allow, allow, ask},
		"ls 2>/dev/null":             {allow, allow, allow, ask},
		"echo \"$(git log)\" `ls`":   {allow, allow, allow, ask},
		"echo $(make)":               {ask, ask, allow, ask},
		"echo $(git push)":           {deny, deny, deny, deny},
		"echo x > out":               {allow, allow, allow, ask},
		"echo x > ../out":            {allow, allow, allow, ask},
		"echo x > ../../out":         {ask, ask, allow, ask},
		"echo x > \"$f\"":            {ask, ask, allow, ask},
		"echo x > ~/out":             {ask, ask, allow, ask},
		"> out":                      {ask, allow, allow, ask},
		"{ ls; echo x; } > out":      {ask, allow, allow, ask},
		"sed -i s/a/b/ f":            {allow, allow, allow, ask},
		"sed -i s/a/b/ /etc/f":       {ask, ask, allow, ask},
		"sort -o out f":              {ask, allow, allow, ask},
		"ls (":                       {ask, ask, ask, ask},
		"":                           {ask, ask, ask, ask},
		"  ":                         {ask, ask, ask, ask},
		"$x":                         {ask, ask, ask, ask},
	} {
		for i, mode := range everyMode {
			d := e.Decide(command(t, line, mode))
			require.Equal(t, want[i], d.Decision, "%q in %s: %+v", line, mode, d)
			require.Equal(t, mode == policy.ModePlan && want[i] == ask, d.Previews, "%q in %s", line, mode)
			require.NotEmpty(t, d.Reason)
			require.NotEmpty(t, d.Source)
			require.NotEmpty(t, d.Parts)
		}
	}
}

// Rules about the whole tool, and unknown lines.
func TestShellWideRules(t *testing.T) {
	const allow, ask, deny = policy.Allow, policy.AskUser, policy.Deny
	wide := func(v policy.Verdict, tool string, redirections bool) policy.Rule {
		return policy.Rule{Tools: []string{tool}, Decision: v, Tier: policy.TierUser, Priority: 100, AllowRedirection: redirections}
	}
	guard := shellRule(deny, 200, "rm")
	regex := policy.Rule{Tools: []string{"ShellTool"}, Decision: deny, CommandRegex: `rm\b`, Tier: policy.TierUser, Priority: 200}
	tests := []struct {
		rules []policy.Rule
		line  string
		want  policy.Verdict
	}{
		{[]policy.Rule{wide(allow, "run_shell_command", false)}, "make && ls", allow},
		{[]policy.Rule{wide(allow, "ShellTool", false)}, "make && ls", allow},
		{[]policy.Rule{wide(allow, "*", false)}, "$x", allow},
		{[]policy.Rule{wide(allow, "*", false)}, "ls (", allow},
		{[]policy.Rule{wide(allow, "*", false)}, "ls > out", allow}, // * is about write_file too
		{[]policy.Rule{wide(allow, "*", false)}, "ls > /out", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", false)}, "ls > out", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true)}, "ls > out", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", true)}, "ls > /out; > /out", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", true)}, "ls > $x", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", true), guard}, "$x", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true), guard}, "ls (", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true), guard}, "sh", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true), guard}, "ls", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", true), regex}, "$x", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true), regex}, "ls; rm x", deny},
		{[]policy.Rule{wide(allow, "run_shell_command", true), regex}, "r\\m x", deny},
		{[]policy.Rule{wide(allow, "run_shell_command", true), regex}, "rmdir x", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", true), regex}, "ls \"$x\"", allow},
		{[]policy.Rule{wide(deny, "run_shell_command", true)}, "cd .", deny},
		{[]policy.Rule{wide(deny, "run_shell_command", true)}, "> out", deny},
		{[]policy.Rule{wide(deny, "run_shell_command", true)}, "ls (", deny},
		{[]policy.Rule{wide(deny, "*", true)}, "# x", deny},
		{[]policy.Rule{wide(ask, "run_shell_command", true)}, "cd .", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true), {Tools: []string{"write_file"}, Decision: deny, Priority: 1, Tier: policy.TierUser, ArgsPattern: `\.env`}}, "ls > .env", deny},
		{[]policy.Rule{wide(allow, "run_shell_command", true), {Tools: []string{"write_file"}, Decision: deny, Priority: 1, Tier: policy.TierUser, ArgsPattern: `\.env`}}, "ls > /x/.env", deny},
		{[]policy.Rule{wide(allow, "run_shell_command", true), {Tools: []string{"write_file"}, Decision: ask, Priority: 200, Tier: policy.TierUser, ArgsPattern: `\.env`}}, "ls > .env", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", true), {Tools: []string{"write_file"}, Decision: ask, Priority: 200, Tier: policy.TierUser, ArgsPattern: `\.env`}}, "ls > $x", ask},
		{[]policy.Rule{wide(allow, "run_shell_command", false), {Tools: []string{"write_file"}, Decision: allow, Tier: policy.TierUser}}, "ls > out", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", false), {Tools: []string{"write_file"}, Decision: allow, Tier: policy.TierUser, ArgsPattern: `\x00"file_path":"/w/src/out"\x00`}}, "ls > out", allow},
		{[]policy.Rule{wide(allow, "run_shell_command", false), {Tools: []string{"write_file"}, Decision: allow, Tier: policy.TierUser, ArgsPattern: `\x00"file_path":"/w/src/out"\x00`}}, "ls > other", ask},
	}
	for _, tt := range tests {
		d := engine(t, tt.rules...).Decide(command(t, tt.line, policy.ModeDefault))
		require.Equal(t, tt.want, d.Decision, "%q with %v: %+v", tt.line, tt.rules, d)
	}
}

// A commandRegex is searched from the start of each part and anchored there, even
// if it has alternatives; an argsPattern is searched in each part.
func TestShellPatterns(t *testing.T) {
	rule := func(v policy.Verdict, regex, args string) policy.Rule {
		return policy.Rule{Tools: []string{"run_shell_command"}, Decision: v, CommandRegex: regex, ArgsPattern: args, Tier: policy.TierUser}
	}
	for _, tt := range []struct {
		rule policy.Rule
		line string
		want policy.Verdict
	}{
		{rule(policy.Allow, "git (status|log)", ""), "git log -3", policy.Allow},
		{rule(policy.Allow, "git (status|log)", ""), "git  status", policy.Allow}, // as read by bash
		{rule(policy.Allow, "git status|ls", ""), "make ls", policy.AskUser},
		{rule(policy.Allow, "ls|git status", ""), "make 'git status'", policy.AskUser},
		{rule(policy.Allow, "git", ""), "git log; make", policy.AskUser},
		{rule(policy.Allow, "git status$", ""), "git status", policy.Allow},
		{rule(policy.Allow, "git status$", ""), "git status -s", policy.AskUser},
		{rule(policy.Allow, ".*", ""), "$x", policy.AskUser},
		{rule(policy.Allow, "", `"command":"git log`), "git log | git log -3", policy.Allow},
		{rule(policy.Allow, "", `"command":"git log`), "git log | make", policy.AskUser},
		{rule(policy.Allow, "", `"description":"`), "make", policy.AskUser},
		{rule(policy.Allow, "", `x00"command":"ls"\x00`), "ls", policy.AskUser},
		{rule(policy.Allow, "", `\x00"command":"ls"\x00`), "ls", policy.Allow},
		{rule(policy.Allow, "", `\x00"command":"ls"\x00`), "ls -l", policy.AskUser},
		{rule(policy.Deny, "make x", ""), "ls; make x", policy.Deny},
		{rule(policy.Deny, ".*x", ""), "ls; make x", policy.Deny},
		{rule(policy.Deny, "", "secret"), "ls; cat secret", policy.Deny},
		{rule(policy.Deny, "", `sec\\"ret`), `ls; cat sec'"'ret`, policy.Deny},
	} {
		d := engine(t, tt.rule).Decide(command(t, tt.line, policy.ModeDefault))
		require.Equal(t, tt.want, d.Decision, "%q with %s: %+v", tt.line, tt.rule, d)
	}
}

// In plan mode a line runs only if a rule that names the mode allows it.
func TestShellInPlan(t *testing.T) {
	r := shellRule(policy.Allow, 100, "git status")
	r.Modes = []policy.ApprovalMode{policy.ModePlan}
	e := engine(t, r)
	for line, want := range map[string]policy.Verdict{
		"git status": policy.Allow, "cd . && git status": policy.Allow, "time git status": policy.Allow,
		"cd .": policy.AskUser, "git status && ls": policy.AskUser, "git status > f": policy.AskUser,
	} {
		d := e.Decide(command(t, line, policy.ModePlan))
		require.Equal(t, want, d.Decision, line)
		require.Equal(t, want == policy.AskUser, d.Previews)
	}
}

// In a directory that is recorded as untrusted git requires at least approval:
// files there may make it run something.
func TestShellUntrusted(t *testing.T) {
	e := engine(t, shellRule(policy.Allow, 100, "git", "ls"), shellRule(policy.Deny, 200, "git push"))
	for line, want := range map[string]policy.Verdict{"git status": policy.AskUser, "timeout 5 /usr/bin/git log": policy.AskUser, "ls": policy.Allow, "git push": policy.Deny} {
		c := command(t, line, policy.ModeYolo)
		c.Untrusted = true
		require.Equal(t, want, e.Decide(c).Decision, line)
	}
}

// Complaint 19799: the explanation names the part, the rule with its position,
// and a change that would alter the verdict.
func TestShellExplains(t *testing.T) {
	r := shellRule(policy.Deny, 200, "git push")
	r.Name, r.Line = "no pushes", 12
	e := engine(t, r, shellRule(policy.Allow, 100, "ls"))
	d := e.Decide(command(t, "ls && git push", policy.ModeDefault))
	require.Equal(t, policy.Deny, d.Decision)
	require.Equal(t, "no pushes", d.Rule)
	require.Equal(t, "user", d.Tier)
	require.Equal(t, "p.toml", d.Source)
	require.Equal(t, 12, d.Line)
	require.Contains(t, d.Reason, `"git push"`)
	require.Contains(t, d.Reason, "p.toml:12")
	require.Equal(t, []confirmation.Part{
		{Text: "ls", Decision: policy.Allow, Rule: "allow run_shell_command(ls)", Tier: "user", Source: "p.toml",
			Reason: `The rule "allow run_shell_command(ls)" (user, p.toml) allows commands that begin with "ls".`},
		{Text: "git push", Decision: policy.Deny, Rule: "no pushes", Tier: "user", Source: "p.toml", Line: 12,
			Reason: `The rule "no pushes" (user, p.toml:12) denies commands that begin with "git push".`},
	}, d.Parts)

	d = e.Decide(command(t, "ls; go test ./...", policy.ModeDefault))
	require.Equal(t, `A rule that allows the prefix "go test" would allow this part.`, d.Remedy)
	d = e.Decide(command(t, "go test ./...; ls; go test .", policy.ModeDefault))
	require.Equal(t, `A rule that allows the prefix "go test" would allow this part.`, d.Remedy, "one rule is enough")
	d = e.Decide(command(t, "a && b && c && d", policy.ModeDefault))
	require.Equal(t, `A rule that allows the prefix "a" would allow this part. Each part that no rule allows needs one.`, d.Remedy)
	require.Contains(t, e.Decide(command(t, "ls (", policy.ModeDefault)).Reason, "parse")
	require.Contains(t, e.Decide(command(t, "$x", policy.ModeYolo)).Reason, "no pushes")
}

// A Line of another command is ignored, and deciding changes nothing.
func TestDecideIsPure(t *testing.T) {
	e := engine(t, shellRule(policy.Allow, 100, "ls"), shellRule(policy.Deny, 100, "rm"))
	c := command(t, "ls", policy.ModeDefault)
	e.Prepare(&c)
	require.Equal(t, "ls", c.Line.Source)
	line := c.Line
	e.Prepare(&c)
	require.Same(t, line, c.Line)
	swapped := command(t, "rm x", policy.ModeDefault)
	swapped.Line = line
	require.Equal(t, policy.Deny, e.Decide(swapped).Decision)
	e.Prepare(&swapped)
	require.Equal(t, "rm x", swapped.Line.Source)

	other := policy.Call{Tool: "read_file", Params: []byte(`{"file_path":"a"}`)}
	e.Prepare(&other)
	require.Nil(t, other.Line)

	c = command(t, "ls; $x > ../o | timeout 5 rm -r", policy.ModeDefault)
	c.Aliases, c.GovernedBy = append(make([]string, 0, 9), "a"), append(make([]string, 0, 9), "g")
	c.RealPaths = map[string]string{"/w/o": "/etc/o"}
	e.Prepare(&c)
	before, err := json.Marshal(c)
	require.NoError(t, err)
	first := e.Decide(c)
	require.Equal(t, first, e.Decide(c))
	require.Equal(t, []string{"/w/src", "/w/o", "/w"}, e.Paths(c))
	after, err := json.Marshal(c)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.Equal(t, "", c.Aliases[:2][1])
	require.Equal(t, "", c.GovernedBy[:2][1])
}

// The targets of links count for redirections and changes of directory, and the
// engine lists the paths whose targets it requires.
func TestShellFollowsLinks(t *testing.T) {
	e := engine(t, shellRule(policy.Allow, 100, "ls"))
	for _, tt := range []struct {
		line string
		path string
	}{{"ls > out", "/w/src/out"}, {"cd lib && ls", "/w/src/lib"}, {"ls > lib/out", "/w/src/lib/out"}} {
		c := command(t, tt.line, policy.ModeAutoEdit)
		require.Contains(t, e.Paths(c), tt.path)
		require.Contains(t, e.Paths(c), "/w")
		require.Equal(t, policy.Allow, e.Decide(c).Decision)
		c.RealPaths = map[string]string{tt.path: "/outside"}
		require.Equal(t, policy.AskUser, e.Decide(c).Decision, tt.line)
		c.RealPaths = map[string]string{tt.path: "/real/x", "/w": "/real"} // the workspace itself is a link
		require.Equal(t, policy.Allow, e.Decide(c).Decision, tt.line)
	}
	require.Empty(t, e.Paths(command(t, "ls | ls 2>/dev/null", policy.ModeDefault)))
	require.Empty(t, e.Paths(policy.Call{Tool: "write_file", Params: []byte(`{"file_path":"/w/a"}`), Dir: "/w"}))
	secret := policy.Rule{Tools: []string{"write_file"}, Decision: policy.Deny, ArgsPattern: "x", Tier: policy.TierUser}
	require.Equal(t, []string{"/w/a", "/w"}, engine(t, secret).Paths(policy.Call{Tool: "write_file", Params: []byte(`{"file_path":"a"}`), Dir: "/w"}))
}

// A tool governed by the shell tool's rules requires approval if one of them
// might apply.
func TestShellGoverns(t *testing.T) {
	c := policy.Call{Tool: "remote_shell", GovernedBy: []string{"run_shell_command"}, Kind: "read", Params: []byte(`{"line":"rm"}`)}
	require.Equal(t, policy.AskUser, engine(t, shellRule(policy.Deny, 100, "rm")).Decide(c).Decision)
	require.Equal(t, policy.Allow, engine(t, shellRule(policy.Allow, 100, "rm")).Decide(c).Decision, "by its kind")
}

// FuzzDecide: a line that is denied by itself is never allowed within another,
// and deciding is repeatable.
func FuzzDecide(f *testing.F) {
	fuzzseed.Add(f)
	f.Add("rm x", "ls", uint8(0))
	f.Add("git -C a push", "for f in *; do ls \"$f\"; done", uint8(1))
	f.Add("/bin/rm -fr x", "echo 'a", uint8(2))
	f.Add("curl x", "cat <<E\nE", uint8(3))
	f.Add("> /w/.env", "ls #", uint8(4))
	deny := []policy.Rule{
		shellRule(policy.Deny, 900, "rm", "git push", "curl"),
		{Tools: []string{"write_file"}, Decision: policy.Deny, ArgsPattern: `\.env`, Priority: 900, Tier: policy.TierUser},
	}
	all := policy.Rule{Tools: []string{"*"}, Decision: policy.Allow, Priority: 800, Tier: policy.TierUser, AllowRedirection: true}
	e := engine(f, slices.Concat(deny, []policy.Rule{all})...)
	joins := []func(a, b string) string{
		func(a, b string) string { return b + "\n" + a },
		func(a, b string) string { return a + "\n" + b },
		func(a, b string) string { return "{ " + a + "\n}; " + b },
		func(a, b string) string { return "echo \"$(" + a + "\n)\"\n" + b },
		func(a, b string) string { return "if true; then " + a + "\nfi\n" + b },
		func(a, b string) string { return b + " | " + a },
	}
	f.Fuzz(func(t *testing.T, denied, other string, how uint8) {
		for _, mode := range everyMode {
			if e.Decide(command(t, denied, mode)).Decision != policy.Deny || e.Decide(command(t, other, mode)).Decision != policy.Allow {
				continue
			}
			if after := []string{"\n", "", "", "", "", " | "}[int(how)%len(joins)]; after != "" && !closed(other, after) {
				return // it leaves something open, such as a comment, that includes the denied line
			}
			line := joins[int(how)%len(joins)](denied, other)
			d := e.Decide(command(t, line, mode))
			require.NotEqual(t, policy.Allow, d.Decision, "%q in %s", line, mode)
			require.Equal(t, d, e.Decide(command(t, line, mode)))
		}
	})
}

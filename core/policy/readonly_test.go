package policy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
)

// table returns an engine with the read-only table.
func table(t testing.TB, rules ...policy.Rule) *policy.Engine {
	t.Helper()
	e, err := policy.NewEngine(policy.Options{Rules: rules, ReadOnlyTable: true})
	require.NoError(t, err)
	return e
}

// places maps names and paths to where they lead, instead of the machine's.
type places map[string]string

// look fills in the facts that the table requires: programs are the system's, and
// paths are no links, unless places says otherwise.
func (p places) look(e *policy.Engine, c *policy.Call) {
	c.Found = map[string]string{}
	for _, name := range e.Lookups(*c) {
		switch to, given := p[name]; {
		case given:
			c.Found[name] = to
		case filepath.IsAbs(name):
			c.Found[name] = name
		default:
			c.Found[name] = "/usr/bin/" + name
		}
	}
}

// judgeFree returns the decision about a line in the mode default.
func judgeFree(t testing.TB, e *policy.Engine, confinable, line string, p places) policy.Decision {
	t.Helper()
	c := command(t, line, policy.ModeDefault)
	c.Confinable, c.Sealed = confinable, confinable == policy.Namespaces
	e.Prepare(&c)
	p.look(e, &c)
	return e.Decide(c)
}

// PB-01, PB-06: of lines that only read, at most 5 percent ask where commands can
// be confined.
func TestReadOnlyLines(t *testing.T) {
	lines := listed(t, "readonly.txt")
	require.GreaterOrEqual(t, len(lines), 300)
	e := table(t)
	for _, confinable := range []string{policy.Namespaces, "landlock", ""} {
		asked := 0
		for _, line := range lines {
			d := judgeFree(t, e, confinable, line, nil)
			if d.Decision == policy.Allow {
				if confinable != "" {
					require.Contains(t, []confirmation.Run{confirmation.RunRead, confirmation.RunUnconfined}, d.Run, line)
				}
				continue
			}
			asked++
			if confinable == policy.Namespaces {
				t.Logf("asks: %s\n\t%s", line, strings.TrimSpace(d.Reason))
			}
		}
		t.Logf("%q: %d of %d lines ask", confinable, asked, len(lines))
		if confinable == policy.Namespaces {
			require.LessOrEqual(t, asked*100, 5*len(lines))
		}
	}
}

// PB-01: programs are the system's, and paths lead to the workspace.
func TestReadOnlyPlaces(t *testing.T) {
	for name, tt := range map[string]struct {
		line  string
		to    places
		want  policy.Verdict
		about string // in the reason
	}{
		"a program":                    {"ls a", nil, policy.Allow, "ls invocation"},
		"by its path":                  {"/usr/bin/ls a", nil, policy.Allow, ""},
		"a shim":                       {"rg x", places{"rg": "/home/u/.asdf/shims/rg"}, policy.AskUser, "/home/u/.asdf/shims/rg"},
		"a program of the workspace":   {"ls", places{"ls": "/w/bin/ls"}, policy.AskUser, "/w/bin/ls"},
		"a function":                   {"ls", places{"ls": ""}, policy.AskUser, "the program ls"},
		"a link to another program":    {"/usr/bin/ls", places{"/usr/bin/ls": "/w/x"}, policy.AskUser, "/w/x"},
		"a builtin":                    {"echo a", places{"echo": "/w/echo"}, policy.Allow, ""},
		"a builtin's name, by another": {"timeout 1 echo a", places{"echo": "/w/echo"}, policy.AskUser, "/w/echo"},
		"a wrapper of the workspace":   {"timeout 1 cat a", places{"timeout": "/w/timeout"}, policy.AskUser, "/w/timeout"},
		"a link out":                   {"cat a", places{"/w/src/a": "/home/u/.ssh/id_rsa"}, policy.AskUser, "/home/u/.ssh/id_rsa"},
		"a directory that leads out":   {"cat d/../a", places{"/w/src/d": "/home/u/x", "/w/src/a": "/w/src/a"}, policy.Allow, ""},
		"a link for the input":         {"wc < a", places{"/w/src/a": "/etc/shadow"}, policy.AskUser, "/etc/shadow"},
		"a link within":                {"cat a", places{"/w/src/a": "/w/b"}, policy.Allow, ""},
		"in another directory":         {"cd d && cat a", places{"/w/src/d/a": "/root/a"}, policy.AskUser, "/root/a"},
		"a system file":                {"cat /etc/os-release", places{"/etc/os-release": "/usr/lib/os-release"}, policy.Allow, ""},
		"a system file by a link":      {"cat /etc/hosts", places{"/etc/hosts": "/root/hosts"}, policy.AskUser, "/root/hosts"},
		"a pattern's directory":        {"cat d/*.go", places{"/w/src/d": "/root"}, policy.AskUser, "/root"},
		"the private directory":        {"cat /tmp/x", nil, policy.Allow, ""},
		"another one":                  {"cat /var/log/x", nil, policy.AskUser, "/var/log/x"},
	} {
		t.Run(name, func(t *testing.T) {
			d := judgeFree(t, table(t), policy.Namespaces, tt.line, tt.to)
			require.Equal(t, tt.want, d.Decision, d.Reason)
			require.Contains(t, d.Reason, tt.about)
		})
	}
	d := judgeFree(t, table(t), "", "cat d/../a", places{"/w/src/d": "/home/u/x"})
	require.Equal(t, policy.AskUser, d.Decision, "without mounts, .. of a link is elsewhere")
	c := command(t, "ls", policy.ModeDefault)
	require.Equal(t, policy.AskUser, table(t).Decide(c).Decision, "nothing is known about the machine")
	require.Empty(t, engine(t).Lookups(c), "the table is off")
	c.Readable = []string{"/home/u/go/pkg/mod"}
	e := table(t)
	line := command(t, "cat /home/u/go/pkg/mod/x/a.go", policy.ModeDefault)
	line.Readable = c.Readable
	places(nil).look(e, &line)
	require.Equal(t, policy.Allow, e.Decide(line).Decision)
}

// PB-01: written rules take precedence, and files withheld from read_file stay so.
func TestReadOnlyRules(t *testing.T) {
	about := func(tool string, verdict policy.Verdict, args string) policy.Rule {
		return policy.Rule{Tools: []string{tool}, ArgsPattern: args, Decision: verdict, Priority: 5, Tier: policy.TierUser, Source: "p.toml"}
	}
	secret := about("read_file", policy.Deny, `secret`)
	for name, tt := range map[string]struct {
		rule     policy.Rule
		line, at string
		want     policy.Verdict
	}{
		"denied":                      {shellRule(policy.Deny, 1, "cat"), "cat a", policy.Namespaces, policy.Deny},
		"asked about":                 {shellRule(policy.AskUser, 1, "git log"), "git log", policy.Namespaces, policy.AskUser},
		"asked about, for all tools":  {about("*", policy.AskUser, ""), "cat a", policy.Namespaces, policy.AskUser},
		"another one":                 {shellRule(policy.Deny, 1, "rm"), "cat a", "", policy.Allow},
		"withheld":                    {secret, "cat secret.txt", policy.Namespaces, policy.AskUser},
		"withheld, as the input":      {secret, "cat < secret.txt", policy.Namespaces, policy.AskUser},
		"withheld, a version in git":  {secret, "git show HEAD:./secret.txt", policy.Namespaces, policy.AskUser},
		"withheld, from the top":      {secret, "git show HEAD -- ':(top)secret.txt'", policy.Namespaces, policy.AskUser},
		"withheld, its history":       {secret, "git log -p -- secret.txt", policy.Namespaces, policy.AskUser},
		"another version in git":      {secret, "git show HEAD:a.txt", policy.Namespaces, policy.Allow},
		"withheld by a question":      {about("read_file", policy.AskUser, "secret"), "head secret.txt", "", policy.AskUser},
		"not withheld":                {secret, "cat a.txt", "", policy.Allow},
		"in the tree, masked":         {secret, "grep -r x .", policy.Namespaces, policy.Allow},
		"in the tree":                 {secret, "grep -r x .", "landlock", policy.AskUser},
		"in the tree, by its default": {secret, "rg x", "landlock", policy.AskUser},
		"in the tree, unconfined":     {secret, "grep -r x .", "", policy.AskUser},
		"by a pattern, masked":        {secret, "cat *", policy.Namespaces, policy.Allow},
		"by a pattern":                {secret, "cat *", "landlock", policy.AskUser},
		"no tool for files":           {about("read_file", policy.Deny, ""), "cat a", policy.Namespaces, policy.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			d := judgeFree(t, table(t, tt.rule), tt.at, tt.line, nil)
			require.Equal(t, tt.want, d.Decision, d.Reason)
		})
	}
	e := table(t, secret)
	require.Equal(t, policy.AskUser, judgeFree(t, e, policy.Namespaces, "cat a", places{"/w/src/a": "/w/secret"}).Decision, "by a link")
}

// PB-01: the modes, untrusted directories, and how the lines run.
func TestReadOnlyModes(t *testing.T) {
	e := table(t)
	for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeAuto, policy.ModeYolo, policy.ModePlan} {
		for line, want := range map[string]confirmation.Run{"rg x": confirmation.RunRead, "git log | head": confirmation.RunRead, "for f in *; do wc -l $f; done": confirmation.RunRead} {
			c := command(t, line, mode)
			c.Confinable, c.Sealed = policy.Namespaces, true
			places(nil).look(e, &c)
			switch d := e.Decide(c); mode {
			case policy.ModePlan:
				require.Equal(t, policy.AskUser, d.Decision)
				require.True(t, d.Previews)
			case policy.ModeYolo:
				require.Equal(t, policy.Allow, d.Decision)
			default:
				require.Equal(t, policy.Allow, d.Decision, d.Reason)
				require.Equal(t, want, d.Run, line)
				require.Equal(t, "read-only commands", d.Rule)
			}
		}
	}
	c := command(t, "git log", policy.ModeDefault)
	c.Confinable, c.Sealed, c.Untrusted = policy.Namespaces, true, true
	places(nil).look(e, &c)
	require.Equal(t, policy.AskUser, e.Decide(c).Decision)
	c.Untrusted, c.Repositories = false, map[string]policy.Repository{"/w/src": {Objection: "The session made it."}}
	require.Equal(t, policy.AskUser, e.Decide(c).Decision)

	c = command(t, "echo a; ls > out", policy.ModeAutoEdit)
	c.Confinable, c.Sealed = policy.Namespaces, true
	places(nil).look(e, &c)
	d := e.Decide(c)
	require.Equal(t, policy.Allow, d.Decision, d.Reason)
	require.NotEqual(t, confirmation.RunRead, d.Run, "it writes a file")
}

// PB-01: beside a command that runs unconfined, only literal ones are free.
func TestReadOnlyBesides(t *testing.T) {
	e := table(t, shellRule(policy.Allow, 1, "make"))
	for line, want := range map[string]confirmation.Run{"make && ls": confirmation.RunUnconfined, "make && ls *": confirmation.RunConfined, "make && rg x": confirmation.RunConfined} {
		d := judgeFree(t, e, policy.Namespaces, line, nil)
		require.Equal(t, policy.Allow, d.Decision, d.Reason)
		require.Equal(t, want, d.Run, line)
	}
}

// PB-01: the reason names the option or the operand that is not known to be
// harmless.
func TestReadOnlyReasons(t *testing.T) {
	for line, want := range map[string]string{
		"rg --pre=sh x":        "the option --pre of rg is not known to be harmless",
		"sort -ro out in":      "the option -o of sort",
		"uniq a b":             "the operand b of uniq",
		"find . -delete":       "the option -delete of find",
		"git branch x":         "the operand x of git branch",
		"cat /root/x":          "/root/x is outside of the workspace",
		"sed 's/a/b/w x' f":    "script of sed",
		"jq env a":             "may use env",
		"echo $SECRET_KEY":     "the variable SECRET_KEY of the environment",
		"date -s 1":            "the option -s of date",
		"timeout 1":            "timeout without a command",
		"ps -o environ":        "list of columns of ps",
		"git log --format=%GG": "format of git log",
	} {
		d := judgeFree(t, table(t), policy.Namespaces, line, nil)
		require.Equal(t, policy.AskUser, d.Decision)
		found := d.Reason
		for _, p := range d.Parts {
			found += " " + p.Reason
		}
		require.Contains(t, found, want, line)
	}
	require.Contains(t, judgeFree(t, table(t), "", "git log", nil).Reason, "requires a sandbox")
	require.Contains(t, judgeFree(t, table(t), "", "cat *", nil).Reason, "requires a sandbox")
	require.Contains(t, judgeFree(t, table(t), "", "grep -rn x .", nil).Reason, "lists grep with -rn")
}

// PB-01, PB-06: the corpora: the table frees no line that runs a guarded program,
// and lifts no denial.
func TestReadOnlyCorpora(t *testing.T) {
	alone := table(t)
	ruled := table(t, corpusRules(t)...)
	for _, entry := range corpus(t) {
		for _, confinable := range []string{policy.Namespaces, "landlock", ""} {
			if entry.Runs != "" && judgeFree(t, alone, confinable, entry.Line, nil).Decision == policy.Allow {
				t.Errorf("%q is free with confinement %q and runs %s", entry.Line, confinable, entry.Runs)
			}
			if entry.Default == policy.Deny && judgeFree(t, ruled, confinable, entry.Line, nil).Decision != policy.Deny {
				t.Errorf("%q is not denied with confinement %q", entry.Line, confinable)
			}
		}
	}
}

func BenchmarkDecideReadOnly(b *testing.B) {
	e := table(b)
	for name, line := range map[string]string{
		"one": "rg -n 'func New' core", "pipe": "git log --oneline -20 | head -5", "long": "cd core && grep -rn TODO --include='*.go' . | sort | uniq -c | sort -rn | head -20",
	} {
		for _, confinable := range []string{policy.Namespaces, ""} {
			b.Run(name+"/"+confinable, func(b *testing.B) {
				c := command(b, line, policy.ModeDefault)
				c.Confinable, c.Sealed = confinable, confinable != ""
				places(nil).look(e, &c)
				c.Line = nil
				b.ReportAllocs()
				for b.Loop() {
					e.Decide(c)
				}
			})
		}
	}
}

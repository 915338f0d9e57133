package policy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
					require.Contains(t, []policy.Run{policy.RunRead, policy.RunUnconfined}, d.Run, line)
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

package sessionhooks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// matchable contains everything that matchers of hooks can match in a session.
type matchable struct {
	tools   []hookrun.Subject // the registered ones, and all built-in ones
	servers []string          // that may add tools
	later   bool              // tools may be added
}

// matchable returns everything that matchers can match at the moment.
func (c *Conversation) matchable() matchable {
	var m matchable
	for _, name := range policy.WellKnownNames() {
		m.tools = append(m.tools, subjectOf(tools.Spec{Name: name}))
	}
	for _, t := range c.of.Tools.All() {
		m.tools = append(m.tools, c.subject(t.Spec()))
	}
	m.servers = c.set.o.ServerNames()
	m.later = len(m.servers) > 0 || c.of.Later
	return m
}

// unmatched returns the reason why a hook never runs, as a sentence; "": it may
// run.
func (m matchable) unmatched(h *hooks.Hook) string {
	switch {
	case hookrun.Matches(h, m.tools...):
		return ""
	case !hookrun.OfTools(h.Event):
		return fmt.Sprintf("The matcher %.120q of %s matches no subject of the event.", h.Matcher, h.Event)
	case m.mayCome(h.Matcher):
		return ""
	}
	return fmt.Sprintf("The matcher %.120q of %s matches no tool.", h.Matcher, h.Event)
}

// mayCome reports whether a matcher may match a tool that does not exist yet: one
// of a configured server by its full name, or any tool that a server or a
// discovery may add. Names with capital letters are assumed to be those of other
// programs' own tools.
func (m matchable) mayCome(matcher string) bool {
	folded := strings.ToLower(matcher)
	_, server, full := strings.Cut(folded, "mcp_")
	if !full {
		return m.later && matcher == folded
	}
	server = strings.TrimLeft(server, "_")
	anyServer := server != "" && strings.ContainsAny(server[:1], ".[(\\")
	return slices.ContainsFunc(m.servers, func(name string) bool {
		return anyServer || strings.Contains(folded, strings.ToLower(name))
	})
}

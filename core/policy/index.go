package policy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// snapshot contains the rules at one point in time. It is immutable except for
// its cache.
type snapshot struct {
	*index
	checkers []*checker
	plansDir string
	readOnly bool // see [Options].ReadOnlyTable
	protects protects
	found    memory
}

// index contains rules in effective order, and by the tools they apply to. It is
// immutable.
type index struct {
	rules   []*rule
	exact   map[string][]*rule // by a name that a rule contains
	wild    []*rule            // those with a wildcard or a server
	servers []string           // known ones, the longest name first
	given   []string           // those given in [Options]
}

// indexAlone and indexWithTable are the indexes of the default tier alone, which most engines in a
// process with many have.
var (
	indexAlone     = sync.OnceValue(func() *index { return newIndex(defaults(false), nil) })
	indexWithTable = sync.OnceValue(func() *index { return newIndex(defaults(true), nil) })
)

// indexOf indexes rules, in the given order, together with those of the default
// tier.
func indexOf(rules []*rule, servers []string, readOnly bool) *index {
	if len(rules) == len(defaults(readOnly)) && len(servers) == 0 {
		if readOnly {
			return indexWithTable()
		}
		return indexAlone()
	}
	return newIndex(rules, servers)
}

// newIndex orders and indexes rules.
func newIndex(rules []*rule, servers []string) *index {
	s := &index{rules: make([]*rule, len(rules)), exact: make(map[string][]*rule), given: servers}
	for i, r := range rules {
		s.rules[i] = &rule{}
		*s.rules[i] = *r
	}
	slices.SortStableFunc(s.rules, compare)
	known := slices.Clone(servers)
	for i, r := range s.rules {
		r.at = i
		if r.Server != "" && r.Server != "*" {
			known = append(known, r.Server)
		}
		wild := false
		for _, tool := range r.Tools {
			if r.Server != "" || strings.Contains(tool, "*") {
				wild = true
			} else {
				s.exact[tool] = append(s.exact[tool], r)
			}
		}
		if wild {
			s.wild = append(s.wild, r)
		}
	}
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	s.servers = slices.DeleteFunc(slices.Compact(known), func(name string) bool { return name == "" })
	return s
}

// candidates are the rules and checkers that apply to a tool, in effective order.
// Those that only govern it tighten.
type candidates struct {
	rules     []*rule
	checkers  []*checker
	patterned bool        // a rule or checker has a pattern
	shell     *shellIndex // of the shell tool
	unnamed   bool        // see [Decision]
}

// maxFound is the maximum number of cached candidates of a snapshot.
const maxFound = 512

// memory caches candidates by the key of a call.
type memory struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]*candidates] // copied on write
}

// find returns the candidates for a call. The cost of a call depends on the
// number of rules for its tool; other rules are inspected once. args may be nil
// unless the tool is the one that runs subagents.
func (s *snapshot) find(c *Call, args *arguments) *candidates {
	agent := ""
	if c.Tool == agentTool && c.Server == "" {
		agent = args.text("agent_name")
	}
	var space [256]byte
	key := appendKey(space[:0], c, agent)
	if known := s.found.known.Load(); known != nil {
		if found, ok := (*known)[string(key)]; ok {
			return found
		}
	}
	found := s.collect(identify(*c, agent, s.servers, slices.Contains(s.given, c.Server)), isShell(c))
	s.found.mu.Lock()
	defer s.found.mu.Unlock()
	next := make(map[string]*candidates)
	if known := s.found.known.Load(); known != nil && len(*known) < maxFound {
		for k, v := range *known {
			next[k] = v
		}
	}
	next[string(key)] = found
	s.found.known.Store(&next)
	return found
}

// appendKey appends everything that candidates depend on, each value with its
// length before it.
func appendKey(b []byte, c *Call, agent string) []byte {
	add := func(s string) {
		b = strconv.AppendInt(b, int64(len(s)), 10)
		b = append(b, ':')
		b = append(b, s...)
	}
	add(c.Tool)
	add(c.Server)
	add(c.ServerTool)
	add(agent)
	for _, name := range c.Aliases {
		add(name)
	}
	b = append(b, '|')
	if governs(c, wellKnown[c.Tool]) {
		b = append(b, '+')
	}
	for _, name := range c.GovernedBy {
		add(name)
	}
	return b
}

// collect returns the candidates for an identity.
func (s *snapshot) collect(id identity, shell bool) *candidates {
	found := &candidates{unnamed: !id.mayAllow(id.names[0])}
	for _, name := range id.names {
		rules := s.exact[name]
		if len(rules) > 0 && !id.mayAllow(name) {
			rules = slices.DeleteFunc(slices.Clone(rules), func(r *rule) bool { return !r.tightens })
		}
		found.rules = append(found.rules, rules...)
	}
	for _, name := range id.governed {
		for _, r := range s.exact[name] {
			if r.tightens {
				found.rules = append(found.rules, r)
			}
		}
	}
	for _, r := range s.wild {
		if r.about(id) {
			found.rules = append(found.rules, r)
		}
	}
	slices.SortStableFunc(found.rules, func(a, b *rule) int { return a.at - b.at })
	found.rules = slices.Compact(found.rules)
	for _, ch := range s.checkers {
		if ch.when.about(id) {
			found.checkers = append(found.checkers, ch)
		}
	}
	found.patterned = slices.ContainsFunc(found.rules, func(r *rule) bool { return r.args != nil || r.command != nil }) ||
		slices.ContainsFunc(found.checkers, func(ch *checker) bool { return ch.when.args != nil })
	if shell {
		found.shell = newShellIndex(found.rules)
	}
	return found
}

// about reports whether one of the rule's names covers a tool.
func (r *rule) about(id identity) bool {
	return slices.ContainsFunc(r.Tools, func(tool string) bool { return speaksOf(tool, r.Server, r.tightens, id) })
}

// isShell reports whether a call runs a command line.
func isShell(c *Call) bool {
	if c.Server != "" {
		return false
	}
	return c.Tool == shellTool || c.Tool == shellAlias ||
		slices.Contains(c.Aliases, shellTool) || slices.Contains(c.Aliases, shellAlias)
}

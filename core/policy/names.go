package policy

import (
	"slices"
	"strings"
)

// mcpPrefix is the prefix of the composed names of MCP tools: mcp_SERVER_TOOL.
const mcpPrefix = "mcp_"

// identity contains the names by which rules may refer to a call.
type identity struct {
	names    []string // the tool's own first, its aliases, and other names for it
	governed []string // names whose rules count only if they tighten
	server   string
	tool     string  // at the server
	rendered []split // other spellings of server and tool in names

	// splits are the ways to read an MCP tool's composed name if its server is
	// unknown, the longest server first.
	splits []split
	mcp    bool // an MCP tool, of a known server or not

	known []string // servers that the names of rules may contain; with the call's own
	whole bool     // there are no other servers
}

// split is a composed name read as server and tool.
type split struct{ server, tool string }

// identify computes a call's identity; agent is the agent that an invoke_agent
// calls, servers are the known ones, and whole states that the list with the
// call's own is complete.
func identify(c Call, agent string, servers []string, whole bool) identity {
	id := identity{server: c.Server, tool: c.ServerTool, governed: c.GovernedBy}
	id.names = append([]string{c.Tool}, c.Aliases...)
	if c.Server == "" {
		if name, ok := (*wellKnownAliases())[c.Tool]; ok {
			id.names = append(id.names, name)
		}
		k := wellKnown[c.Tool]
		id.names = append(id.names, k.aliases...)
		if governs(&c, k) {
			id.governed = append(id.governed[:len(id.governed):len(id.governed)], k.governedBy...)
		}
		if agent != "" {
			id.names = append(id.names, agent)
		}
		if body, ok := strings.CutPrefix(c.Tool, mcpPrefix); ok {
			id.mcp = true
			id.splits = splitName(body, servers)
		}
		return id
	}
	id.mcp, id.whole = true, whole
	id.known = append(servers[:len(servers):len(servers)], c.Server)
	if id.tool == "" {
		id.tool = strings.TrimPrefix(c.Tool, mcpPrefix+c.Server+"_")
	}
	id.names = append(id.names, mcpPrefix+c.Server+"_"+id.tool)
	if server, tool := rendered(id.server), rendered(id.tool); server != id.server || tool != id.tool {
		id.rendered = []split{{server, tool}, {server, id.tool}, {id.server, tool}}
		id.governed = append(id.governed[:len(id.governed):len(id.governed)], mcpPrefix+server+"_"+tool)
	}
	return id
}

// rendered returns a server's or tool's name as it appears in the names of tools:
// with "_" in place of characters that model providers do not accept.
func rendered(name string) string {
	b := []byte(name)
	for i, c := range b {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-') {
			b[i] = '_'
		}
	}
	return string(b)
}

// splitName returns the ways in which body can be SERVER_TOOL of a known server,
// the longest server first.
func splitName(body string, servers []string) []split {
	var splits []split
	for _, server := range servers { // longest first
		rest, ok := strings.CutPrefix(body, server)
		if ok && len(rest) > 1 && rest[0] == '_' {
			splits = append(splits, split{server, rest[1:]})
		}
	}
	return splits
}

// speaksOf reports whether a rule with a name or wildcard, and a server or none,
// covers the call. A rule that tightens also covers the names that govern the
// tool, every way to read a composed name, and the server in any case. In a rule
// that allows, a composed name belongs to one server.
func speaksOf(pattern, server string, tightens bool, id identity) bool {
	if server != "" {
		return id.atServer(tightens, func(s, tool string) bool {
			if server != "*" && server != s && !(tightens && strings.EqualFold(server, s)) {
				return false
			}
			return glob(pattern, tool) || glob(pattern, mcpPrefix+s+"_"+tool)
		}, func() bool {
			return server == "*" && glob(mcpPrefix+"*_"+pattern, id.names[0])
		})
	}
	if !tightens && !id.mayAllow(pattern) {
		return false
	}
	if strings.HasPrefix(pattern, mcpPrefix) && strings.Contains(pattern, "*") && id.mcp {
		return id.atServer(tightens, func(s, tool string) bool {
			return globMCP(pattern, s, tool)
		}, func() bool {
			return glob(pattern, id.names[0])
		})
	}
	for _, name := range id.names {
		if glob(pattern, name) {
			return true
		}
	}
	if tightens {
		for _, name := range id.governed {
			if glob(pattern, name) {
				return true
			}
		}
	}
	return false
}

// atServer calls matches with the call's server and tool. For a rule that
// tightens it is also called with the spellings in the tool's name: a user denies
// the displayed name, while an allowance of it might belong to another server. If
// the server has to be read from the name, a rule that allows is matched with the
// longest server only, and if no server is known, composed decides.
func (id identity) atServer(tightens bool, matches func(server, tool string) bool, composed func() bool) bool {
	switch {
	case id.server != "":
		return matches(id.server, id.tool) ||
			tightens && slices.ContainsFunc(id.rendered, func(s split) bool { return matches(s.server, s.tool) })
	case !id.mcp:
		return false
	case len(id.splits) == 0:
		return composed()
	}
	for _, s := range id.splits {
		if matches(s.server, s.tool) {
			return true
		}
		if !tightens {
			return false
		}
	}
	return false
}

// globMCP matches a wildcard that begins with mcp_ against a server and its tool:
// mcp_* any of them, mcp_*_NAME that tool of any server, and mcp_SERVER_* the
// tools of that server only, even if the name of another server has the same
// prefix.
func globMCP(pattern, server, tool string) bool {
	body := strings.TrimPrefix(pattern, mcpPrefix)
	if body == "*" {
		return true
	}
	if name, ok := strings.CutPrefix(body, "*_"); ok {
		return glob(name, tool)
	}
	if name, ok := strings.CutPrefix(body, server+"_"); ok {
		return glob(name, tool)
	}
	if before, _, _ := strings.Cut(body, "*"); strings.HasSuffix(before, "_") {
		return false // it names another server
	}
	return glob(body, server+"_"+tool)
}

// mayAllow reports whether an allowance with a name or wildcard can cover the
// call. A composed name, mcp_SERVER_…, belongs to one server: to the longest
// matching one, by its original name rather than by the spelling in names of
// tools. Because servers choose the names of their tools, none can use an
// allowance of another. If unknown servers may exist, the name must be
// unambiguous for any of their names.
func (id identity) mayAllow(pattern string) bool {
	body, composed := strings.CutPrefix(pattern, mcpPrefix)
	before, _, wild := strings.Cut(body, "*")
	if !composed || id.server == "" || wild && before == "" {
		return true
	}
	longest, owner := 0, "" // of the servers with which the name begins; owner in its original spelling
	alike := 0              // number of servers of that length with this spelling in names
	open := false           // the name may end before its server's does
	for i, s := range id.known {
		spelt := rendered(s)
		switch {
		case strings.HasPrefix(before, spelt+"_") || strings.HasPrefix(before, s+"_"):
			if len(s) > longest {
				longest, owner, alike = len(s), "", 0
			}
			if len(s) < longest || slices.Contains(id.known[:i], s) {
				continue
			}
			if alike++; strings.HasPrefix(before, s+"_") {
				owner = s
			}
		case wild && !strings.HasSuffix(before, "_") && (strings.HasPrefix(spelt, before) || strings.HasPrefix(s, before)):
			open = true
		}
	}
	exact := pattern == id.names[0]
	cut := mcpPrefix+rendered(id.server)+"_"+rendered(id.tool) != id.names[0] // it ends with a hash, which makes it unique
	switch {
	case !id.whole && !oneReading(before, wild, open):
		return false
	case longest == 0:
		return open || exact && cut
	case open:
		return false
	case owner == id.server:
		return true
	}
	// By the spelling of the server in tools' names, a name allows the tool of
	// exactly that name.
	return exact && len(id.server) == longest && strings.HasPrefix(before, rendered(id.server)+"_") &&
		(cut || owner == "" && alike == 1)
}

// oneReading reports whether a composed name is unambiguous, whatever servers
// exist: mcp_a_b as b of a, mcp_a_* as all tools of a, and mcp_a*, which is open,
// as those of all servers with that prefix.
func oneReading(before string, wild, open bool) bool {
	at := strings.IndexByte(before, '_')
	switch {
	case !wild:
		return at >= 0 && strings.Count(before, "_") == 1
	case open:
		return at < 0
	}
	return at == len(before)-1
}

// glob reports whether name matches pattern; * in it stands for any sequence of
// characters.
func glob(pattern, name string) bool {
	before, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, before)
	if !ok {
		return false
	}
	for {
		middle, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, middle)
		}
		i := strings.Index(name, middle)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(middle):], next
	}
}

package rulefile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/editdistance"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/policy"
)

// quote returns s quoted for a message, shortened if it is long.
func quote(s string) string { return escape.Quote(clip(s)) }

// clip returns s, shortened if it is long.
func clip(s string) string { return escape.Clip(s, 80) }

// nearestKey returns the word that s probably misspells, or "". Case, spaces, hyphens
// and underscores are ignored.
func nearestKey(s string, words []string) string {
	best, distance := "", 0
	s = folded(s)
	for _, word := range words {
		d := editdistance.Of([]rune(s), []rune(folded(word)))
		if d > min(3, len(word)/2) {
			continue
		}
		if best == "" || d < distance {
			best, distance = word, d
		}
	}
	return best
}

func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, clip(s))
}

// names finds misspelled tool names.
type names struct {
	known []string          // sorted
	cache map[string]string // cached results by name
}

func newNames(known []string) *names {
	if known == nil {
		known = policy.WellKnownNames()
	}
	known = slices.Clone(known)
	slices.Sort(known)
	return &names{known: slices.Compact(known), cache: make(map[string]string)}
}

// mcpPart matches the server or tool part of a composed name.
var mcpPart = lazyregexp.New(`(?i)^[a-z0-9_.:*-]+$`)

// doubt describes the problem with a tool's name, or returns "". Most unknown names are
// valid, because servers and embedders add tools.
func (n *names) doubt(name string) string {
	text, ok := n.cache[name]
	if !ok {
		text = n.judge(name)
		n.cache[name] = text
	}
	return text
}

func (n *names) judge(name string) string {
	if _, found := slices.BinarySearch(n.known, name); found {
		return ""
	}
	if strings.Contains(name, "__") {
		return fmt.Sprintf("%s has two underscores in a row, which is how tools of MCP servers were once named. Write mcp_SERVER_TOOL, or mcpName and toolName.", quote(name))
	}
	if rest, composed := strings.CutPrefix(name, "mcp_"); composed {
		server, tool, _ := strings.Cut(rest, "_")
		if rest != "*" && (server == "" || strings.Trim(tool, "_") == "" || !mcpPart().MatchString(rest)) {
			return fmt.Sprintf("%s names no tool of an MCP server. Write mcp_SERVER_TOOL, with letters, digits and _ . : -, or mcpName and toolName.", quote(name))
		}
		return ""
	}
	if strings.Contains(name, "*") || strings.HasPrefix(name, "discovered_tool_") {
		return ""
	}
	if similar := n.similar(name); len(similar) > 0 {
		return fmt.Sprintf("There is no tool %s. Did you mean %s?", quote(name), strings.Join(similar, " or "))
	}
	return ""
}

// similar returns up to three known names within an edit distance of three, nearest
// first. For short names the limit is lower.
func (n *names) similar(name string) []string {
	const most = 3
	if len(name) > 64 {
		return nil
	}
	var out []string
	distance := make(map[string]int)
	for _, known := range n.known {
		if d := len(name) - len(known); d > most || d < -most {
			continue
		}
		d := editdistance.Of([]rune(strings.ToLower(name)), []rune(strings.ToLower(known)))
		if d <= min(most, max(1, len(name)/2)) {
			out = append(out, known)
			distance[known] = d
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return distance[a] - distance[b] })
	return out[:min(len(out), most)]
}

package tools

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/editdistance"
)

// MaxNameLength is the maximum length of a tool name, in bytes, that every model accepts.
const MaxNameLength = 63

// CheckName returns an error if a tool name is invalid: it must have 1 to [MaxNameLength] characters of A–Z, a–z, 0–9
// and "_.:-".
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a tool name is required")
	case len(name) > MaxNameLength:
		return fmt.Errorf("the tool name %s has %d characters, more than %d", quoteClipped(name), len(name), MaxNameLength)
	}
	for i := range len(name) {
		if !legalNameByte(name[i]) {
			return fmt.Errorf("the tool name %s has a character other than A–Z, a–z, 0–9, \"_\", \".\", \":\", \"-\"", quoteClipped(name))
		}
	}
	return nil
}

func legalNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_.:-", c) >= 0
}

// QualifiedName returns the name of an MCP server's tool for models: mcp_<server>_<tool>, with "_" for each byte other
// than A–Z, a–z, 0–9, "_" and "-", which some model providers reject. A name longer than [MaxNameLength] is cut and ends
// in a hash of server and tool. Two tools may have the same qualified name; see [Registry.Register].
func QualifiedName(server, tool string) string {
	name := qualified(server, tool)
	if len(name) > MaxNameLength {
		return hashedName(server, tool, shortHash)
	}
	return name
}

// qualified is QualifiedName without the length limit.
func qualified(server, tool string) string {
	name := []byte(mcpPrefix + server + "_" + strings.TrimPrefix(tool, mcpPrefix+server+"_"))
	for i, c := range name {
		if !legalNameByte(c) || c == '.' || c == ':' {
			name[i] = '_'
		}
	}
	return string(name)
}

// mcpPrefix is the prefix of names of MCP servers' tools.
const mcpPrefix = "mcp_"

// Minimum and maximum number of hexadecimal digits of a hash at the end of a name.
const (
	shortHash = 8
	longHash  = 32
)

// hashedName returns the qualified name with digits of a hash of server and tool at its end, shortened as needed.
func hashedName(server, tool string, digits int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(server)) + ":" + server + tool))
	name := qualified(server, tool)
	return name[:min(len(name), MaxNameLength-1-digits)] + "_" + hex.EncodeToString(sum[:])[:digits]
}

// nearest returns up to limit candidates that are similar to word, most similar first.
func nearest(word string, candidates []string, limit int) []string {
	type scored struct {
		name     string
		distance int
	}
	folded := strings.ToLower(escape.ClipBytes(word, 2*MaxNameLength))
	var near []scored
	for _, c := range candidates {
		other := strings.ToLower(c)
		d := editdistance.Of([]byte(folded), []byte(other))
		contained := len(folded) > 2 && len(other) > 2 && (strings.Contains(other, folded) || strings.Contains(folded, other))
		if contained || d <= max(2, len(other)/3) {
			near = append(near, scored{c, d})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := make([]string, 0, limit)
	for _, s := range near[:min(limit, len(near))] {
		names = append(names, s.name)
	}
	return names
}

// orList formats quoted names as "a", "b" or "c".
func orList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// MaxListing is the maximum size of [Catalog.Listing] in bytes.
const MaxListing = 8 << 10

const (
	maxLine   = 80 // runes of the description of one tool
	maxServer = 60 // runes of a server's name
)

// server is a server and its tools, sorted by name.
type server struct {
	name    string
	entries []*entry
}

// listing formats the names of tools: with a line for each if that fits, else names only, else as many as fit,
// distributed evenly over the servers.
func listing(entries []*entry) string {
	servers := byServer(entries)
	const room = MaxListing - len("<untrusted_context>\n\n</untrusted_context>")
	for _, render := range []func([]server) string{withLines, namesAlone} {
		// The marking may escape parts of the text.
		if text := tools.Untrusted(render(servers)); len(text) <= MaxListing {
			return text
		}
	}
	return tools.Untrusted(someNames(servers, room))
}

// byServer groups tools by server, discovered ones first, and sorts them by name.
func byServer(entries []*entry) []server {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.name, b.name))
	})
	var servers []server
	for _, e := range sorted {
		if n := len(servers); n == 0 || servers[n-1].entries[0].server != e.server {
			servers = append(servers, server{name: label(e.server)})
		}
		last := &servers[len(servers)-1]
		last.entries = append(last.entries, e)
	}
	return servers
}

// label returns the name of a server in the listing, with its brackets replaced so that it cannot contain a tag.
func label(name string) string {
	if name == "" {
		return "discovered in the project"
	}
	name = strings.NewReplacer("<", "‹", ">", "›").Replace(escape.Plain(name, maxRead))
	return escape.Clip(name, maxServer)
}

func (s server) head() string {
	return fmt.Sprintf("%s (%d):", s.name, len(s.entries))
}

func withLines(servers []server) string {
	var b strings.Builder
	for _, s := range servers {
		b.WriteString(s.head() + "\n")
		for _, e := range s.entries {
			b.WriteString("- " + e.name)
			if line := e.line(); line != "" {
				b.WriteString(": " + line)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func namesAlone(servers []server) string {
	var b strings.Builder
	for _, s := range servers {
		b.WriteString(s.head())
		for i, e := range s.entries {
			b.WriteString(separator(i) + e.name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func separator(i int) string {
	if i == 0 {
		return " "
	}
	return ", "
}

// someNames writes a line for each server, as far as there is room, and then adds one name to each in turn. It counts
// the omitted names.
func someNames(servers []server, room int) string {
	const count = len(", and 100000 more not shown\n") // after the names of a server
	const rest = len("100000 more servers with 1000000 tools, not shown\n")
	room -= rest
	shown := 0
	for shown < len(servers) {
		if need := len(servers[shown].head()) + count; need <= room {
			room -= need
			shown++
			continue
		}
		break
	}
	named := make([]int, shown)
	for again := true; again; {
		again = false
		for i, s := range servers[:shown] {
			if named[i] == len(s.entries) {
				continue
			}
			if need := len(s.entries[named[i]].name) + len(", "); need <= room {
				room -= need
				named[i]++
				again = true
			}
		}
	}
	var b strings.Builder
	for i, s := range servers[:shown] {
		b.WriteString(s.head())
		for j, e := range s.entries[:named[i]] {
			b.WriteString(separator(j) + e.name)
		}
		if left := len(s.entries) - named[i]; left > 0 {
			fmt.Fprintf(&b, "%sand %d more not shown", separator(named[i]), left)
		}
		b.WriteByte('\n')
	}
	if left := servers[shown:]; len(left) > 0 {
		n := 0
		for _, s := range left {
			n += len(s.entries)
		}
		fmt.Fprintf(&b, "%d more servers with %d tools, not shown\n", len(left), n)
	}
	return b.String()
}

// maxRead is the number of characters of a description that are considered for its line.
const maxRead = 2000

// line returns the line for a tool: the first sentence of its description, or its title.
func (e *entry) line() string {
	text := escape.Plain(e.description, maxRead)
	if text == "" {
		text = escape.Plain(e.title, maxRead)
	}
	return escape.Clip(escape.FirstSentence(text), maxLine)
}

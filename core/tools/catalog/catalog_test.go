package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools/catalog"
)

func bytesOf(list ...foreign) int {
	sum := 0
	for _, f := range list {
		sum += f.spec.Declaration().Bytes()
	}
	return sum
}

func names(list []foreign) []string {
	var all []string
	for _, f := range list {
		all = append(all, f.spec.Name)
	}
	return all
}

// Declarations are deferred beyond the threshold, all or none, and only if the model can find them.
func TestThreshold(t *testing.T) {
	list := shop()
	size := bytesOf(list...)
	search := []string{catalog.ToolSearch}
	for name, tt := range map[string]struct {
		above int
		want  []string
	}{
		"below": {size + 1, search}, "equal": {size, search}, "above": {size - 1, names(list)}, "always": {1, names(list)},
		"never": {-1, search}, "the default": {0, search},
	} {
		w := newWorld(t, tt.above, list...)
		require.Equal(t, tt.want, w.Hidden(), name)
		if len(tt.want) == 1 {
			require.Zero(t, w.Deferred(), name)
			require.Empty(t, w.Listing(), name)
		} else {
			require.Equal(t, len(list), w.Deferred(), name)
		}
	}
	many := newWorld(t, 0, of("s", "long", strings.Repeat("x", catalog.DefaultAbove)))
	require.Equal(t, []string{"long"}, many.Hidden())
	alone := newWorld(t, 1, list...)
	alone.all = alone.all[1:]
	require.Equal(t, search, alone.Hidden(), "the model could not find them")
	require.Equal(t, search, newWorld(t, 1).Hidden())
}

// A tool that was found, loaded or called stays declared until a new conversation starts.
func TestLoaded(t *testing.T) {
	w := newWorld(t, 1, shop()...)
	before := w.Listing()
	w.call(t, `{"query":"merge"}`)
	w.Called("createTicket")
	w.Called("read_file")
	w.Load("lint_project", "comes_later")
	require.Equal(t, []string{"create_issue", "list_issues", "mcp_jira_list_issues", "weather"}, w.Hidden())
	require.Equal(t, 4, w.Deferred())
	require.Equal(t, before, w.Listing(), "the prompt stays as it is")

	later := append(shop(), of("s", "comes_later", "X."), of("s", "read_file", "X."))
	w.set(later...)
	require.Equal(t, []string{"create_issue", "list_issues", "mcp_jira_list_issues", "weather", "read_file"}, w.Hidden())
	w.Reset()
	require.Equal(t, names(later), w.Hidden())
}

// Added and removed tools are taken into account.
func TestChanges(t *testing.T) {
	list := shop()
	w := newWorld(t, bytesOf(list[:3]...), list...)
	w.Load("merge")
	require.Equal(t, 6, w.Deferred())
	require.Contains(t, w.Listing(), "weather")
	w.set(list[:4]...)
	require.Equal(t, names(list[:3]), w.Hidden())
	require.NotContains(t, w.Listing(), "weather")
	w.set(list[:3]...)
	require.Equal(t, []string{catalog.ToolSearch}, w.Hidden(), "few enough")
	w.set(list...)
	require.Equal(t, 6, w.Deferred(), "loaded tools stay loaded")
}

// A conversation that is restricted to some tools sees and counts only these.
func TestRestrict(t *testing.T) {
	list := shop()
	w := newWorld(t, bytesOf(list[1:3]...), list...)
	require.Equal(t, 7, w.Deferred())
	w.Restrict(map[string]bool{catalog.ToolSearch: true, "create_issue": true, "list_issues": true})
	require.Zero(t, w.Deferred())
	w.Restrict(map[string]bool{catalog.ToolSearch: true, "create_issue": true, "list_issues": true, "merge": true})
	require.Equal(t, []string{"create_issue", "list_issues", "merge"}, w.Hidden())
	require.Equal(t, []string{"create_issue", "list_issues"}, found(w.report(t, `{"query":"issue ticket"}`)))
	w.Restrict(map[string]bool{"create_issue": true, "list_issues": true, "merge": true})
	require.Zero(t, w.Deferred(), "it has no tool_search")
}

// Few tools are listed with a line each, by server and name.
func TestListing(t *testing.T) {
	list := append(shop(), of("<b>\n"+strings.Repeat("s", 100), "zz", "One line.\nTwo</untrusted_context>"), of("github", "a_long", strings.Repeat("äb ", 100)))
	w := newWorld(t, 1, list...)
	require.Equal(t, `<untrusted_context>
discovered in the project (1):
- lint_project: Checks the style of the project.
‹b› `+strings.Repeat("s", 55)+`… (1):
- zz: One line.
github (4):
- a_long: `+strings.Repeat("äb ", 26)+`ä…
- create_issue: Creates an issue.
- list_issues: Lists issues.
- merge: Merges a pull request.
jira (2):
- createTicket: Opens a ticket.
- mcp_jira_list_issues: Lists tickets.
日本 (1):
- weather: 天気予報を調べる。
</untrusted_context>`, w.Listing())
	w.set(list[3], list[2], list[1], list[0], list[8], list[7], list[6], list[5], list[4])
	again := w.Listing()
	w.set(list...)
	require.Equal(t, again, w.Listing(), "the order of registration has no effect")
}

// Many tools are listed by name, even more of them in part, and a server with many tools leaves room for the others.
func TestLongListing(t *testing.T) {
	fill := func(server string, n int) []foreign {
		var list []foreign
		for i := range n {
			list = append(list, of(server, fmt.Sprintf("%s_does_thing_%d", server, i), strings.Repeat("Does it well. ", 30)))
		}
		return list
	}
	for _, tt := range []struct {
		n    int
		want []string
		not  []string
	}{
		{60, []string{"- big_does_thing_0: Does it well.", "- tiny_does_thing_1: Does"}, []string{"not shown"}},
		{300, []string{"big (300): big_does_thing_0, big_does_thing_1, ", "tiny (2): tiny_does_thing_0, tiny_does_thing_1\n"}, []string{"Does it", "not shown"}},
		{5000, []string{"big (5000): big_does_thing_0, big_does_thing_1, ", " more not shown\n", "tiny (2): tiny_does_thing_0, tiny_does_thing_1\n"}, []string{"Does it"}},
	} {
		w := newWorld(t, 1, append(fill("big", tt.n), fill("tiny", 2)...)...)
		text := w.Listing()
		require.LessOrEqual(t, len(text), catalog.MaxListing, tt.n)
		for _, s := range tt.want {
			require.Contains(t, text, s, tt.n)
		}
		for _, s := range tt.not {
			require.NotContains(t, text, s, tt.n)
		}
	}

	var servers []foreign
	for i := range 2000 {
		servers = append(servers, fill(fmt.Sprintf("server%04d", i), 2)...)
	}
	text := newWorld(t, 1, servers...).Listing()
	require.LessOrEqual(t, len(text), catalog.MaxListing)
	require.Greater(t, len(text), catalog.MaxListing/2)
	require.Regexp(t, `\nserver0000 \(2\): and 2 more not shown\n(.*\n)+[0-9]+ more servers with [0-9]+ tools, not shown\n`, text)
}

// BenchmarkHidden measures the cost for a request if 10,000 tools are deferred and nothing has changed.
func BenchmarkHidden(b *testing.B) {
	var list []foreign
	for i := range 10_000 {
		list = append(list, of("s", fmt.Sprintf("tool_%d", i), "Does it."))
	}
	w := newWorld(b, 1, list...)
	b.ReportAllocs()
	for b.Loop() {
		w.Hidden()
	}
}

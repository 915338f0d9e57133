package tools_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// offered returns tools of a server under their qualified names, as a client offers them.
func offered(server string, own ...string) []tools.DeclarativeTool {
	list := make([]tools.DeclarativeTool, len(own))
	for i, tool := range own {
		list[i] = specOnly{tools.Spec{
			Name: tools.QualifiedName(server, tool), Description: server + "/" + tool, Kind: tools.KindOther,
			Schema: []byte(`{"type":"object"}`), Origin: tools.Origin{Group: tools.GroupMCP, Server: server, Tool: tool},
		}}
	}
	return list
}

// whose returns the server and own name of each tool by name, as server/tool.
func whose(t testing.TB, r *tools.Registry) map[string]string {
	t.Helper()
	names := make(map[string]string)
	for _, tool := range r.All() {
		spec := tool.Spec()
		require.NoError(t, tools.CheckName(spec.Name))
		found, err := r.Lookup(spec.Name)
		require.NoError(t, err)
		require.Equal(t, spec.Description, found.Spec().Description)
		names[spec.Name] = spec.Description
	}
	require.Len(t, names, len(r.Names()), "names are unique")
	return names
}

// EX-16: the tools of a server are replaced and removed together, and no others.
func TestOffer(t *testing.T) {
	changes := 0
	r, _ := logged(tools.RegistryOptions{Changed: func() { changes++ }})
	require.NoError(t, r.Register(named(t, "read", "X.", builtIn)))
	require.NoError(t, r.Offer("a", offered("a", "x", "y")))
	require.NoError(t, r.Offer("b", offered("b", "x")))
	require.Equal(t, []string{"read", "mcp_a_x", "mcp_a_y", "mcp_b_x"}, r.Names())
	require.Len(t, r.Declarations(), 4)
	require.Equal(t, 3, changes)

	require.NoError(t, r.Offer("a", offered("a", "z", "y")))
	require.Equal(t, []string{"read", "mcp_a_z", "mcp_a_y", "mcp_b_x"}, r.Names())
	require.NoError(t, r.Offer("a", nil))
	require.Equal(t, []string{"read", "mcp_b_x"}, r.Names())
	require.Equal(t, 5, changes)
	require.NoError(t, r.Offer("a", nil))
	require.Equal(t, 5, changes, "no change")
	_, err := r.Lookup("mcp_a_y")
	require.Equal(t, fault.ToolNotRegistered, fault.CodeOf(err))

	bad := append(offered("a", "good"), nil, offered("b", "stolen")[0], named(t, "posing", "X.", builtIn), offered("a", "")[0])
	err = r.Offer("a", bad)
	require.ErrorContains(t, err, "it is nil")
	require.ErrorContains(t, err, `"mcp_b_stolen" is invalid: it is not of the MCP server "a"`)
	require.ErrorContains(t, err, `"posing"`)
	require.Equal(t, []string{"read", "mcp_a_good", "mcp_a_", "mcp_b_x"}, r.Names())
}

// Each change is reported once, and not under the lock of the registry.
func TestChanged(t *testing.T) {
	changes := 0
	var r *tools.Registry
	r, _ = logged(tools.RegistryOptions{
		Changed: func() { changes++; r.Names() },
		Discover: []func(context.Context) ([]tools.DeclarativeTool, error){
			func(context.Context) ([]tools.DeclarativeTool, error) {
				return []tools.DeclarativeTool{named(t, "d1", "X.", discovered), named(t, "d2", "X.", discovered)}, nil
			},
			func(context.Context) ([]tools.DeclarativeTool, error) { return nil, context.DeadlineExceeded },
		},
	})
	told := func(want int, what string) {
		t.Helper()
		require.Equal(t, want, changes, what)
		changes = 0
	}
	require.NoError(t, r.Register(named(t, "a", "X.", builtIn)))
	told(1, "registered")
	require.NoError(t, r.Register(named(t, "a", "Y.", builtIn)))
	told(1, "replaced")
	require.Error(t, r.Register(nil))
	told(0, "refused")
	require.NoError(t, r.Register(named(t, "a", "Z.", discovered)))
	told(0, "dropped")
	require.Error(t, r.Discover(t.Context()))
	told(1, "discovered")
	require.NoError(t, r.Offer("s", offered("s", "x", "y")))
	told(1, "offered")
	require.False(t, r.Unregister("nothing"))
	told(0, "not there")
	require.True(t, r.Unregister("a"))
	told(1, "unregistered")
	require.Equal(t, []string{"d1", "d2", "mcp_s_x", "mcp_s_y"}, r.Names())
	require.Error(t, r.Discover(t.Context()))
	told(1, "discovered again")
	require.Equal(t, []string{"d1", "d2", "mcp_s_x", "mcp_s_y"}, r.Names(), "offered tools stay")
}

// AR-08: if names become equal, exact names come first, then the order of server and own name. All tools stay, in any
// order of registration.
func TestClashes(t *testing.T) {
	long := strings.Repeat("x", 80)
	type offer struct {
		server string
		own    []string
	}
	for name, tt := range map[string]struct {
		offers []offer
		want   map[string]string // "#" stands for a hash
	}{
		"none":               {[]offer{{"a", []string{"x"}}, {"b", []string{"x"}}}, map[string]string{"mcp_a_x": "a/x", "mcp_b_x": "b/x"}},
		"replaced character": {[]offer{{"s", []string{"a b", "a_b"}}}, map[string]string{"mcp_s_a_b": "s/a_b", "mcp_s_a_b_#": "s/a b"}},
		"two servers":        {[]offer{{"my server", []string{"t"}}, {"my_server", []string{"t"}}}, map[string]string{"mcp_my_server_t": "my_server/t", "mcp_my_server_t_#": "my server/t"}},
		"neither is exact":   {[]offer{{"my.server", []string{"t"}}, {"my server", []string{"t"}}}, map[string]string{"mcp_my_server_t": "my server/t", "mcp_my_server_t_#": "my.server/t"}},
		"both are exact":     {[]offer{{"a_b", []string{"c"}}, {"a", []string{"b_c"}}}, map[string]string{"mcp_a_b_c": "a/b_c", "mcp_a_b_c_#": "a_b/c"}},
		"prefix there":       {[]offer{{"g", []string{"mcp_g_log", "log"}}}, map[string]string{"mcp_g_log": "g/log", "mcp_g_log_#": "g/mcp_g_log"}},
		"long":               {[]offer{{"s", []string{long + "1", long + "2"}}}, map[string]string{"mcp_s_" + long[:48] + "_#": "", "mcp_s_" + long[:48] + "_##": ""}},
		"no letters":         {[]offer{{"日本", []string{"x"}}, {"中国", []string{"x"}}}, map[string]string{"mcp________x": "中国/x", "mcp________x_#": "日本/x"}},
		"three": {[]offer{{"a b", []string{"c"}}, {"a", []string{"b c", "b.c"}}, {"a_b", []string{"c"}}},
			map[string]string{"mcp_a_b_c": "a_b/c", "mcp_a_b_c_#": "", "mcp_a_b_c_##": "", "mcp_a_b_c_###": ""}},
		"one name equals the hashed name of another": {[]offer{{"s", []string{"a_b", "a b", "a_b_f0000000"}}}, map[string]string{"mcp_s_a_b": "s/a_b", "mcp_s_a_b_#": "s/a b", "mcp_s_a_b_f0000000": "s/a_b_f0000000"}},
	} {
		t.Run(name, func(t *testing.T) {
			var first map[string]string
			for order := range 2 {
				r, log := logged(tools.RegistryOptions{})
				offers := slices.Clone(tt.offers)
				if order == 1 {
					slices.Reverse(offers)
				}
				for _, o := range offers {
					own := slices.Clone(o.own)
					if order == 1 {
						slices.Reverse(own)
					}
					require.NoError(t, r.Offer(o.server, offered(o.server, own...)))
				}
				got := whose(t, r)
				require.NotContains(t, log.String(), "dropped")
				require.Len(t, got, len(tt.want))
				for name, tool := range tt.want {
					if tool != "" && !strings.Contains(name, "#") {
						require.Equal(t, tool, got[name])
					}
				}
				if first == nil {
					first = got
				}
				require.Equal(t, first, got, "in any order")
			}
		})
	}
}

// AR-08: a name or alias of a built-in tool is not available to servers. Once the built-in tool is removed, the name
// goes to the tool that would have it.
func TestPlainNamesOfServers(t *testing.T) {
	r, log := logged(tools.RegistryOptions{})
	require.NoError(t, r.Register(named(t, "search", "m", server("my server"))))
	require.NoError(t, r.Register(named(t, "find", "m", server("my server"))))
	require.NoError(t, r.Register(named(t, "search", "b", builtIn, "find")))
	require.Equal(t, []string{"search", "mcp_my_server_search", "mcp_my_server_find"}, r.Names())
	require.Contains(t, log.String(), "a tool is renamed because its name is taken")
	tool, err := r.Lookup("mcp_my_server_find")
	require.NoError(t, err)
	require.Equal(t, tools.Origin{Group: tools.GroupMCP, Server: "my server", Tool: "find"}, tool.Spec().Origin)
	require.True(t, r.Unregister("search"))
	require.Equal(t, []string{"search", "find"}, r.Names())

	// A copy of the registry for another session keeps the names.
	require.NoError(t, r.Offer("a", offered("a", "b c", "b_c")))
	copied, _ := logged(tools.RegistryOptions{})
	for _, tool := range slices.Backward(r.All()) {
		require.NoError(t, copied.Register(tool))
	}
	require.Equal(t, whose(t, r), whose(t, copied))
	require.NoError(t, copied.Offer("a", nil))
	require.ElementsMatch(t, []string{"search", "find"}, copied.Names())
}

// Names depend on the current tools, not on previous ones.
func TestNamesHaveNoHistory(t *testing.T) {
	servers := []string{"a", "a b", "a_b", "a.b", "a_b_c", "b"}
	own := []string{"c", "b_c", "b c", "c_c", "c.c", "mcp_a_c", "c_c_c", strings.Repeat("l", 70), strings.Repeat("l", 71)}
	taken := []string{"mcp_a_b_c", "mcp_a_c", "mcp_a_b_c_c", "c", "mcp_b_c"}
	random := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		r, log := logged(tools.RegistryOptions{})
		have := make(map[string][]string)
		builtIns := make(map[string]bool)
		for range 60 {
			if name := taken[random.IntN(len(taken))]; random.IntN(4) == 0 {
				if builtIns[name] {
					require.True(t, r.Unregister(name))
					delete(builtIns, name)
				} else {
					require.NoError(t, r.Register(named(t, name, "built in "+name, builtIn)))
					builtIns[name] = true
				}
				continue
			}
			server := servers[random.IntN(len(servers))]
			random.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
			have[server] = slices.Clone(own[:random.IntN(len(own))])
			require.NoError(t, r.Offer(server, offered(server, have[server]...)))
		}
		fresh, _ := logged(tools.RegistryOptions{})
		total := len(builtIns)
		for _, server := range slices.Sorted(maps.Keys(have)) {
			for _, tool := range offered(server, have[server]...) {
				total++
				require.NoError(t, fresh.Register(tool))
			}
		}
		for name := range builtIns {
			require.NoError(t, fresh.Register(named(t, name, "built in "+name, builtIn)))
		}
		require.Equal(t, whose(t, fresh), whose(t, r))
		require.Len(t, r.Names(), total)
		require.NotContains(t, log.String(), "dropped")
	}
}

// A tool is found by its name at any time while servers connect and disconnect.
func TestOfferConcurrently(t *testing.T) {
	var changes atomic.Int64
	r := tools.NewRegistry(tools.RegistryOptions{Changed: func() { changes.Add(1) }})
	require.NoError(t, r.Offer("steady", offered("steady", "x")))
	var running sync.WaitGroup
	for i := range 4 {
		server := []string{"a b", "a_b", "a.b", "c"}[i]
		running.Go(func() {
			for range 50 {
				if err := r.Offer(server, offered(server, "x", "y z", "y_z")); err != nil {
					t.Error(err)
				}
				if err := r.Offer(server, nil); err != nil {
					t.Error(err)
				}
			}
			if err := r.Offer(server, offered(server, "x", "y z", "y_z")); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() {
			for range 200 {
				tool, err := r.Lookup("mcp_steady_x")
				if err != nil || tool.Spec().Origin.Server != "steady" {
					t.Errorf("%v, %v", tool, err)
				}
				if tool, err := r.Lookup("mcp_a_b_x"); err == nil && tool.Spec().Name != "mcp_a_b_x" {
					t.Error(tool.Spec().Name)
				}
				seen := make(map[string]bool)
				for _, d := range r.Declarations() {
					if seen[d.Name] {
						t.Errorf("%s is declared twice", d.Name)
					}
					seen[d.Name] = true
				}
			}
		})
	}
	running.Wait()
	require.Len(t, whose(t, r), 13)
	require.Equal(t, int64(1+4*101), changes.Load())
}

// Design §7: a registry of 10,000 tools. The benchmarks have the measured figures.
func TestOfferMany(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	begun := time.Now()
	for s := range 10 {
		own := make([]string, 1000)
		for i := range own {
			own[i] = fmt.Sprintf("tool %d", i) // spelled differently at the next server
		}
		require.NoError(t, r.Offer(fmt.Sprint("s", s), offered(fmt.Sprint("s", s), own...)))
	}
	require.Len(t, r.Declarations(), 10_000)
	same := make([]string, 10_000)
	for i := range same {
		b := []byte(strings.Repeat(" ", 14))
		for bit := range b {
			if i&(1<<bit) != 0 {
				b[bit] = '.'
			}
		}
		same[i] = string(b)
	}
	require.NoError(t, r.Offer("hostile", offered("hostile", same...)), "all names become equal")
	require.Len(t, r.Declarations(), 20_000)
	require.NoError(t, r.Offer("hostile", nil))
	require.Len(t, r.Declarations(), 10_000)
	require.Less(t, time.Since(begun), time.Minute)
}

func BenchmarkOffer1000(b *testing.B) {
	own := make([]string, 1000)
	for i := range own {
		own[i] = fmt.Sprint("tool_", i)
	}
	list := offered("s", own...)
	r := tools.NewRegistry(tools.RegistryOptions{})
	for b.Loop() {
		if err := r.Offer("s", list); err != nil {
			b.Fatal(err)
		}
		r.Declarations()
	}
}

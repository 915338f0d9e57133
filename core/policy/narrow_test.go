package policy_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// called returns a call of a known tool in the workspace /w.
func called(t testing.TB, tool, params string) policy.Call {
	t.Helper()
	c, ok := policy.WellKnown(tool)
	if !ok {
		c = policy.Call{Tool: tool, Kind: "other"}
	}
	c.Params, c.Dir, c.Roots = []byte(params), "/w", []string{"/w"}
	return c
}

// askAll asks about everything that ranks below approvals.
var askAll = policy.Rule{Tools: []string{"*"}, Decision: policy.AskUser, Priority: 900, Tier: policy.TierWorkspace}

// AR-20: an approval is remembered for the approved call: it is not asked about
// again (complaint 18020), and a different call is.
func TestNarrowTools(t *testing.T) {
	const session, saved, tool, server = policy.ScopeSession, policy.ScopeSaved, policy.ScopeTool, policy.ScopeServer
	at := func(c policy.Call, server, tool string) policy.Call {
		c.Server, c.ServerTool = server, tool
		return c
	}
	tests := map[string]struct {
		call    policy.Call
		scope   policy.Scope
		like    []policy.Call
		unlike  []policy.Call
		pattern string
	}{
		"a file": {called(t, "write_file", `{"file_path":"a.go","content":"x"}`), session,
			[]policy.Call{called(t, "write_file", `{"file_path":"/w/a.go","content":"y"}`), called(t, "write_file", `{"file_path":"./b/../a.go"}`)},
			[]policy.Call{called(t, "write_file", `{"file_path":"b.go"}`), called(t, "write_file", `{"file_path":"/w/a.go.bak"}`),
				called(t, "safe_patch", `{"file_path":"a.go"}`), called(t, "write_file", `{"file_path":"b","content":"\u0000\"file_path\":\"/w/a.go\"\u0000"}`)},
			`\x00"file_path":"/w/a\.go"\x00`},
		"a file, patched": {called(t, "safe_patch", `{"file_path":"a(b+)+.go"}`), saved,
			[]policy.Call{called(t, "safe_patch", `{"file_path":"/w/a(b+)+.go","unified_diff":"x"}`)},
			[]policy.Call{called(t, "safe_patch", `{"file_path":"/w/abb.go"}`), called(t, "edit", `{"file_path":"/w/a(b+)+.go"}`)}, ""},
		"a file, edited": {called(t, "edit", `{"file_path":"a","old_string":"x"}`), session,
			[]policy.Call{called(t, "edit", `{"file_path":"a","old_string":"y"}`)},
			[]policy.Call{called(t, "edit", `{"file_path":"b"}`), called(t, "safe_patch", `{"file_path":"a"}`)}, ""},
		"a file, read": {called(t, "read_file", `{"file_path":"a","limit":5}`), session,
			[]policy.Call{called(t, "read_file", `{"file_path":"a"}`)}, []policy.Call{called(t, "read_file", `{"file_path":"ab"}`)}, ""},
		"files": {called(t, "read_many_files", `{"paths":["a","b/**"]}`), session,
			[]policy.Call{called(t, "read_many_files", `{"paths":["a","b/**"],"exclude":["c"]}`)},
			[]policy.Call{called(t, "read_many_files", `{"paths":["a","b/**","c"]}`), called(t, "read_many_files", `{"paths":["b/**"]}`)}, ""},
		"a directory": {called(t, "list_directory", `{"dir_path":"src"}`), session,
			[]policy.Call{called(t, "list_directory", `{"dir_path":"/w/src/","ignore":["x"]}`)}, []policy.Call{called(t, "list_directory", `{"dir_path":"."}`)}, ""},
		"a glob": {called(t, "glob", `{"pattern":"*.go"}`), session,
			[]policy.Call{called(t, "glob", `{"pattern":"*.go","case_sensitive":true}`)}, []policy.Call{called(t, "glob", `{"pattern":"**"}`)}, ""},
		"a search in a directory": {called(t, "search_file_content", `{"pattern":"x[0-9]+","dir_path":"src"}`), session,
			[]policy.Call{called(t, "grep_search", `{"pattern":"x[0-9]+","dir_path":"/w/src"}`)},
			[]policy.Call{called(t, "grep_search", `{"pattern":"x[0-9]+"}`), called(t, "grep_search", `{"pattern":"x1","dir_path":"src"}`)}, ""},
		"an MCP tool": {at(called(t, "mcp_my_server_log", `{}`), "my_server", "log"), saved,
			[]policy.Call{at(called(t, "mcp_my_server_log", `{"x":1}`), "my_server", "log")},
			[]policy.Call{at(called(t, "mcp_my_server_logs", `{}`), "my_server", "logs"), at(called(t, "mcp_my_server_log", `{}`), "my", "server_log")}, ""},
		"an MCP tool, as tool": {at(called(t, "mcp_git_log", `{}`), "git", "log"), tool,
			[]policy.Call{at(called(t, "mcp_git_log", `{"x":1}`), "git", "log")}, []policy.Call{at(called(t, "mcp_git_add", `{}`), "git", "add")}, ""},
		"an MCP server": {at(called(t, "mcp_git_log", `{}`), "git", "log"), server,
			[]policy.Call{at(called(t, "mcp_git_add", `{}`), "git", "add")},
			[]policy.Call{at(called(t, "mcp_github_log", `{}`), "github", "log"), called(t, "glob", `{}`)}, ""},
		"files, without more": {called(t, "read_many_files", `{"exclude":["x"],"paths":["a"]}`), session,
			[]policy.Call{called(t, "read_many_files", `{"paths":["a"],"exclude":["x"]}`)},
			[]policy.Call{called(t, "read_many_files", `{"paths":["a"]}`), called(t, "read_many_files", `{"paths":["a"],"exclude":["x"],"include":["b"]}`),
				called(t, "read_many_files", `{"paths":["a"],"exclude":["x"],"zoo":1}`)}, ""},
		"a glob, in a directory": {called(t, "glob", `{"pattern":"*.go"}`), session, nil,
			[]policy.Call{called(t, "glob", `{"pattern":"*.go","dir_path":"src"}`), called(t, "glob", `{"pattern":"*.go","respect_git_ignore":false}`)}, ""},
		"a fetch": {called(t, "web_fetch", `{"url":"https://a.example/(x)*"}`), session,
			[]policy.Call{called(t, "web_fetch", `{"url":"https://a.example"}`), called(t, "web_fetch", `{"url":"https://a.example/y?\"z@b.example#c"}`),
				called(t, "web_fetch", `{"url":"https://a.example?q"}`), called(t, "web_fetch", `{"url":"https://a.example#q"}`)},
			[]policy.Call{called(t, "web_fetch", `{"url":"https://b.example"}`), called(t, "web_fetch", `{"url":"https://a.example/(x)*","x":1}`),
				called(t, "web_fetch", `{"url":"http://a.example"}`), called(t, "web_fetch", `{"url":"https://a.example:81/"}`),
				called(t, "web_fetch", `{"url":"https://a.example@b.example/"}`), called(t, "web_fetch", `{"url":"https://a.example.b.example/"}`),
				called(t, "web_fetch", `{"url":"https://aaexample/"}`), called(t, "web_fetch", `{"url":"https://x.a.example/"}`),
				called(t, "web_fetch", `{"url":"https://a.example\\@b.example/"}`), called(t, "web_fetch", `{"url":" https://a.example/"}`),
				called(t, "web_fetch", `{"url":"https://b.example","prompt":"\u0000\"url\":\"https://a.example/\"\u0000"}`),
				called(t, "web_fetch", `{"url":"https://a.example/","prompt":"https://b.example"}`),
				called(t, "web_fetch", `{"prompt":"https://a.example/"}`), called(t, "web_fetch", `{"url":["https://a.example/"]}`),
				called(t, "web_fetch", `{}`), called(t, "web_search", `{}`)}, ""},
		"a fetch, saved, of a port": {called(t, "web_fetch", `{"url":"http://a.example:8080/x"}`), saved,
			[]policy.Call{called(t, "web_fetch", `{"url":"http://a.example:8080"}`)},
			[]policy.Call{called(t, "web_fetch", `{"url":"http://a.example/"}`), called(t, "web_fetch", `{"url":"http://a.example:80801/"}`)}, ""},
		"a memory, as tool": {called(t, "save_memory", `{"fact":"x"}`), tool,
			[]policy.Call{called(t, "save_memory", `{"fact":"y"}`)}, []policy.Call{called(t, "write_file", `{"file_path":"a"}`)}, ""},
		"input of a process": {called(t, "write_background_input", `{"pid":1,"input":"y\n"}`), session, nil,
			[]policy.Call{called(t, "write_background_input", `{"pid":1,"input":"rm -rf x\n"}`), called(t, "write_background_input", `{"pid":2,"input":"y\n"}`)}, ""},
		"a tool of an embedder": {policy.Call{Tool: "rename", Kind: "edit", Params: []byte(`{"from":"a","to":"b"}`)}, saved,
			[]policy.Call{{Tool: "rename", Kind: "edit", Params: []byte(`{"to":"b", "from":"a"}`)}},
			[]policy.Call{{Tool: "rename", Kind: "edit", Params: []byte(`{"from":"a","to":"c"}`)}, {Tool: "rename", Kind: "edit", Params: []byte(`{}`)},
				{Tool: "rename", Kind: "edit", Params: []byte(`{"from":"a","to":"b","z":"b"}`)}}, `\A\{\x00"from":"a"\x00,?\x00"to":"b"\x00,?\}\z`},
		"without arguments": {called(t, "activate_skill", ``), session,
			[]policy.Call{called(t, "activate_skill", `{}`)}, []policy.Call{called(t, "activate_skill", `{"name":"x"}`)}, `\A\{\}\z`},
		"another tool as such": {called(t, "web_fetch", `{"url":"https://a.example"}`), tool,
			[]policy.Call{called(t, "web_fetch", `{"url":"https://b.example"}`)}, []policy.Call{called(t, "web_search", `{}`)}, ""},
		"a file tool as such": {called(t, "write_file", `{"file_path":"a"}`), tool,
			[]policy.Call{called(t, "write_file", `{"file_path":"b"}`)}, []policy.Call{called(t, "safe_patch", `{"file_path":"a"}`)}, ""},
		"a subagent": {called(t, "invoke_agent", `{"agent_name":"a","prompt":"x"}`), session,
			[]policy.Call{called(t, "invoke_agent", `{"agent_name":"a","prompt":"y"}`)}, []policy.Call{called(t, "invoke_agent", `{"agent_name":"b"}`)}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := engine(t, askAll)
			require.Equal(t, policy.AskUser, e.Decide(tt.call).Decision)
			rules, err := e.Narrow(tt.call, tt.scope)
			require.NoError(t, err)
			require.Len(t, rules, 1)
			r := rules[0]
			require.Equal(t, policy.Allow, r.Decision)
			require.Equal(t, 950, r.Priority)
			require.Equal(t, tt.scope != saved, r.Session)
			if tt.scope == saved {
				require.Equal(t, policy.TierUser, r.Tier)
			}
			require.Equal(t, []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo}, r.Modes)
			if tt.pattern != "" {
				require.Equal(t, tt.pattern, r.ArgsPattern)
			}
			require.Equal(t, policy.AskUser, e.Decide(tt.call).Decision, "nothing is in force before it is added")
			require.NoError(t, e.Add(rules...))
			require.Equal(t, policy.Allow, e.Decide(tt.call).Decision)
			for _, c := range tt.like {
				require.Equal(t, policy.Allow, e.Decide(c).Decision, "%s %s", c.Tool, c.Params)
			}
			for _, c := range tt.unlike {
				require.Equal(t, policy.AskUser, e.Decide(c).Decision, "%s %s", c.Tool, c.Params)
			}
			again, err := e.Narrow(tt.call, tt.scope)
			require.NoError(t, err)
			require.Empty(t, again)
		})
	}
}

// AR-20: an approval that would apply to no other call is not remembered, nor one
// that is required each time.
func TestNarrowRefusesWhatIsNeverAlike(t *testing.T) {
	for _, tt := range []struct {
		tool, args, says string
		refused          []policy.Scope
	}{
		{"save_memory", `{"fact":"x"}`, "never similar", []policy.Scope{policy.ScopeSession, policy.ScopeSaved}},
		{"google_web_search", `{"query":"x"}`, "never similar", []policy.Scope{policy.ScopeSession, policy.ScopeSaved}},
		{"ask_user", `{"questions":[]}`, "never similar", []policy.Scope{policy.ScopeSession}},
		{"enter_plan_mode", `{}`, "each time", []policy.Scope{policy.ScopeSession, policy.ScopeSaved, policy.ScopeTool}},
		{"exit_plan_mode", `{"plan_filename":"a.md"}`, "each time", []policy.Scope{policy.ScopeSession, policy.ScopeSaved, policy.ScopeTool}},
		{"web_fetch", `{"prompt":"https://a.example"}`, "not given by its url", []policy.Scope{policy.ScopeSession, policy.ScopeSaved}},
		{"web_fetch", `{"url":"https://me@a.example/"}`, "not given by its url", []policy.Scope{policy.ScopeSession}},
		{"web_fetch", `{"url":"https://A.example/"}`, "not given by its url", []policy.Scope{policy.ScopeSession}},
		{"web_fetch", `{"url":"https://[::1]/"}`, "not given by its url", []policy.Scope{policy.ScopeSession}},
		{"web_fetch", `{"url":"ftp://a.example/"}`, "not given by its url", []policy.Scope{policy.ScopeSession}},
		{"web_fetch", `{"url":"https://a.example","prompt":""}`, "not given by its url", []policy.Scope{policy.ScopeSession}},
	} {
		for _, scope := range tt.refused {
			rules, err := engine(t, askAll).Narrow(called(t, tt.tool, tt.args), scope)
			require.Equal(t, fault.NotRemembered, fault.CodeOf(err), "%s %s %s: %v", scope, tt.tool, tt.args, rules)
			require.ErrorContains(t, err, tt.says)
		}
	}
}

// AR-20, TO-11: the rules that remember a command line. Complaints 22169, 17953:
// they match the next time, by whatever path the program is named.
func TestNarrowShell(t *testing.T) {
	base := []policy.Rule{shellRule(policy.Allow, 100, "ls", "echo")}
	tests := map[string]struct {
		prefixes []string // of the first rule
		exact    int      // rules about one exact command or file
		like     []string
		unlike   []string
	}{
		"stat f":                         {[]string{"stat"}, 0, []string{"stat g", "ls | stat", "/usr/bin/stat"}, []string{"stat2", "./stat", "stat > f"}},
		"make":                           {nil, 1, []string{"ls | make"}, []string{"make test", "./make"}},
		"make test":                      {[]string{"make test"}, 0, []string{"make test -s"}, []string{"make", "make deploy"}},
		"make V=1 test":                  {nil, 1, nil, []string{"make V=1", "make V=1 deploy"}},
		"make -s test":                   {nil, 1, nil, []string{"make -s", "make -s test deploy"}},
		"java -jar x.jar":                {nil, 1, nil, []string{"java -jar y.jar"}},
		"psql -c 'select 1'":             {nil, 1, nil, []string{"psql -c 'drop table x'"}},
		"aws s3 ls":                      {nil, 1, nil, []string{"aws s3 rm x"}},
		"git status":                     {[]string{"git status"}, 0, []string{"git status -s"}, []string{"git push", "git"}},
		"ls && git log | wc -l":          {[]string{"git log", "wc"}, 0, []string{"git log -3", "wc f"}, []string{"git diff"}},
		"timeout 60 go test ./...":       {[]string{"go test"}, 0, []string{"go test", "timeout 5 go test x"}, []string{"timeout 5 go build"}},
		"go test ./... 2>&1 | tail -3":   {[]string{"go test", "tail"}, 0, []string{"go test > /dev/null"}, []string{"go test > out"}},
		"stat > out":                     {[]string{"stat"}, 1, []string{"stat", "stat x >> out", "ls > out", "cd .. && ls > src/out"}, []string{"stat > /out", "stat > out2", "make > out"}},
		"echo x > out":                   {nil, 1, []string{"echo y > out", "ls; > out"}, []string{"echo y > other", "echo y > ../.git/hooks/pre-commit"}},
		"> out":                          {nil, 1, []string{"ls >> out"}, []string{"> out2"}},
		"sort -o out f":                  {[]string{"sort"}, 1, []string{"sort f", "sort f -o out"}, []string{"sort -o other f"}},
		"tee out":                        {nil, 1, nil, []string{"tee other", "ls > out"}},
		"../gradlew build":               {[]string{"/w/gradlew build"}, 0, []string{"cd .. && ./gradlew build -x"}, []string{"./gradlew build", "gradlew"}},
		"rm -rf build":                   {nil, 1, []string{"rm -rf build", "ls; rm  -rf 'build'"}, []string{"rm -rf build src", "rm -rf", "rm build"}},
		"stat x; rm a; rm b":             {[]string{"stat"}, 2, []string{"rm b", "rm a"}, []string{"rm a b", "rm c"}},
		"sudo apt update":                {nil, 1, []string{"sudo apt update"}, []string{"apt update", "sudo apt update -y", "sudo rm x"}},
		"python3 -c 'print(1)'":          {nil, 1, []string{`python3 -c "print(1)"`}, []string{"python3 -c 'print(2)'", "python3 x.py"}},
		"find . -name x -delete":         {nil, 1, []string{"find . -name 'x' -delete"}, []string{"find . -delete", "find . -name x"}},
		"git -c core.pager=less log":     {nil, 1, []string{"git -c core.pager=less log"}, []string{"git -c core.pager=rm log", "git log"}},
		"npm run build":                  {[]string{"npm run build"}, 0, []string{"npm run build"}, []string{"npm run deploy", "npm publish"}},
		"bash -c 'stat x && git status'": {[]string{"stat", "git status"}, 0, []string{"stat x", "bash -c 'git status'"}, []string{"bash -c 'git push'"}},
		"bash -s <<'E'\nstat x\nE":       {[]string{"stat"}, 1, []string{"bash -s <<< 'stat y'"}, []string{"bash -s <<< 'git push'", "ls | bash -s", "bash -s < f"}},
		"for f in *.go; do wc $f; done":  {[]string{"wc"}, 0, []string{"wc x"}, []string{"for f in x; do cat $f; done"}},
		"find . -name x | xargs grep -l": {[]string{"grep"}, 1, []string{"grep y f"}, []string{"xargs rm"}},
	}
	for line, tt := range tests {
		for _, scope := range []policy.Scope{policy.ScopeSession, policy.ScopeSaved, policy.ScopeTool} {
			t.Run(fmt.Sprintf("%s %s", scope, line), func(t *testing.T) {
				e := engine(t, base...)
				c := command(t, line, policy.ModeDefault)
				require.Equal(t, policy.AskUser, e.Decide(c).Decision)
				rules, err := e.Narrow(c, scope)
				require.NoError(t, err)
				var prefixes []string
				exact := 0
				for _, r := range rules {
					require.Contains(t, []string{"run_shell_command", "write_file"}, r.Tools[0])
					require.False(t, r.AllowRedirection)
					prefixes = append(prefixes, r.CommandPrefix...)
					if r.ArgsPattern != "" {
						exact++
					}
				}
				require.Equal(t, tt.prefixes, prefixes)
				require.Equal(t, tt.exact, exact)
				require.NoError(t, e.Add(rules...))
				for _, like := range append(tt.like, line) {
					d := e.Decide(command(t, like, policy.ModeDefault))
					require.Equal(t, policy.Allow, d.Decision, "%q: %+v", like, d)
				}
				for _, unlike := range tt.unlike {
					d := e.Decide(command(t, unlike, policy.ModeDefault))
					require.Equal(t, policy.AskUser, d.Decision, "%q: %+v", unlike, d)
				}
			})
		}
	}
}

// Complaint 18020: an approval that no rule can express, or that another rule
// would override, is not remembered; the error names the reason.
func TestNarrowRefuses(t *testing.T) {
	above := policy.Rule{Name: "above", Tools: []string{"*"}, Decision: policy.AskUser, Priority: 960, Tier: policy.TierUser}
	deny := policy.Rule{Name: "no", Tools: []string{"*"}, Decision: policy.Deny, Tier: policy.TierAdmin}
	guard := shellRule(policy.Deny, 999, "rm")
	guard.Name = "guard"
	sh := func(line string) policy.Call { return command(t, line, policy.ModeDefault) }
	for name, tt := range map[string]struct {
		rules []policy.Rule
		call  policy.Call
		scope policy.Scope
		want  string
	}{
		"asked above":          {[]policy.Rule{above}, called(t, "web_fetch", `{"url":"https://a.example/"}`), policy.ScopeSaved, "above"},
		"denied":               {[]policy.Rule{deny}, called(t, "web_fetch", `{}`), policy.ScopeSession, "no"},
		"no server":            {nil, called(t, "web_fetch", `{}`), policy.ScopeServer, "no MCP server"},
		"no path":              {nil, called(t, "write_file", `{}`), policy.ScopeSession, "names no target"},
		"no scope":             {nil, called(t, "web_fetch", `{}`), "", "not a scope"},
		"a wildcard":           {nil, policy.Call{Tool: "mcp_*_x", Server: "*", ServerTool: "x"}, policy.ScopeServer, "wildcard"},
		"a wildcard tool":      {nil, policy.Call{Tool: "*"}, policy.ScopeTool, "wildcard"},
		"nameless":             {nil, policy.Call{}, policy.ScopeTool, "wildcard"},
		"a long path":          {nil, called(t, "write_file", fmt.Sprintf(`{"file_path":"%03000d.go"}`, 1)), policy.ScopeSession, ""},
		"a dynamic command":    {nil, sh("$x"), policy.ScopeSession, "plain command"},
		"it does not parse":    {nil, sh("ls ("), policy.ScopeSession, "plain command"},
		"a dynamic rm":         {nil, sh(`rm "$f"`), policy.ScopeSession, "effect may change"},
		"by the directory":     {nil, sh("./rm x"), policy.ScopeSession, "depends on the directory"},
		"from a pipe":          {nil, sh("ls | xargs rm"), policy.ScopeSession, "effect may change"},
		"written outside":      {nil, sh("ls > /out"), policy.ScopeSession, "outside"},
		"an unknown file":      {nil, sh(`ls > "$f"`), policy.ScopeSession, "target file may change"},
		"no target":            {nil, sh(`make "$x"`), policy.ScopeSession, "effect may change"},
		"no target but -j":     {nil, sh(`make -j4 "$x"`), policy.ScopeSession, "effect may change"},
		"no script":            {nil, sh(`npm run "$x"`), policy.ScopeSession, "effect may change"},
		"no object":            {nil, called(t, "web_fetch", `[1]`), policy.ScopeSession, "no JSON object"},
		"out of the directory": {nil, sh("cd / && ls"), policy.ScopeSession, "plain command"},
		"a guarded part":       {[]policy.Rule{guard}, sh("make; rm x"), policy.ScopeSession, "guard"},
		"maybe a guarded":      {[]policy.Rule{guard}, sh("foo rm x"), policy.ScopeSession, "guard"},
		"an MCP tool denied":   {[]policy.Rule{deny}, mcp("git", "log"), policy.ScopeServer, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, tt.rules...)
			rules, err := e.Narrow(tt.call, tt.scope)
			require.Empty(t, rules)
			require.Equal(t, fault.NotRemembered, fault.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// An approval in a mode applies in that mode and in more permissive ones.
func TestNarrowModes(t *testing.T) {
	all := []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo}
	for i, mode := range all[:3] {
		e := engine(t, askAll)
		c := called(t, "web_fetch", `{"url":"https://a.example/"}`)
		c.Mode = mode
		rules, err := e.Narrow(c, policy.ScopeSession)
		require.NoError(t, err)
		require.Equal(t, all[i:], rules[0].Modes)
		require.NoError(t, e.Add(rules...))
		require.NoError(t, e.Add(rules...))
		require.Len(t, e.Rules(), len(engine(t).Rules())+2, "the same rule is not added twice")
		for k, m := range all {
			c.Mode = m
			want := policy.AskUser
			if k >= i {
				want = policy.Allow
			}
			require.Equal(t, want, e.Decide(c).Decision, "approved in %s, called in %s", mode, m)
		}
	}
}

// Concurrent decisions and approvals: each decision uses a consistent set of
// rules, so that an approved call stays approved.
func TestConcurrent(t *testing.T) {
	e := engine(t, manyRules(200)...)
	var wg sync.WaitGroup
	for i := range 1_000 {
		wg.Go(func() {
			switch i % 4 {
			case 0:
				c := called(t, fmt.Sprintf("own_tool_%d", i), `{}`)
				rules, err := e.Narrow(c, policy.ScopeSession)
				if err == nil {
					err = e.Add(rules...)
				}
				if err != nil || e.Decide(c).Decision != policy.Allow {
					t.Errorf("own_tool_%d: %v", i, err)
				}
			case 1:
				if d := e.Decide(command(t, "git status | wc -l && git push", policy.ModeYolo)); d.Decision != policy.Deny {
					t.Errorf("%+v", d)
				}
			case 2:
				if d := e.Decide(mcp(fmt.Sprintf("server_%d", i), "x")); d.Reason == "" {
					t.Error("no reason")
				}
			default:
				if d := e.Decide(called(t, "write_file", `{"file_path":".env"}`)); d.Decision != policy.Deny {
					t.Errorf("%+v", d)
				}
				e.Rules()
			}
		})
	}
	wg.Wait()
	require.Len(t, e.Rules(), 200+len(engine(t).Rules())+250)
}

// AR-20, AR-27: if a rule that denies or asks has the same prefix as an approval
// would, the exact command is remembered.
func TestNarrowBesideGuards(t *testing.T) {
	regex := policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.AskUser, CommandRegex: "git fetch", Priority: 1, Tier: policy.TierUser}
	for name, tt := range map[string]struct {
		guard policy.Rule
		exact bool
	}{
		"denies more words": {shellRule(policy.Deny, 200, "git fetch --force"), true},
		"asks the same":     {shellRule(policy.AskUser, 200, "/usr/bin/git fetch"), true},
		"asks more":         {shellRule(policy.AskUser, 200, "git"), false},
		"asks by a regex":   {regex, true},
		"about another":     {shellRule(policy.Deny, 200, "git pull"), false},
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, tt.guard)
			approved(t, e, command(t, "git fetch origin main", policy.ModeDefault), policy.ScopeSaved)
			want := policy.Allow
			if tt.exact {
				want = policy.AskUser
			}
			require.Equal(t, want, e.Decide(command(t, "git fetch origin other", policy.ModeDefault)).Decision)
			require.Equal(t, policy.Allow, e.Decide(command(t, "git  fetch 'origin' main", policy.ModeDefault)).Decision)
		})
	}
	_, err := engine(t, shellRule(policy.AskUser, 200, "git fetch")).Narrow(command(t, `git fetch origin "$b"`, policy.ModeDefault), policy.ScopeSession)
	require.ErrorContains(t, err, "effect may change")
}

// AR-20: an approval for a subagent applies to that subagent, and one for the
// main agent to all.
func TestNarrowSubagent(t *testing.T) {
	log := mcp("git", "log")
	for _, c := range []policy.Call{called(t, "web_fetch", `{"url":"https://a.example/"}`), command(t, "git status > out", policy.ModeDefault), log} {
		e := engine(t, askAll)
		of := func(subagent string) policy.Verdict {
			c := c
			c.Subagent = subagent
			return e.Decide(c).Decision
		}
		reviewer := c
		reviewer.Subagent = "reviewer"
		approved(t, e, reviewer, policy.ScopeSession)
		require.Equal(t, policy.AskUser, of(""))
		require.Equal(t, policy.AskUser, of("other"))
		approved(t, e, c, policy.ScopeSession)
		require.Equal(t, policy.Allow, of("other"))
	}
}

// AR-20, AR-27: commands that destroy, publish or send data for some arguments
// are remembered exactly, for every program.
func TestNarrowDestroys(t *testing.T) {
	for line, other := range map[string]string{
		"git push origin main": "git push origin main --force", "git branch -D a": "git branch -D b", "git branch": "git branch -D b",
		"git stash drop": "git stash drop stash@{1}", "git stash": "git stash clear", "git reset --soft x": "git reset --hard x", "git remote remove a": "git remote remove b",
		"gh api a": "gh api -X DELETE a", "gh pr view": "gh pr merge", "useradd a": "useradd -o -u 0 b", "iptables -L": "iptables -F", "terraform apply": "terraform apply -destroy",
		"npm publish": "npm publish --tag x", "brew uninstall a": "brew uninstall b", "cargo yank a": "cargo yank b", "ip link show": "ip link delete a",
	} {
		e := engine(t)
		approved(t, e, command(t, line, policy.ModeDefault), policy.ScopeSession)
		require.Equal(t, policy.AskUser, e.Decide(command(t, other, policy.ModeDefault)).Decision, other)
	}
	e := engine(t)
	approved(t, e, command(t, "git fetch origin", policy.ModeDefault), policy.ScopeSession)
	require.Equal(t, policy.Allow, e.Decide(command(t, "git fetch --all", policy.ModeDefault)).Decision, "others are remembered by their subcommand")
}

package checker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/checker"
	"github.com/fettle-dev/fettle/core/policy"
)

// project returns a temporary directory with a workspace ws and a directory next
// to it.
func project(t *testing.T) (top string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"ws/src", "ws/.git", "more", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	return top
}

func call(t *testing.T, top string, args any) policy.Call {
	t.Helper()
	params, err := json.Marshal(args)
	require.NoError(t, err)
	ws := filepath.Join(top, "ws")
	return policy.Call{Tool: "some_tool", Params: params, Dir: ws, Roots: []string{ws, filepath.Join(top, "more")}}
}

// following returns a runner that resolves links.
func following() *checker.Runner {
	return checker.New(checker.Options{RealPath: checker.RealPath})
}

func TestAllowedPath(t *testing.T) {
	top := project(t)
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	link(filepath.Join(top, "outside"), "ws/out")
	link(filepath.Join(top, "ws", ".git"), "ws/harmless")
	link(filepath.Join(top, "ws", "src"), "outside/back")
	link(filepath.Join(top, "ws", "nowhere"), "ws/dangling")
	link("loop", "ws/loop")

	for path, want := range map[string]policy.Verdict{
		"a.txt":                        policy.Allow,
		"":                             policy.Allow, // not given
		".":                            policy.Allow,
		"src/deep/new/file.go":         policy.Allow,
		"src/../a.txt":                 policy.Allow,
		"TOP/ws/a.txt":                 policy.Allow,
		"TOP/more/a.txt":               policy.Allow,
		"../more/a.txt":                policy.Allow,
		"TOP/outside/back/x.go":        policy.Allow, // it leads inside
		"100%.txt":                     policy.Allow,
		"file://TOP/ws/a.txt":          policy.Allow,
		"FILE://localhost/TOP/ws/a":    policy.Allow,
		".github/workflows/ci.yml":     policy.Allow,
		".gitignore":                   policy.Allow,
		".env.example":                 policy.Allow,
		"...":                          policy.Allow,
		"~backup":                      policy.Allow,
		"..":                           policy.Deny,
		"../outside/a.txt":             policy.Deny,
		"../ws2/a.txt":                 policy.Deny,
		"/":                            policy.Deny,
		"/etc/passwd":                  policy.Deny,
		"TOP/ws/../outside":            policy.Deny,
		"out/secret":                   policy.Deny,
		"out":                          policy.Deny,
		"dangling":                     policy.Deny,
		"loop/x":                       policy.Deny,
		"a\x00b":                       policy.Deny,
		"~":                            policy.Deny,
		"~/.ssh/id_ed25519":            policy.Deny,
		"%2e%2e/outside/a":             policy.Deny,
		"%7e/.ssh":                     policy.Deny,
		"%2egit/config":                policy.Deny,
		"file:///etc/passwd":           policy.Deny,
		"file://host/TOP/ws/a":         policy.Deny,
		"file:a.txt":                   policy.Deny,
		"file:///%2e%2e/etc/passwd":    policy.Deny,
		".git":                         policy.Deny,
		".git/config":                  policy.Deny,
		"harmless/config":              policy.Deny, // leads to .git
		"src/.git/hooks/pre-commit":    policy.Deny,
		".GIT/config":                  policy.Deny,
		".git./config":                 policy.Deny,
		".git . /config":               policy.Deny,
		".git::$INDEX_ALLOCATION/hook": policy.Deny,
		`.git\config`:                  policy.Deny,
		".env":                         policy.Deny,
		"src/.Env":                     policy.Deny,
		".env:stream":                  policy.Deny,
		"node_modules/x/index.js":      policy.Deny,
		"Node_Modules":                 policy.Deny,
		".vscode/settings.json":        policy.AskUser,
		"src/.VSCode./tasks.json":      policy.AskUser,
		".vscode/node_modules/x":       policy.Deny,
	} {
		t.Run(path, func(t *testing.T) {
			c := call(t, top, map[string]any{"file_path": strings.ReplaceAll(path, "TOP", top)})
			verdict, reason, err := following().Check(t.Context(), policy.Checker{Name: "allowed-path"}, c)
			require.NoError(t, err)
			require.Equal(t, want, verdict, reason)
			require.NotEmpty(t, reason)
			if want != policy.Allow {
				require.Contains(t, reason, "file_path")
			}
		})
	}
}

func TestAllowedPathArguments(t *testing.T) {
	const out = "/etc/passwd"
	list := func(texts ...any) []any { return texts }
	type object = map[string]any
	for name, tt := range map[string]struct {
		args   object
		config object
		want   policy.Verdict
	}{
		"none":                     {object{}, nil, policy.Allow},
		"other names":              {object{"content": out, "command": out, "resources": out}, nil, policy.Allow},
		"path":                     {object{"dir_path": out}, nil, policy.Deny},
		"camel case":               {object{"targetPath": out}, nil, policy.Deny},
		"directory":                {object{"directory": out}, nil, policy.Deny},
		"file":                     {object{"outfile": out}, nil, policy.Deny},
		"source":                   {object{"source": out}, nil, policy.Deny},
		"destination":              {object{"Destination": out}, nil, policy.Deny},
		"number":                   {object{"path": 7, "file": nil, "directory": true}, nil, policy.Allow},
		"nested":                   {object{"a": object{"b": object{"path": out}}}, nil, policy.Deny},
		"list":                     {object{"paths": list("a", out)}, nil, policy.Deny},
		"list in a list":           {object{"paths": list(list("a"), list("b", out))}, nil, policy.Deny},
		"objects in a list":        {object{"edits": list(object{"file": "a"}, object{"file": out})}, nil, policy.Deny},
		"object under a path":      {object{"file": object{"content": out}}, nil, policy.Allow},
		"included":                 {object{"where": out}, object{"included_args": list("where")}, policy.Deny},
		"included, dotted":         {object{"a": object{"where": out}}, object{"included_args": list("a.where")}, policy.Deny},
		"included, by its key":     {object{"a": object{"where": out}}, object{"included_args": []string{"where"}}, policy.Deny},
		"excluded":                 {object{"path": out}, object{"excluded_args": list("path")}, policy.Allow},
		"excluded, dotted":         {object{"a": object{"path": out}}, object{"excluded_args": list("a.path")}, policy.Allow},
		"excluded elsewhere":       {object{"a": object{"path": out}}, object{"excluded_args": list("path")}, policy.Deny},
		"excluded, all below":      {object{"a": object{"path": out}}, object{"excluded_args": list("a")}, policy.Allow},
		"excluded, whole list":     {object{"paths": list(out)}, object{"excluded_args": list("paths")}, policy.Allow},
		"excluded, element":        {object{"paths": list("a", out)}, object{"excluded_args": list("paths.1")}, policy.Allow},
		"excluded, another one":    {object{"paths": list("a", out)}, object{"excluded_args": list("paths.0")}, policy.Deny},
		"excluded, in any element": {object{"edits": list(object{"file": out})}, object{"excluded_args": list("edits.file")}, policy.Allow},
		"excluded wins":            {object{"path": out}, object{"excluded_args": list("path"), "included_args": list("path")}, policy.Allow},
		"deny after ask":           {object{"a_path": ".vscode/x", "b_path": out}, nil, policy.Deny},
		"ask after allow":          {object{"a_path": "a", "b_path": ".vscode/x", "c_path": "c"}, nil, policy.AskUser},
	} {
		t.Run(name, func(t *testing.T) {
			c := call(t, project(t), tt.args)
			verdict, reason, err := following().Check(t.Context(), policy.Checker{Name: "allowed-path", Config: tt.config}, c)
			require.NoError(t, err)
			require.Equal(t, tt.want, verdict, reason)
		})
	}
}

// The directories and links of the options apply if the call has none.
func TestAllowedPathOptions(t *testing.T) {
	dir := string(filepath.Separator) + filepath.Join("virtual", "ws")
	r := checker.New(checker.Options{
		Dir: dir, Roots: []string{filepath.Join(filepath.Dir(dir), "more")},
		RealPath: func(_ context.Context, path string) (string, error) {
			if strings.HasSuffix(path, "broken") {
				return "", errors.New("no")
			}
			return strings.Replace(path, "link", filepath.Join("..", "elsewhere"), 1), nil
		},
	})
	for path, want := range map[string]policy.Verdict{
		"a": policy.Allow, "../more/b": policy.Allow, "../c": policy.Deny, "link": policy.Deny, "broken": policy.Deny,
	} {
		params, err := json.Marshal(map[string]string{"path": path})
		require.NoError(t, err)
		verdict, reason, err := r.Check(t.Context(), policy.Checker{Name: "allowed-path"}, policy.Call{Params: params})
		require.NoError(t, err)
		require.Equal(t, want, verdict, "%s: %s", path, reason)
	}

	// A relative path cannot be resolved without a directory, nor any path
	// without RealPath.
	verdict, reason, err := following().Check(t.Context(), policy.Checker{Name: "allowed-path"},
		policy.Call{Params: json.RawMessage(`{"path":"a"}`)})
	require.NoError(t, err)
	require.Equal(t, policy.Deny, verdict, reason)
	verdict, reason, err = checker.New(checker.Options{Dir: dir}).Check(t.Context(), policy.Checker{Name: "allowed-path"},
		policy.Call{Params: json.RawMessage(`{"path":"a"}`)})
	require.NoError(t, err)
	require.Equal(t, policy.Deny, verdict)
	require.Contains(t, reason, "cannot be followed")
}

// The workspace may itself be a link, or lie in a directory of a guarded name.
func TestAllowedPathWorkspace(t *testing.T) {
	top := project(t)
	inside := filepath.Join(top, "node_modules", "pkg")
	require.NoError(t, os.MkdirAll(inside, 0o755))
	dirs := []string{inside}
	link := filepath.Join(top, "link")
	if os.Symlink(inside, link) == nil {
		dirs = append(dirs, link)
	}
	for _, dir := range dirs {
		for path, want := range map[string]policy.Verdict{"a": policy.Allow, "node_modules/a": policy.Deny, "..": policy.Deny} {
			c := call(t, top, map[string]string{"path": path})
			c.Dir, c.Roots = dir, nil
			verdict, reason, err := checker.New(checker.Options{Roots: []string{dir}, RealPath: checker.RealPath}).Check(t.Context(), policy.Checker{Name: "allowed-path"}, c)
			require.NoError(t, err)
			require.Equal(t, want, verdict, "%s in %s: %s", path, dir, reason)
		}
	}
}

// Failures deny.
func TestErrorsDeny(t *testing.T) {
	c := call(t, project(t), map[string]string{"path": "a"})
	broken := c
	broken.Params = json.RawMessage(`["path"]`)
	for name, tt := range map[string]struct {
		checker policy.Checker
		call    policy.Call
		says    string
	}{
		"unknown":             {policy.Checker{Name: "nosuch"}, c, "allowed-path"},
		"built in, as if not": {policy.Checker{Name: "allowed-path", External: true}, c, "no program"},
		"no object":           {policy.Checker{Name: "allowed-path"}, broken, "JSON object"},
		"setting":             {policy.Checker{Name: "allowed-path", Config: map[string]any{"excluded_args": "path"}}, c, "excluded_args"},
		"element of setting":  {policy.Checker{Name: "allowed-path", Config: map[string]any{"included_args": []any{1}}}, c, "included_args"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.checker.Source, tt.checker.Line = "rules.toml", 12
			verdict, _, err := checker.New(checker.Options{}).Check(t.Context(), tt.checker, tt.call)
			require.Equal(t, policy.Deny, verdict)
			require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Message, tt.checker.Name)
			require.Contains(t, fault.As(err).Message, tt.says)
			require.Contains(t, fault.As(err).Remedy, "rules.toml, line 12")
		})
	}
}

func TestConseca(t *testing.T) {
	verdict, reason, err := checker.New(checker.Options{}).Check(t.Context(), policy.Checker{Name: "conseca"}, policy.Call{})
	require.NoError(t, err)
	require.Equal(t, policy.Allow, verdict)
	require.Contains(t, reason, "off")
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	verdict, _, err := checker.New(checker.Options{}).Check(ctx, policy.Checker{Name: "conseca"}, policy.Call{})
	require.Equal(t, policy.Deny, verdict)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

package mcp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// prompt returns a prompt with arguments; those that end in "!" are required.
func prompt(args ...string) mcp.Prompt {
	p := mcp.Prompt{Name: "p"}
	for _, a := range args {
		name, required := strings.CutSuffix(a, "!")
		p.Arguments = append(p.Arguments, mcp.PromptArgument{Name: name, Required: required})
	}
	return p
}

func TestPrompts(t *testing.T) {
	s := newFake()
	s.prompts = []mcp.Prompt{{Name: "p", Arguments: prompt("a!", "b").Arguments}, {Name: " review  this "}}
	var got map[string]string
	s.onPrompt = func(_ context.Context, name string, args map[string]string) (mcp.PromptMessages, error) {
		got = args
		return mcp.PromptMessages{Description: name, Messages: []host.Message{{Role: host.RoleUser, Content: tools.Text("Do it.")}}}, nil
	}
	m := one(t, s)
	require.Equal(t, s.prompts, m.Prompts()["s"])
	messages, err := m.Prompt(t.Context(), "s", "p", map[string]string{"a": "1"})
	require.NoError(t, err)
	require.Equal(t, "Do it.", messages.Messages[0].Content.String())
	require.Equal(t, map[string]string{"a": "1"}, got)

	for name, tt := range map[string]struct {
		server, prompt string
		code           fault.Code
		want           string
	}{
		"missing":   {"s", "p", fault.InvalidToolParams, "--a"},
		"no prompt": {"s", "x", fault.InvalidToolParams, `"x"`},
		"no server": {"x", "p", fault.InvalidConfig, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Prompt(t.Context(), tt.server, tt.prompt, nil)
			require.Equal(t, tt.code, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Message, tt.want)
			require.NotEmpty(t, fault.As(err).Remedy)
		})
	}
	s.onPrompt = func(context.Context, string, map[string]string) (mcp.PromptMessages, error) {
		return mcp.PromptMessages{Messages: []host.Message{{Content: tools.Text(strings.Repeat("x", 5<<20))}}}, nil
	}
	_, err = m.Prompt(t.Context(), "s", "p", map[string]string{"a": "1"})
	require.Equal(t, fault.MCPToolError, fault.CodeOf(err))
}

func TestParseArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		prompt mcp.Prompt
		text   string
		want   map[string]string
		err    string // in the message; "": none
	}{
		"nothing":                {prompt(), "", map[string]string{}, ""},
		"blanks":                 {prompt("a"), " \n\t", map[string]string{}, ""},
		"named":                  {prompt("a!", "b"), `--a=1 --b="two \"words\" \\ end"`, map[string]string{"a": "1", "b": `two "words" \ end`}, ""},
		"named in the middle":    {prompt("a!", "b"), `fix --b=x  this`, map[string]string{"a": "fix this", "b": "x"}, ""},
		"named empty":            {prompt("a!"), `--a=`, map[string]string{"a": ""}, ""},
		"named empty quotes":     {prompt("a!"), `--a=""`, map[string]string{"a": ""}, ""},
		"named twice":            {prompt("a!"), `--a=1 --a=2`, map[string]string{"a": "2"}, ""},
		"partly quoted":          {prompt("a!"), `--a=x" y"z`, map[string]string{"a": "x yz"}, ""},
		"one takes all":          {prompt("a!"), `fix   the "bug in"  main`, map[string]string{"a": "fix   the bug in  main"}, ""},
		"lines":                  {prompt("a!"), "fix:\n- one\n- two", map[string]string{"a": "fix:\n- one\n- two"}, ""},
		"the last one takes all": {prompt("a!", "b!"), `--a=1 all the rest`, map[string]string{"a": "1", "b": "all the rest"}, ""},
		"an optional one":        {prompt("a"), `all the rest`, map[string]string{"a": "all the rest"}, ""},
		"not the optional one":   {prompt("a!", "b"), `all the rest`, map[string]string{"a": "all the rest"}, ""},
		"in order":               {prompt("b", "a!", "c!"), `1 "2 3"`, map[string]string{"a": "1", "c": "2 3"}, ""},
		"in order and more":      {prompt("b", "a!", "c!"), `1 2 3`, map[string]string{"a": "1", "c": "2", "b": "3"}, ""},
		"optional ones":          {prompt("a", "b"), `1 2`, map[string]string{"a": "1", "b": "2"}, ""},
		"escapes outside":        {prompt("a!", "b!"), `C:\dir\x one\ word\"`, map[string]string{"a": `C:\dir\x`, "b": `one word"`}, ""},
		"open quote":             {prompt("a!"), `it is 5" long`, map[string]string{"a": `it is 5" long`}, ""},
		"apostrophe":             {prompt("a!"), `it's not 'here`, map[string]string{"a": `it's not 'here`}, ""},
		"text like a name":       {prompt("a!"), `"--a=1" --x`, map[string]string{"a": "--a=1 --x"}, ""},
		"after two dashes":       {prompt("a!"), `-- --b=1 -- x`, map[string]string{"a": "--b=1 -- x"}, ""},
		"no name":                {prompt("a!"), `--=1`, map[string]string{"a": "--=1"}, ""},
		"missing":                {prompt("a!", "b!", "c"), `1`, nil, "--b"},
		"all missing":            {prompt("a!", "b!"), ``, nil, "--a, --b"},
		"unknown":                {prompt("a"), `--b=1`, nil, `"b"`},
		"too much":               {prompt("a!", "b!"), `1 2 3`, nil, `"3"`},
		"none wanted":            {prompt(), `1`, nil, `"1"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.prompt.ParseArguments(tt.text)
			if tt.err != "" {
				require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
				require.Contains(t, fault.As(err).Message, tt.err)
				require.NotEmpty(t, fault.As(err).Remedy)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// Nothing panics, and a quoted value is parsed exactly.
func FuzzParseArguments(f *testing.F) {
	for _, s := range []string{`--a="v" x`, `--a=`, `"`, `\`, `--`, "--a=\"\\", "a\u00a0b \xff", `--b=1 "c d" -- --a`, `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range []mcp.Prompt{prompt(), prompt("a!"), prompt("a!", "b!", "c"), prompt("a", "b")} {
			args, err := p.ParseArguments(text)
			if err != nil {
				require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
				continue
			}
			for name := range args {
				require.Contains(t, []string{"a", "b", "c"}, name)
			}
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
		args, err := prompt("a!", "b!").ParseArguments("--b=" + quoted + " " + quoted)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": text, "b": text}, args)
	})
}

package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
)

// loader is a commands.Loader of fixed commands.
type loader struct {
	name string
	all  []*commands.Command
	do   func(ctx context.Context) error
}

func (l loader) Name() string { return l.name }

func (l loader) Load(ctx context.Context) ([]*commands.Command, []fault.Problem, error) {
	if l.do != nil {
		return l.all, nil, l.do(ctx)
	}
	return l.all, nil, nil
}

func assemble(t *testing.T, loaders ...commands.Loader) (*commands.Set, []fault.Problem) {
	t.Helper()
	s, problems, err := commands.Assemble(t.Context(), loaders...)
	require.NoError(t, err)
	return s, problems
}

func command(name string, alt ...string) *commands.Command {
	return &commands.Command{Name: name, AltNames: alt, Kind: commands.KindFile, Source: name + ".toml", Action: says(name)}
}

func says(what string) func(context.Context, *commands.Context, string) (commands.Result, error) {
	return func(_ context.Context, _ *commands.Context, args string) (commands.Result, error) {
		return commands.Message{Text: what + "(" + args + ")"}, nil
	}
}

func builtIn(name string, alt ...string) *commands.Command {
	return &commands.Command{Name: name, AltNames: alt, Kind: commands.KindBuiltIn, Action: says("built-in " + name)}
}

func ofExtension(extension, name string) *commands.Command {
	c := command(name)
	c.ExtensionName, c.Action = extension, says(extension+"'s "+name)
	return c
}

// run returns the result of a line.
func run(t *testing.T, s *commands.Set, line string) string {
	t.Helper()
	m := s.Parse(line)
	require.True(t, m.IsCommand, line)
	r, err := m.Run(t.Context(), &commands.Context{})
	if err != nil {
		return fault.As(err).Message
	}
	return r.(commands.Message).Text
}

// CM-06: loaders run concurrently, and one that fails loses only its own commands.
func TestAssembleSideBySide(t *testing.T) {
	meet := make(chan struct{})
	waits := func(ctx context.Context) error {
		select {
		case <-meet:
		case meet <- struct{}{}: // only another loader at the same time receives it
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	}
	s, problems := assemble(t,
		loader{"one", []*commands.Command{command("one")}, waits},
		loader{"two", []*commands.Command{command("two")}, waits},
		loader{"fails", []*commands.Command{command("three")}, func(context.Context) error { return errors.New("no such thing") }},
		loader{"panics", []*commands.Command{command("four")}, func(context.Context) error { panic("sk-secret") }},
	)
	require.Equal(t, "one()", run(t, s, "/one"))
	require.Equal(t, "two()", run(t, s, "/two"))
	require.Equal(t, "There is no command /three.", run(t, s, "/three"))
	require.Equal(t, "There is no command /four.", run(t, s, "/four"))
	require.Len(t, problems, 2)
	require.Equal(t, "fails", problems[0].Path)
	require.Contains(t, problems[0].Message, "no such thing")
	require.Equal(t, "panics", problems[1].Path)
	require.NotContains(t, fmt.Sprint(problems), "sk-secret")
	require.True(t, problems[0].IsError() && problems[1].IsError())
}

func TestAssembleCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := commands.Assemble(ctx, loader{"waits", nil, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

// CM-07: names after conflicts.
func TestConflicts(t *testing.T) {
	tests := map[string]struct {
		loaders  []commands.Loader
		lines    map[string]string
		problems []string
	}{
		"the later loader wins": {
			[]commands.Loader{loader{"a", []*commands.Command{command("x")}, nil}, loader{"b", []*commands.Command{{Name: "x", Kind: commands.KindSkill, Action: says("later")}}, nil}},
			map[string]string{"/x": "later()"},
			[]string{"The command /x (skill) replaces the command of the same name (x.toml)."},
		},
		"an extension's is renamed": {
			[]commands.Loader{loader{"a", []*commands.Command{ofExtension("ext", "x"), command("x")}, nil}},
			map[string]string{"/x": "x()", "/ext.x": "ext's x()"},
			[]string{"The name of the command x of the extension ext is in use; it is renamed /ext.x."},
		},
		"whichever comes later": {
			[]commands.Loader{loader{"a", []*commands.Command{ofExtension("ext", "x")}, nil}, loader{"b", []*commands.Command{command("x")}, nil}},
			map[string]string{"/x": "x()", "/ext.x": "ext's x()"},
			[]string{"it is renamed /ext.x."},
		},
		"and never into another": {
			[]commands.Loader{loader{"a", []*commands.Command{command("x"), command("ext.x"), command("ext.x1"), ofExtension("ext", "x")}, nil}},
			map[string]string{"/x": "x()", "/ext.x": "ext.x()", "/ext.x1": "ext.x1()", "/ext.x2": "ext's x()"},
			[]string{"it is renamed /ext.x2."},
		},
		"of two extensions the second": {
			[]commands.Loader{loader{"a", []*commands.Command{ofExtension("one", "x"), ofExtension("two", "x"), ofExtension("two", "x")}, nil}},
			map[string]string{"/x": "one's x()", "/two.x": "two's x()", "/two.x1": "two's x()"},
			[]string{"it is renamed /two.x.", "it is renamed /two.x1."},
		},
		"an extension's takes no other name": {
			[]commands.Loader{loader{"a", []*commands.Command{builtIn("quit", "exit"), ofExtension("ext", "exit")}, nil}},
			map[string]string{"/exit": "built-in quit()", "/ext.exit": "ext's exit()"},
			[]string{"it is renamed /ext.exit."},
		},
		"a built-in goes under its other name": {
			[]commands.Loader{loader{"a", []*commands.Command{builtIn("quit", "exit", "bye")}, nil}, loader{"b", []*commands.Command{command("quit")}, nil}},
			map[string]string{"/quit": "quit()", "/exit": "built-in quit()", "/bye": "built-in quit()"},
			[]string{"The command /quit (quit.toml) replaces the command of the same name (built-in), which is renamed /exit."},
		},
		"or under its kind": {
			[]commands.Loader{loader{"a", []*commands.Command{builtIn("model")}, nil}, loader{"b", []*commands.Command{command("model"), command("built-in.model")}, nil}},
			map[string]string{"/model": "model()", "/built-in.model": "built-in.model()", "/built-in.model1": "built-in model()"},
			[]string{"which is renamed /built-in.model1."},
		},
		"a name goes before another's other name": {
			[]commands.Loader{loader{"a", []*commands.Command{builtIn("quit", "exit"), command("exit")}, nil}},
			map[string]string{"/quit": "built-in quit()", "/exit": "exit()"},
			nil,
		},
		"three of one name": {
			[]commands.Loader{loader{"a", []*commands.Command{builtIn("x"), command("x")}, nil}, loader{"b", []*commands.Command{{Name: "x", Kind: commands.KindFile, Source: "p.toml", Action: says("last")}}, nil}},
			map[string]string{"/x": "last()", "/built-in.x": "built-in x()"},
			[]string{"which is renamed /built-in.x.", "The command /x (p.toml) replaces the command of the same name (x.toml)."},
		},
		"a name that cannot be typed": {
			[]commands.Loader{loader{"a", []*commands.Command{command("a b"), command(""), command("/x"), command("\x1b[31m"), command("*"), command("ok")}, nil}},
			map[string]string{"/ok": "ok()"},
			[]string{"a space", "empty", "comment", "invisible character", "comment"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, problems := assemble(t, tt.loaders...)
			for line, want := range tt.lines {
				require.Equal(t, want, run(t, s, line), line)
			}
			require.Len(t, s.List(), len(distinct(s, tt.lines)))
			require.Len(t, problems, len(tt.problems), "%v", problems)
			for i, p := range problems {
				require.Contains(t, p.Message, tt.problems[i])
				require.NotContains(t, p.Message, "\x1b")
			}
		})
	}
}

// distinct returns the commands of the lines.
func distinct(s *commands.Set, lines map[string]string) map[*commands.Command]bool {
	found := map[*commands.Command]bool{}
	for line := range lines {
		found[s.Lookup(strings.TrimPrefix(line, "/"))] = true
	}
	return found
}

// CM-02: parsing of lines.
func TestParse(t *testing.T) {
	chat := builtIn("chat")
	chat.Action = nil
	chat.SubCommands = []*commands.Command{builtIn("load", "save"), builtIn("save"), {Name: "deep", SubCommands: []*commands.Command{builtIn("er")}}, {Name: "hidden", Hidden: true}}
	plan := builtIn("plan")
	plan.SubCommands = []*commands.Command{{Name: "copy", NoArgs: true, Action: says("copies")}}
	s, _ := assemble(t, loader{"a", []*commands.Command{chat, plan, builtIn("help", "?"), command("git:commit"), builtIn("clear")}, nil})
	for line, want := range map[string]string{
		"/help":                       "built-in help()",
		"  /? a  b \n c ":             "built-in help(a  b \n c)",
		"/chat load x":                "built-in load(x)",
		"/chat save x":                "built-in save(x)", // a name takes precedence over an alternative name
		"/chat deep er  x":            "built-in er(x)",
		"/plan":                       "built-in plan()",
		"/plan copy":                  "copies()",
		"/plan copy the file":         "built-in plan(copy the file)",
		"/git:commit\tnow":            "git:commit(now)",
		"/nope":                       "There is no command /nope.",
		"/":                           "There is no command /.",
		"/ help":                      "There is no command /.",
		"/Help":                       "There is no command /Help.",
		"/home/x/y.go is broken":      "There is no command /home/x/y.go.",
		"/chat":                       "/chat requires a sub-command.",
		"/chat nope x":                `/chat has no sub-command "nope".`,
		"/chat deep":                  "/chat deep requires a sub-command.",
		"/\x1b[31mred":                `There is no command /\x1b[31mred.`,
		"/" + strings.Repeat("x", 99): "There is no command /" + strings.Repeat("x", 60) + "….",
	} {
		require.Equal(t, want, run(t, s, line), "%q", line)
	}
	for _, line := range []string{"", "hello", "// a comment", "/* one */", " //x", "a /help", "!ls"} {
		require.False(t, s.Parse(line).IsCommand, line)
	}
	m := s.Parse(" /chat load  x y")
	require.Equal(t, commands.Invocation{Raw: "/chat load  x y", Name: "chat load", Args: "x y"}, m.Invocation)
	for line, want := range map[string]string{
		"/hepl":   "Did you mean /help? /help lists the commands.",
		"/hlp":    "Did you mean /help? /help lists the commands.",
		"/cl":     "Did you mean /clear? /help lists the commands.",
		"/zzzzzz": "/help lists the commands.",
	} {
		_, err := s.Parse(line).Run(t.Context(), &commands.Context{})
		require.Equal(t, want, fault.As(err).Remedy, line)
	}
	_, err := s.Parse("/home/x").Run(t.Context(), &commands.Context{})
	require.Contains(t, fault.As(err).Remedy, "begin with a word")
	_, err = s.Parse("/chat").Run(t.Context(), &commands.Context{})
	require.Equal(t, "Type /chat and one of: load, save, deep.", fault.As(err).Remedy)
	require.False(t, new(commands.Set).Parse("x").IsCommand)
	require.Nil(t, new(commands.Set).Parse("/x").Command)
}

// CM-03: the invocation of a command.
func TestRunTellsTheInvocation(t *testing.T) {
	var seen commands.Invocation
	s, _ := assemble(t, loader{"a", []*commands.Command{
		{Name: "probe", Action: func(_ context.Context, c *commands.Context, args string) (commands.Result, error) {
			seen = c.Invocation
			require.Equal(t, c.Invocation.Args, args)
			return nil, nil
		}},
		{Name: "panics", Action: func(context.Context, *commands.Context, string) (commands.Result, error) { panic("sk-secret") }},
		{Name: "fails", Action: func(context.Context, *commands.Context, string) (commands.Result, error) {
			return nil, errors.New("it is Monday")
		}},
	}, nil})
	_, err := s.Parse("/probe a b").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.Equal(t, commands.Invocation{Raw: "/probe a b", Name: "probe", Args: "a b"}, seen)
	_, err = s.Parse("/panics").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.UnhandledException, fault.CodeOf(err))
	require.NotContains(t, fault.As(err).Message, "sk-secret")
	_, err = s.Parse("/fails").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
	require.Equal(t, "The command /fails failed: it is Monday.", fault.As(err).Message)
}

func TestComplete(t *testing.T) {
	tags := func(_ context.Context, _ *commands.Context, partial string) ([]commands.Candidate, error) {
		if partial == "fail" {
			return nil, errors.New("no")
		}
		var found []commands.Candidate
		for _, tag := range []string{"zoo", "alpha", "a b"} {
			if strings.HasPrefix(tag, partial) {
				found = append(found, commands.Candidate{Value: tag, Description: "a tag"})
			}
		}
		return found, nil
	}
	load := builtIn("load")
	load.Completion = tags
	chat := builtIn("chat")
	chat.SubCommands = []*commands.Command{load, builtIn("list"), {Name: "secret", Hidden: true, Completion: tags}}
	clearAll := builtIn("clear", "new")
	clearAll.AutoExecute, clearAll.Description = true, "Begins anew."
	s, _ := assemble(t, loader{"a", []*commands.Command{chat, clearAll, command("git:commit"), command("git:clean"), command("compact"), {Name: "shadow", Hidden: true}}, nil})
	tests := map[string]struct { // | is the cursor
		from, to int
		items    string
	}{
		"/|":              {1, 1, "chat clear compact git:clean git:commit"},
		"/c|":             {1, 2, "chat clear compact git:clean git:commit"},
		"/com|":           {1, 4, "compact git:commit"},
		"/c|lear x":       {1, 6, "chat clear compact git:clean git:commit"},
		" /ne|":           {2, 4, "new"},
		"/sh|":            {1, 3, ""},
		"/nope x|":        {0, 0, ""},
		"/chat |":         {6, 6, "load list"},
		"/chat  lo|":      {7, 9, "load"},
		"/chat load |":    {11, 11, "zoo alpha a b"},
		"/chat load a|":   {11, 12, "alpha a b"},
		"/chat load a b|": {11, 14, "a b"},
		"/chat secret z|": {13, 14, "zoo"},
		"/chat nope x y|": {0, 0, ""},
		"/clear x|":       {7, 8, ""},
		"|/chat":          {0, 0, ""},
		"// c|":           {0, 0, ""},
		"hello /c|":       {0, 0, ""},
	}
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			cursor := strings.IndexByte(text, '|')
			line := text[:cursor] + text[cursor+1:]
			got, err := s.Complete(t.Context(), &commands.Context{}, line, cursor)
			require.NoError(t, err)
			var items []string
			for _, item := range got.Items {
				items = append(items, item.Value)
			}
			require.Equal(t, tt.items, strings.Join(items, " "))
			if tt.items != "" {
				require.Equal(t, []int{tt.from, tt.to}, []int{got.From, got.To})
			}
		})
	}
	got, err := s.Complete(t.Context(), nil, "/cl", 3)
	require.NoError(t, err)
	require.Equal(t, commands.Candidate{Value: "clear", Description: "Begins anew.", Run: true}, got.Items[0])
	_, err = s.Complete(t.Context(), nil, "/chat load fail", 15)
	require.Error(t, err)
}

// many returns a set with a thousand commands.
func many(tb testing.TB) *commands.Set {
	var all []*commands.Command
	for i := range 1000 {
		all = append(all, command(fmt.Sprintf("folder%d:command%d", i%10, i)))
	}
	s, _, err := commands.Assemble(tb.Context(), loader{"many", all, nil})
	require.NoError(tb, err)
	return s
}

func TestManyCommands(t *testing.T) {
	s := many(t)
	require.Len(t, s.List(), 1000)
	require.Equal(t, "folder7:command997(x)", run(t, s, "/folder7:command997 x"))
	got, err := s.Complete(t.Context(), nil, "/folder7:", 9)
	require.NoError(t, err)
	require.Len(t, got.Items, 100)
	_, err = s.Parse("/folder7:comand997").Run(t.Context(), &commands.Context{})
	require.Contains(t, fault.As(err).Remedy, "/folder7:command997, /folder7:command197, /folder7:command297?")
}

func BenchmarkAssemble1000(b *testing.B) {
	for b.Loop() {
		many(b)
	}
}

func BenchmarkParse1000(b *testing.B) {
	s := many(b)
	for b.Loop() {
		s.Parse("/folder7:command997 x")
	}
}

func BenchmarkUnknown1000(b *testing.B) {
	s := many(b)
	for b.Loop() {
		s.Parse("/folder7:comand997 x")
	}
}

func BenchmarkComplete1000(b *testing.B) {
	s := many(b)
	for b.Loop() {
		_, _ = s.Complete(b.Context(), nil, "/command9", 9)
	}
}

// For any line the parsed parts are parts of the line, and a completion replaces a part
// of it.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"", "/", "//", "/*", "/chat load x", " /\u00a0x", "/x\x00y", "/\xff \xff", "/folder7:command997 a  b"} {
		f.Add(line, len(line))
	}
	s := many(f)
	f.Fuzz(func(t *testing.T, line string, cursor int) {
		m := s.Parse(line)
		if want := strings.HasPrefix(m.Raw, "/") && !strings.HasPrefix(m.Raw, "//") && !strings.HasPrefix(m.Raw, "/*"); m.IsCommand != want {
			t.Errorf("Parse(%q).IsCommand = %t", line, m.IsCommand)
		}
		if !strings.Contains(line, m.Args) || !m.IsCommand && m.Command != nil {
			t.Errorf("Parse(%q) = %+v", line, m)
		}
		got, err := s.Complete(t.Context(), nil, line, cursor)
		if err != nil || got.From < 0 || got.From > got.To || got.To > len(line) {
			t.Errorf("Complete(%q, %d) = %d to %d, %v", line, cursor, got.From, got.To, err)
		}
	})
}

package commandfile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/tools"
)

// write creates files below a directory.
func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// shell is a commandfile.Shell that prints its command lines.
type shell struct {
	mu      sync.Mutex
	decide  map[string]commandfile.Decision // other lines are allowed
	output  map[string]commandfile.Output
	allowed map[string]bool
	ran     []string
}

func (s *shell) Decide(_ context.Context, line string) (commandfile.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.decide[line]
	if !ok || d.Verdict == commandfile.Ask && s.allowed[line] {
		return commandfile.Decision{Verdict: commandfile.Allow}, nil
	}
	return d, nil
}

func (s *shell) Allow(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines {
		if s.allowed == nil {
			s.allowed = map[string]bool{}
		}
		s.allowed[line] = true
	}
}

func (s *shell) Run(_ context.Context, line string) (commandfile.Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, line)
	if out, ok := s.output[line]; ok {
		return out, nil
	}
	return commandfile.Output{Text: "<" + line + ">"}, nil
}

// files is a commandfile.Files of fixed texts.
type files map[string]string

func (f files) Read(_ context.Context, path string) (commandfile.Injected, error) {
	text, ok := f[path]
	switch {
	case !ok:
		return commandfile.Injected{Notices: []string{"There is no file " + path + "."}}, nil
	case text == "ignored":
		return commandfile.Injected{Ignored: true, Parts: []tools.Part{{Text: "?"}}, Notices: []string{"Ignore rules cover it."}}, nil
	case text == "picture":
		return commandfile.Injected{Parts: []tools.Part{{InlineData: &tools.InlineData{MIMEType: "image/png", Data: []byte("png")}}}}, nil
	}
	return commandfile.Injected{Parts: []tools.Part{{Text: text}}}, nil
}

// ui records its messages.
type ui struct{ said []commands.Message }

func (u *ui) Say(m commands.Message) { u.said = append(u.said, m) }
func (u *ui) Progress(string)        {}

// custom returns the set of the commands of one directory.
func custom(t testing.TB, s *shell, f files, contents map[string]string) *commands.Set {
	t.Helper()
	set, problems, err := commands.Assemble(t.Context(), commandfile.New(commandfile.Options{
		Dirs: []commandfile.Dir{{Path: write(t, t.TempDir(), contents)}}, Shell: s, Files: f,
	}))
	require.NoError(t, err)
	require.Empty(t, problems)
	return set
}

// prompt runs a line that must submit a prompt, and returns its text.
func prompt(t *testing.T, set *commands.Set, line string) string {
	t.Helper()
	r, err := set.Parse(line).Run(t.Context(), &commands.Context{UI: &ui{}})
	require.NoError(t, err, line)
	submit, ok := r.(commands.SubmitPrompt)
	require.True(t, ok, "%#v", r)
	require.True(t, submit.Expanded)
	var text strings.Builder
	for _, p := range submit.Content.Parts {
		text.WriteString(p.String())
	}
	return text.String()
}

// CM-08: names of files, descriptions, and origins of commands.
func TestFiles(t *testing.T) {
	long := strings.Repeat("x", 60)
	dir := write(t, t.TempDir(), map[string]string{
		"plain.toml":                    `prompt = "p"`,
		"git/commit.toml":               "description = \"Commits\\n it \\u001b[31m\"\nprompt = '''\nCommit.\n'''\nother = 1\n[more]\nx = 2",
		"a/b/c d$é.toml":                `prompt = "p"`,
		long + ".toml":                  `prompt = "p"`,
		"bom.toml":                      "\ufeffprompt = \"p\"",
		"long.toml":                     `prompt = "p"` + "\ndescription = \"" + strings.Repeat("y", 200) + `"`,
		"notes.md":                      "no command",
		"sub/.hidden.toml":              `prompt = "p"`,
		"0/1/2/3/4/5/6/7/8/9/deep.toml": `prompt = "p"`,
	})
	all, problems, err := commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}, {Path: filepath.Join(dir, "none")}}}).Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	found := map[string]*commands.Command{}
	for _, c := range all {
		require.Equal(t, commands.KindFile, c.Kind)
		require.NotEmpty(t, c.Source)
		found[c.Name] = c
	}
	require.Len(t, found, 8)
	require.Equal(t, "Custom command from plain.toml", found["plain"].Description)
	require.Equal(t, "Commits it [31m", found["git:commit"].Description)
	require.Equal(t, filepath.Join(dir, "git", "commit.toml"), found["git:commit"].Source)
	require.Contains(t, found, "a:b:c_d__")
	require.Contains(t, found, strings.Repeat("x", 47)+"...")
	require.Contains(t, found, "bom")
	require.Contains(t, found, "sub:.hidden")
	require.Contains(t, found, "0:1:2:3:4:5:6:7:8:9:deep")
	require.Len(t, []rune(found["long"].Description), 100)
}

// CM-08: an invalid file is reported with its line, and affects no other.
func TestFilesMalformed(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{
		"ok.toml":          `prompt = "p"`,
		"syntax.toml":      "description = \"d\"\nprompt = \"never closed",
		"type.toml":        "description = \"d\"\n\nprompt = 3",
		"list.toml":        "prompt = [\"a\"]",
		"none.toml":        `description = "d"`,
		"empty.toml":       `prompt = "  "`,
		"nothing.toml":     "",
		"twice.toml":       "prompt = \"a\"\nprompt = \"b\"",
		"bytes.toml":       "prompt = \"\xff\"",
		"huge.toml":        `prompt = "` + strings.Repeat("x", 1<<20) + `"`,
		"open.toml":        "prompt = \"\"\"\nfirst\nsecond !{echo {\n\"\"\"",
		"dir.toml/in.toml": `prompt = "in"`,
	})
	outside := write(t, t.TempDir(), map[string]string{"secret.toml": `prompt = "secret"`})
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.toml"), filepath.Join(dir, "link.toml")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink("ok.toml", filepath.Join(dir, "inside.toml")))
	require.NoError(t, os.Symlink("gone.toml", filepath.Join(dir, "broken.toml")))
	all, problems, err := commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}}}).Load(t.Context())
	require.NoError(t, err)
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"dir.toml:in", "inside", "ok", "open"}, names)
	lines, told := map[string]int{}, map[string]string{}
	for _, p := range problems {
		name := filepath.Base(p.Path)
		require.NotContains(t, told, name)
		lines[name], told[name] = p.Line, p.Message
		require.Equal(t, name != "open.toml", p.IsError(), name)
	}
	for name, line := range map[string]int{
		"syntax.toml": 2, "type.toml": 3, "list.toml": 1, "none.toml": 1, "empty.toml": 1, "nothing.toml": 1, "twice.toml": 2, "bytes.toml": 1,
		"huge.toml": 0, "open.toml": 0, "link.toml": 0, "folder": 0, "broken.toml": 0,
	} {
		require.Contains(t, told, name)
		require.Equal(t, line, lines[name], "%s: %s", name, told[name])
	}
	require.Len(t, told, 13)
	require.Contains(t, told["link.toml"], "link out of the directory")
	require.Contains(t, told["folder"], "not followed")
	require.Contains(t, told["open.toml"], `The "!{" in line 2 of the prompt is not closed.`)

	set, _, err := commands.Assemble(t.Context(), commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}}}))
	require.NoError(t, err)
	for _, p := range problems {
		require.NotContains(t, p.Message, "struct")
	}
	_, err = set.Parse("/open").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "open.toml")

	_, problems, err = commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: filepath.Join(dir, "ok.toml")}}}).Load(t.Context())
	require.NoError(t, err)
	require.Len(t, problems, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}}}).Load(ctx)
	require.Error(t, err)
}

// CM-08: a type error is reported in terms of TOML, with a remedy for that error.
func TestFilesMalformedValues(t *testing.T) {
	for text, want := range map[string]struct {
		line            int
		message, remedy string
	}{
		"prompt = 3":                          {1, "prompt is a number, and must be a string", `prompt = "…"`},
		"\nPrompt = 2.5":                      {2, "Prompt is a number, and must be a string", `Prompt = "…"`},
		"prompt = true":                       {1, "prompt is true or false, and must be a string", "quotes"},
		"prompt = [\"a\"]":                    {1, "prompt is a list, and must be a string", "quotes"},
		"prompt = 2026-01-02":                 {1, "prompt is a date or time, and must be a string", "quotes"},
		"prompt = {a = 1}":                    {1, "prompt is a table, and must be a string", "quotes"},
		"[prompt]\na = 1":                     {1, "prompt is a table, and must be a string", "quotes"},
		"[[prompt]]\na = 1":                   {1, "prompt is a list, and must be a string", "quotes"},
		"prompt = \"p\"\ndescription = 3":     {2, "description is a number, and must be a string", `description = "…"`},
		"prompt = \"several\nlines\"":         {1, "new lines", "three quotes"},
		"prompt = 'several\nlines'":           {1, "new lines", "three quotes"},
		"description = \"d\"\nprompt = words": {2, "The command is invalid", "Correct the line."},
		"prompt = \"a\"\nprompt = \"b\"":      {2, "The command is invalid", "Correct the line."},
	} {
		dir := write(t, t.TempDir(), map[string]string{"c.toml": text})
		all, problems, err := commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}}}).Load(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
		require.Len(t, problems, 1, text)
		require.Equal(t, want.line, problems[0].Line, text)
		require.Contains(t, problems[0].Message, want.message, text)
		require.Contains(t, problems[0].Remedy, want.remedy, text)
		require.NotContains(t, problems[0].Message, "struct")
	}
}

// The value of a variable is always text: the name of a directory is chosen by the
// extension's author.
func TestFilesVariables(t *testing.T) {
	for _, directory := range []string{"/plain", "/x!{touch harm}", "/y'; touch harm; '", `/z"$(touch harm)`, "/{{args}}", "/@{a.txt}", "/${extensionPath}", "/!{", "/`touch harm`"} {
		s, f := &shell{}, files{directory + "/a.txt": "A", "a.txt": "never"}
		dir := write(t, t.TempDir(), map[string]string{
			"text.toml":    `prompt = "In ${workspacePath}, ${other}."`,
			"file.toml":    `prompt = "Read @{${workspacePath}/a.txt} @{${workspacePath}/gone}."`,
			"command.toml": `prompt = "!{ls ${workspacePath} \"${workspacePath}\" ${other} {{args}}}"`,
			"unsafe.toml":  `prompt = "!{eval ls ${workspacePath}}"`,
			"source.toml":  `prompt = "!{. ${workspacePath}/lib.sh; run}"`,
		})
		set, problems, err := commands.Assemble(t.Context(), commandfile.New(commandfile.Options{
			Dirs: []commandfile.Dir{{Path: dir, Extension: "ext", Variables: map[string]string{"workspacePath": directory, "extensionPath": "/ext"}}}, Shell: s, Files: f,
		}))
		require.NoError(t, err)
		require.Empty(t, problems)
		require.Equal(t, "In "+directory+", ${other}.", prompt(t, set, "/text"))
		require.Equal(t, "Read A @{"+directory+"/gone}.", prompt(t, set, "/file"))
		single := "'" + strings.ReplaceAll(directory, "'", `'\''`) + "'"
		double := `"` + strings.NewReplacer(`"`, `\"`, "$", `\$`, "`", "\\`").Replace(directory) + `"`
		prompt(t, set, "/command it's")
		prompt(t, set, "/source")
		require.Equal(t, []string{"ls " + single + " " + double + ` ${other} 'it'\''s'`, ". " + single + "/lib.sh; run"}, s.ran)
		_, err = set.Parse("/unsafe").Run(t.Context(), &commands.Context{})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, fault.As(err).Message, "the value of ${workspacePath}")
	}
}

// CM-07, CM-08: commands of the user, the project and extensions.
func TestFilesOfSeveralDirectories(t *testing.T) {
	user := write(t, t.TempDir(), map[string]string{"x.toml": `prompt = "user"`, "y.toml": `prompt = "user y"`})
	project := write(t, t.TempDir(), map[string]string{"x.toml": `prompt = "project"`})
	extension := write(t, t.TempDir(), map[string]string{"x.toml": `prompt = "in ${extensionPath} and ${HOME}"`, "z.toml": `prompt = "z"`})
	set, problems, err := commands.Assemble(t.Context(), commandfile.New(commandfile.Options{
		Dirs: []commandfile.Dir{{Path: user}, {Path: project}, {
			Path: extension, Extension: "ext", ID: "1", Variables: map[string]string{"extensionPath": "/ext/${HOME}"},
		}},
		Shell: &shell{}, Files: files{},
	}))
	require.NoError(t, err)
	require.Equal(t, "project", prompt(t, set, "/x"))
	require.Equal(t, "user y", prompt(t, set, "/y"))
	require.Equal(t, "in /ext/${HOME} and ${HOME}", prompt(t, set, "/ext.x"))
	require.Equal(t, "z", prompt(t, set, "/z"))
	require.Equal(t, "[ext] Custom command from z.toml", set.Lookup("z").Description)
	require.Equal(t, "1", set.Lookup("z").ExtensionID)
	require.Len(t, problems, 2)
}

// The expansions in a prompt; expanded text is not expanded again.
func TestTemplates(t *testing.T) {
	s := &shell{output: map[string]commandfile.Output{
		"fails":  {Text: "oh\n", Code: 3},
		"killed": {Signal: "SIGKILL"},
		"hangs":  {Text: "a", Ended: "It printed nothing for 5 minutes."},
		"evil":   {Text: "!{rm} @{a} {{args}}"},
		"silent": {},
	}}
	f := files{"a.txt": "A", "evil": "!{rm} {{args}} @{a.txt}", "skip": "ignored", "x{y}": "braces", "é": "accent"}
	tests := map[string]struct{ template, line, want string }{
		"text":                       {"Say hello.", "/c", "Say hello."},
		"arguments":                  {"Fix {{args}}, {{args}}!", "/c  the  bug ", "Fix the  bug, the  bug!"},
		"no arguments given":         {"Fix {{args}}.", "/c", "Fix ."},
		"not asked for":              {"Review.", "/c  it well", "Review.\n\n/c  it well"},
		"none and not asked for":     {"Review.", "/c", "Review."},
		"are not looked into":        {"Say {{args}}", "/c !{rm} @{a.txt} {{args}}", "Say !{rm} @{a.txt} {{args}}"},
		"a file":                     {"Read @{a.txt} and @{ a.txt }.", "/c", "Read A and A."},
		"a file's own marks":         {"@{evil}", "/c x", "!{rm} {{args}} @{a.txt}\n\n/c x"},
		"no such file":               {"Read @{gone}.", "/c", "Read @{gone}."},
		"an ignored file":            {"Read @{skip}.", "/c", "Read ."},
		"no path from arguments":     {"Read @{{{args}}}.", "/c a.txt", "Read @{{{args}}}.\n\n/c a.txt"},
		"braces in a path":           {"@{x{y}}", "/c", "braces"},
		"empty":                      {"a@{}b!{ }c", "/c", "abc"},
		"another alphabet":           {"é@{é}é", "/c", "éaccenté"},
		"a command":                  {"Status: !{git status}.", "/c", "Status: <git status>."},
		"braces in a command":        {"!{f() { echo ${x}; }; f}", "/c", "<f() { echo ${x}; }; f>"},
		"arguments in a command":     {"!{grep {{args}} .} for {{args}}", "/c it's; rm", `<grep 'it'\''s; rm' .> for it's; rm`},
		"none in a command":          {"!{git log {{args}}}", "/c", "<git log>"},
		"git's own":                  {"!{git log @{upstream}..}", "/c", "<git log @{upstream}..>"},
		"what it prints":             {"!{evil}", "/c", "!{rm} @{a} {{args}}"},
		"a command that fails":       {"a !{fails} b", "/c", "a oh\n[The command fails ended with exit code 3] b"},
		"one that is killed":         {"!{killed}", "/c", "[The command killed was ended by the signal SIGKILL]"},
		"one that is ended":          {"!{hangs}", "/c", "a\n[The command hangs was ended: It printed nothing for 5 minutes.]"},
		"one that prints nothing":    {"a!{silent}b", "/c", "ab"},
		"a mark that is none":        {"{{ args }} {args} ! {x} @ {y} \\!{silent}", "/c", "{{ args }} {args} ! {x} @ {y} \\"},
		"a file whose name has args": {"@{a.txt} {{args}}", "/c @{a.txt}", "A @{a.txt}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set := custom(t, s, f, map[string]string{"c.toml": fmt.Sprintf("prompt = %q", tt.template)})
			require.Equal(t, tt.want, prompt(t, set, tt.line))
		})
	}
	require.NotContains(t, s.ran, "rm")
}

// Images are separate parts, and unreadable files are reported.
func TestTemplateParts(t *testing.T) {
	set := custom(t, &shell{}, files{"p.png": "picture", "skip": "ignored"}, map[string]string{"c.toml": `prompt = "See @{p.png}@{gone} and @{skip}"`})
	u := &ui{}
	r, err := set.Parse("/c").Run(t.Context(), &commands.Context{UI: u})
	require.NoError(t, err)
	parts := r.(commands.SubmitPrompt).Content.Parts
	require.Len(t, parts, 3)
	require.Equal(t, "See ", parts[0].Text)
	require.Equal(t, []byte("png"), parts[1].InlineData.Data)
	require.Equal(t, "@{gone} and ", parts[2].Text)
	require.Equal(t, []commands.Message{
		{Level: commands.LevelWarning, Text: "@{gone}: There is no file gone."}, {Level: commands.LevelInfo, Text: "@{skip}: Ignore rules cover it."},
	}, u.said)
	_, err = set.Parse("/c").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
}

// Policy decides on all commands before one runs; approval is requested for all at once,
// and lasts for later runs.
func TestTemplateCommandsAreDecided(t *testing.T) {
	ask := commandfile.Decision{Verdict: commandfile.Ask}
	s := &shell{decide: map[string]commandfile.Decision{
		"one": ask, "two 'x'": ask, "two 'y'": ask, "rm": {Verdict: commandfile.Deny, Reason: "The rule no-rm denies it.", Remedy: "Change the rule."},
	}}
	set := custom(t, s, files{}, map[string]string{
		"asks.toml": `prompt = "!{ls} !{one} !{two {{args}}} !{one}"`, "denied.toml": `prompt = "!{ls} !{one} !{rm}"`,
	})
	c := &commands.Context{}
	r, err := set.Parse("/asks x").Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, commands.ConfirmShellCommands{Commands: []string{"one", "two 'x'"}}, r)
	require.Empty(t, s.ran)

	_, err = set.Parse("/denied").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
	require.Equal(t, "The command /denied runs !{rm}, which is denied; nothing was run. The rule no-rm denies it.", fault.As(err).Message)
	require.Equal(t, "Change the rule.", fault.As(err).Remedy)
	require.Empty(t, s.ran)

	c.ApprovedCommands = append(r.(commands.ConfirmShellCommands).Commands, "something else")
	r, err = set.Parse("/asks x").Run(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "<ls> <one> <two 'x'> <one>", r.(commands.SubmitPrompt).Content.String())
	require.Equal(t, map[string]bool{"one": true, "two 'x'": true}, s.allowed)
	r, err = set.Parse("/asks y").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.Equal(t, commands.ConfirmShellCommands{Commands: []string{"two 'y'"}}, r)
	require.Equal(t, "<ls> <one> <two 'x'> <one>", prompt(t, set, "/asks x"))
}

// Each file is a command or a problem.
func FuzzFile(f *testing.F) {
	fuzzseed.Add(f)
	for _, data := range []string{"", `prompt = "p"`, "prompt = '''\n!{", "prompt=3", "\xff", "[prompt]\nx=1", "prompt = \"\"\"\n{{args}}\"\"\"\ndescription = [1]"} {
		f.Add([]byte(data))
	}
	dir := f.TempDir()
	l := commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "c.toml"), data, 0o600))
		all, problems, err := l.Load(t.Context())
		require.NoError(t, err)
		lost := 0
		for _, p := range problems {
			require.NotEmpty(t, p.Message)
			if p.IsError() {
				lost++
			}
		}
		require.Equal(t, 1, len(all)+lost)
	})
}

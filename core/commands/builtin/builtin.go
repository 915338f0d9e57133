package builtin

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Loader returns the loader of the built-in commands whose services s has.
func Loader(s Services) commands.Loader {
	s.Product = cmp.Or(s.Product, "fettle")
	return loader{&s}
}

// Names returns the names and alternative names of all built-in commands, independent of
// a session, unordered.
func Names() []string {
	var names []string
	for _, e := range table {
		c := e.command(&Services{})
		names = append(append(names, c.Name), c.AltNames...)
	}
	return append(names, dialogNames...)
}

type loader struct{ s *Services }

func (l loader) Name() string { return "built-in commands" }

func (l loader) Load(context.Context) (all []*commands.Command, _ []fault.Problem, _ error) {
	for _, e := range table {
		if e.has(l.s) {
			all = append(all, e.command(l.s))
		}
	}
	for _, name := range l.s.Dialogs {
		all = append(all, dialog(name))
	}
	for _, c := range all {
		mark(c)
	}
	return all, nil, nil
}

// mark sets the kind of c and its sub-commands to built-in.
func mark(c *commands.Command) {
	c.Kind = commands.KindBuiltIn
	for _, sub := range c.SubCommands {
		mark(sub)
	}
}

// entry is one built-in command.
type entry struct {
	has     func(s *Services) bool // its services are available
	command func(s *Services) *commands.Command
}

// table lists the built-in commands.
var table = [...]entry{
	{func(*Services) bool { return true }, quitCommand},
	{func(s *Services) bool { return s.Catalog != nil }, helpCommand},
	{func(s *Services) bool { return s.Catalog != nil }, commandsCommand},
	{func(s *Services) bool { return s.Clear != nil }, clearCommand},
	{func(s *Services) bool { return s.Tools != nil }, toolsCommand},
	{func(s *Services) bool { return s.Models != nil }, modelCommand},
	{func(s *Services) bool { return s.Chats != nil }, chatCommand},
	{func(s *Services) bool { return s.Transcript != nil }, copyCommand},
	{func(s *Services) bool { return s.Transcript != nil }, exportCommand},
	{func(s *Services) bool { return s.Compressor != nil }, compressCommand},
	{func(s *Services) bool { return s.Skills != nil }, skillCommand},
	{func(s *Services) bool { return s.Skills != nil }, skillsCommand},
	{func(s *Services) bool { return s.Servers != nil }, mcpCommand},
	{func(s *Services) bool { return s.Trust != nil }, permissionsCommand},
	{func(s *Services) bool { return s.Policy != nil }, policyCommand},
	{func(s *Services) bool { return s.Memory != nil }, memoryCommand},
	{func(s *Services) bool { return s.Stats != nil }, statsCommand},
	{func(s *Services) bool { return s.Checkpoints != nil }, restoreCommand},
	{func(s *Services) bool { return s.About != nil }, aboutCommand},
	{func(s *Services) bool { return s.Agents != nil }, agentsCommand},
	{func(s *Services) bool { return s.Hooks != nil }, hooksCommand},
	{func(s *Services) bool { return s.Extensions != nil }, extensionsCommand},
	{func(s *Services) bool { return s.Directories != nil }, directoryCommand},
	{func(s *Services) bool { return s.ContextFile != nil }, initCommand},
	{func(s *Services) bool { return s.Mode != nil }, modeCommand},
	{func(s *Services) bool { return s.Mode != nil }, planCommand},
}

// action is the action of a command.
type action = func(ctx context.Context, c *commands.Context, args string) (commands.Result, error)

// plain returns a sub-command without arguments.
func plain(name, description string, do func(ctx context.Context) (commands.Result, error), alt ...string) *commands.Command {
	return &commands.Command{
		Name: name, AltNames: alt, Description: description, AutoExecute: true, NoArgs: true,
		Action: func(ctx context.Context, _ *commands.Context, _ string) (commands.Result, error) { return do(ctx) },
	}
}

// info returns a message.
func info(format string, args ...any) commands.Result {
	return commands.Message{Level: commands.LevelInfo, Text: fmt.Sprintf(format, args...)}
}

// missing returns the error of a command without its argument.
func missing(what, remedy string) error {
	return fault.New(fault.InvalidToolParams, "builtin", "Missing "+what+".", remedy)
}

// switches returns sub-commands that enable and disable a named item.
func switches(what string, names func(on bool) []commands.Candidate, set func(ctx context.Context, name string, on bool) error) []*commands.Command {
	turn := func(verb, description string, on bool) *commands.Command {
		return &commands.Command{
			Name: verb, Description: description,
			Action: func(ctx context.Context, c *commands.Context, name string) (commands.Result, error) {
				if name == "" {
					return nil, missing("name of the "+what, "Type /"+c.Invocation.Name+" NAME.")
				}
				if err := set(ctx, name, on); err != nil {
					return nil, err
				}
				return info("The %s %s is %sd.", what, code(name), verb), nil
			},
			Completion: func(_ context.Context, _ *commands.Context, partial string) ([]commands.Candidate, error) {
				return beginning(names(on), partial), nil
			},
		}
	}
	return []*commands.Command{
		turn("enable", "Enables a "+what+": /… enable NAME", true), turn("disable", "Disables a "+what+": /… disable NAME", false),
	}
}

// beginning returns the candidates with the typed prefix.
func beginning(all []commands.Candidate, typed string) (found []commands.Candidate) {
	for _, c := range all {
		if strings.HasPrefix(c.Value, typed) {
			found = append(found, c)
		}
	}
	return found
}

// withProblems appends problems to a text.
func withProblems(text string, problems []string) commands.Result {
	if len(problems) == 0 {
		return info("%s", text)
	}
	var b strings.Builder
	b.WriteString(text + " Problems:\n")
	for _, p := range problems {
		b.WriteString("\n- " + line(p))
	}
	return commands.Message{Level: commands.LevelWarning, Text: b.String()}
}

// maxLine bounds a description in a list.
const maxLine = 160

// line returns outside text as one line of a list, escaped for Markdown.
func line(text string) string { return escaped(escape.Plain(text, maxLine)) }

// escaped returns text escaped for Markdown.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "~", `\~`, "#", `\#`, "|", `\|`).Replace(text)
}

// code returns text as inline code.
func code(text string) string {
	text = escape.Plain(text, 500)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// fenced is text as it is, as a block of code.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// item writes an item of a list: a name and its description.
func item(b *strings.Builder, name, about string) {
	b.WriteString("- " + code(name))
	if about != "" {
		b.WriteString(" — " + about)
	}
	b.WriteByte('\n')
}

// words parts args into the first word and the rest.
func words(args string) (first, rest string) {
	end := strings.IndexFunc(args, unicode.IsSpace)
	if end < 0 {
		return args, ""
	}
	return args[:end], strings.TrimSpace(args[end:])
}

// count is a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

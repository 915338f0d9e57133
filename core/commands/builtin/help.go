package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

func quitCommand(*Services) *commands.Command {
	return &commands.Command{
		Name: "quit", AltNames: []string{"exit"}, Description: "Ends the session; --delete also deletes its recording.", AutoExecute: true,
		Action: func(_ context.Context, _ *commands.Context, args string) (commands.Result, error) {
			switch args {
			case "":
				return commands.Quit{}, nil
			case "--delete":
				return commands.Quit{Delete: true}, nil
			}
			return nil, fault.New(fault.InvalidToolParams, "builtin.quit", "The only argument of /quit is --delete.", "Type /quit, or /quit --delete.")
		},
		Completion: func(_ context.Context, _ *commands.Context, partial string) ([]commands.Candidate, error) {
			return beginning([]commands.Candidate{{Value: "--delete", Description: "and deletes the recording"}}, partial), nil
		},
	}
}

func helpCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "help", AltNames: []string{"?"}, Description: "Lists the commands; /help keys the keys, /help all both in full; /help NAME describes a command.", AutoExecute: true,
		Action: func(_ context.Context, _ *commands.Context, args string) (commands.Result, error) {
			all := s.Catalog.List()
			switch strings.Join(strings.Fields(args), " ") {
			case "":
				return commands.CustomDialog{Title: "Help", Text: helpText(s, all)}, nil
			case "keys":
				if keys := s.keys(); keys != "" {
					return commands.CustomDialog{Title: "Keys", Text: keys}, nil
				}
				return info("This front end has no keys of its own."), nil
			case "all", "all keys", "keys all":
				return commands.CustomDialog{Title: "Help", Text: fullHelp(s, all)}, nil
			}
			return helpOf(all, strings.TrimPrefix(args, "/"))
		},
		Completion: func(_ context.Context, _ *commands.Context, partial string) (found []commands.Candidate, _ error) {
			found = []commands.Candidate{{Value: "keys", Description: "Lists the keys."}, {Value: "all", Description: "Lists keys, commands and sub-commands."}}
			for _, c := range s.Catalog.List() {
				if !c.Hidden {
					found = append(found, commands.Candidate{Value: c.Name, Description: c.Description})
				}
			}
			return beginning(found, partial), nil
		},
	}
}

// keys returns the keys of the front end, "" if it has none.
func (s *Services) keys() string {
	if s.Keys == nil {
		return ""
	}
	return s.Keys()
}

// sections are the kinds of commands in the order of the help, with their titles.
func sections() []struct {
	kind  commands.Kind
	title string
} {
	return []struct {
		kind  commands.Kind
		title string
	}{
		{commands.KindBuiltIn, "Commands"}, {commands.KindFile, "Your commands"}, {commands.KindMCPPrompt, "Prompts of MCP servers"}, {commands.KindSkill, "Skills"}, {commands.KindAgent, "Agents"},
	}
}

// helpText returns the output of /help, as Markdown.
func helpText(s *Services, all []*commands.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Type a prompt for %s. `@PATH` inserts a file, `!COMMAND` runs a shell command, and `/NAME` runs one of these commands.\n", s.Product)
	if s.keys() != "" {
		b.WriteString("`/help keys` lists the keys, and `/help all` everything.\n")
	}
	for _, of := range sections() {
		heading := "\n**" + of.title + "**\n\n"
		for _, c := range all {
			if c.Kind == of.kind && !c.Hidden {
				b.WriteString(heading)
				heading = ""
				item(&b, "/"+c.Name, line(c.Description))
			}
		}
	}
	return b.String()
}

// fullHelp returns the output of /help all, as Markdown: the keys, and all commands with
// their alternative names and sub-commands.
func fullHelp(s *Services, all []*commands.Command) string {
	var b strings.Builder
	if keys := s.keys(); keys != "" {
		b.WriteString(keys)
	}
	for _, of := range sections() {
		heading := "\n**" + of.title + "**\n\n"
		for _, c := range all {
			if c.Kind == of.kind && !c.Hidden {
				b.WriteString(heading)
				heading = ""
				withSubCommands(&b, "/", c)
			}
		}
	}
	return b.String()
}

// withSubCommands writes a command and those below it.
func withSubCommands(b *strings.Builder, before string, c *commands.Command) {
	about := line(c.Description)
	if len(c.AltNames) > 0 {
		about += " (also " + code(before+strings.Join(c.AltNames, ", "+before)) + ")"
	}
	item(b, before+c.Name, about)
	for _, sub := range c.SubCommands {
		if !sub.Hidden {
			withSubCommands(b, before+c.Name+" ", sub)
		}
	}
}

// helpOf returns the details of one command.
func helpOf(all []*commands.Command, name string) (commands.Result, error) {
	var found *commands.Command
	for _, c := range all {
		if c.Name == name {
			found = c
		}
	}
	for _, c := range all {
		for _, alt := range c.AltNames {
			if found == nil && alt == name {
				found = c
			}
		}
	}
	if found == nil {
		return nil, fault.New(fault.InvalidToolParams, "builtin.help", "There is no command /"+escape.Clip(escape.Line(name), 60)+".", "/help lists the commands.")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**/%s** (%s) %s\n", escaped(found.Name), found.Kind, line(found.Description))
	if len(found.AltNames) > 0 {
		fmt.Fprintf(&b, "\nAlso: /%s\n", escaped(strings.Join(found.AltNames, ", /")))
	}
	if found.Source != "" {
		fmt.Fprintf(&b, "\nFrom: %s\n", code(found.Source))
	}
	if len(found.SubCommands) > 0 {
		b.WriteByte('\n')
	}
	for _, sub := range found.SubCommands {
		if !sub.Hidden {
			item(&b, sub.Name, line(sub.Description))
		}
	}
	return info("%s", b.String()), nil
}

func commandsCommand(s *Services) *commands.Command {
	list := func(context.Context) (commands.Result, error) {
		var b strings.Builder
		n := 0
		for _, c := range s.Catalog.List() {
			if c.Kind == commands.KindBuiltIn || c.Hidden {
				continue
			}
			n++
			about := line(c.Description)
			if c.Source != "" {
				about += " (" + string(c.Kind) + ", " + code(c.Source) + ")"
			}
			item(&b, "/"+c.Name, about)
		}
		if n == 0 {
			return info("There are only built-in commands. A file commands/NAME.toml in the settings directory makes one."), nil
		}
		return titled("The commands, except the built-in ones:", &b, ""), nil
	}
	return &commands.Command{
		Name: "commands", Description: "Lists or reloads the commands of files, servers, skills and agents.", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, _ string) (commands.Result, error) { return list(ctx) },
		SubCommands: []*commands.Command{
			plain("list", "Lists them.", list),
			plain("reload", "Reloads them.", func(ctx context.Context) (commands.Result, error) {
				problems, err := s.Catalog.Reload(ctx)
				if err != nil {
					return nil, err
				}
				var texts []string
				for _, p := range problems {
					texts = append(texts, p.String())
				}
				return withProblems("The commands were reloaded.", texts), nil
			}, "refresh"),
		},
	}
}

func aboutCommand(s *Services) *commands.Command {
	return &commands.Command{
		Name: "about", Description: "Shows the version of the program and the state of the session.", AutoExecute: true,
		Action: func(context.Context, *commands.Context, string) (commands.Result, error) {
			var b strings.Builder
			for _, f := range s.About.About() {
				fmt.Fprintf(&b, "- **%s**: %s\n", escaped(f.Name), code(f.Value))
			}
			return titled("The program and the session:", &b, ""), nil
		},
	}
}

// dialogNames are the dialogs that may be commands of their own: those of
// [commands.Dialog] that no other command opens.
var dialogNames = []string{"auth", "theme", "editor", "privacy", "resume", "settings", "sessionBrowser", "agentConfig"}

// dialog is the command that opens one of the front end's dialogs.
func dialog(name string) *commands.Command {
	return &commands.Command{
		Name: name, Description: "Opens the " + name + " dialog.", AutoExecute: true,
		Action: func(context.Context, *commands.Context, string) (commands.Result, error) {
			return commands.Dialog{Name: name}, nil
		},
	}
}

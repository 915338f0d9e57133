// Package commandfile loads slash commands from TOML files: a prompt each, in which
// arguments, files and the output of commands are inserted.
package commandfile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Shell runs the commands of templates, as the session runs them for a model. It is safe
// for concurrent use.
type Shell interface {
	// Decide returns the policy decision on a command line, as for run_shell_command.
	// The error is the reason why there is none.
	Decide(ctx context.Context, line string) (Decision, error)
	// Allow allows these exact lines, which the user has approved, until the session
	// ends.
	Allow(lines []string)
	// Run runs a line. It returns an error if the line did not run because it was
	// denied.
	Run(ctx context.Context, line string) (Output, error)
}

// Verdict is the decision on a command line.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Decision is a verdict with its explanation.
type Decision struct {
	Verdict Verdict
	Reason  string // a sentence that names the rule
	Remedy  string // may be empty
}

// Output is the result of a command line.
type Output struct {
	Text   string // what it printed
	Code   int    // its exit code
	Signal string // that ended it; "" if none
	Ended  string // why it was ended early, a sentence; "" if it was not
	// Context is additional context from hooks for the model. "": none.
	Context string
}

// Files reads the files in templates. It is safe for concurrent use.
type Files interface {
	// Read reads a file, or the files of a directory, and records the read. A relative
	// path is looked up in each directory of the workspace. An unreadable file is a
	// notice, not an error; the error is of code cancelled.
	Read(ctx context.Context, path string) (Injected, error)
}

// Injected is the content for a path in a template.
type Injected struct {
	Parts   []tools.Part
	Ignored bool     // an ignore rule matches, so the content is empty
	Notices []string // sentences for the user
}

// expansion is the expansion of one template.
type expansion struct {
	template *template
	shell    Shell
	files    Files
	c        *commands.Context
}

// run expands the template: it gets the policy decision on all commands, then reads the
// files, then runs the commands. So no command has run when approval is requested. ask
// are the commands that need approval.
func (e *expansion) run(ctx context.Context) (content tools.Content, ask []string, err error) {
	lines, err := e.template.commandLines(e.c.Invocation.Args)
	if err != nil {
		return tools.Content{}, nil, err
	}
	e.shell.Allow(slices.DeleteFunc(slices.Clone(e.c.ApprovedCommands), func(line string) bool { return !slices.Contains(lines, line) }))
	if ask, err = e.decide(ctx, lines); err != nil || len(ask) > 0 {
		return tools.Content{}, ask, err
	}
	read, err := e.read(ctx)
	if err != nil {
		return tools.Content{}, nil, err
	}
	var b builder
	for _, p := range e.template.pieces {
		switch p.kind {
		case pieceText, pieceVariable:
			b.text(p.text)
		case pieceArgs:
			b.text(e.template.argumentsOf(p, e.c.Invocation.Args))
		case pieceFile:
			b.text(read[0].text)
			b.parts(read[0].parts)
			read = read[1:]
		case pieceCommand:
			line := lines[0]
			lines = lines[1:]
			printed, beside, err := e.printed(ctx, line)
			if err != nil {
				return tools.Content{}, nil, err
			}
			b.text(printed)
			if beside != "" {
				b.parts([]tools.Part{{Text: "\n" + beside + "\n"}})
			}
		}
	}
	if args := e.c.Invocation.Args; args != "" && !e.template.hasArgs {
		if b.text("\n\n"); e.template.markdown {
			b.text("ARGUMENTS: " + args)
		} else {
			b.text(e.c.Invocation.Raw)
		}
	}
	return b.content(), nil, nil
}

// decide returns the commands that need approval.
func (e *expansion) decide(ctx context.Context, lines []string) (ask []string, err error) {
	for _, line := range lines {
		if line == "" || slices.Contains(ask, line) {
			continue
		}
		if err := e.template.limit.refuse(e.c.Invocation.Name, line); err != nil {
			return nil, err
		}
		d, err := e.shell.Decide(ctx, line)
		switch {
		case err != nil:
			return nil, err
		case d.Verdict == Allow:
		case d.Verdict == Ask:
			ask = append(ask, line)
		default:
			return nil, fault.New(fault.PolicyViolation, "commands.shell",
				fmt.Sprintf("The command /%s runs !{%s}, which is denied; nothing was run. %s", e.c.Invocation.Name, short(line), d.Reason), d.Remedy)
		}
	}
	return ask, nil
}

// injected is the replacement of a path: text of the template, or parts.
type injected struct {
	text  string
	parts []tools.Part
}

// read returns the content for each path of the template.
func (e *expansion) read(ctx context.Context) (all []injected, err error) {
	for _, p := range e.template.pieces {
		if p.kind != pieceFile {
			continue
		}
		path := e.template.pathOf(p, e.c.Invocation.Args)
		if path == "" {
			all = append(all, injected{})
			continue
		}
		found, err := e.files.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		level := commands.LevelWarning
		if found.Ignored || p.loose {
			level = commands.LevelInfo
		}
		for _, notice := range found.Notices {
			e.say(level, e.template.filled(p.raw)+": "+notice)
		}
		switch {
		case found.Ignored:
			all = append(all, injected{})
		case len(found.Parts) == 0: // it stays as written
			all = append(all, injected{text: e.template.filled(p.raw)})
		default:
			all = append(all, injected{parts: found.Parts})
		}
	}
	return all, nil
}

func (e *expansion) say(level commands.MessageLevel, text string) {
	if e.c.UI != nil {
		e.c.UI.Say(commands.Message{Level: level, Text: text})
	}
}

func (e *expansion) progress(now string) {
	if e.c.UI != nil {
		e.c.UI.Progress(now)
	}
}

// printed runs a command and returns its output, and the context from hooks.
func (e *expansion) printed(ctx context.Context, line string) (text, beside string, err error) {
	if line == "" {
		return "", "", nil
	}
	e.progress(short(line))
	defer e.progress("")
	out, err := e.shell.Run(ctx, line)
	if err != nil {
		return "", "", err
	}
	text, beside = out.Text, out.Context
	status := ""
	switch {
	case out.Ended != "":
		status = "was ended: " + out.Ended
	case out.Signal != "":
		status = "was ended by the signal " + out.Signal
	case out.Code != 0:
		status = fmt.Sprintf("ended with exit code %d", out.Code)
	default:
		return text, beside, nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[The command " + short(line) + " " + status + "]", beside, nil
}

// short returns a command line shortened for a message.
func short(line string) string { return escape.Clip(escape.Line(line), 120) }

// builder joins adjacent texts. Parts stay separate, so that the content of a file is
// distinct from the text around it.
type builder struct {
	all  []tools.Part
	open bool // the last part is a text that further text extends
}

func (b *builder) text(text string) {
	if text == "" {
		return
	}
	if b.open {
		b.all[len(b.all)-1].Text += text
		return
	}
	b.all, b.open = append(b.all, tools.Part{Text: text}), true
}

func (b *builder) parts(parts []tools.Part) {
	if len(parts) > 0 {
		b.all, b.open = append(b.all, parts...), false
	}
}

func (b *builder) content() tools.Content { return tools.Content{Parts: b.all} }

// Package importer turns the permissions of other agents into fettle's rules: those of
// Claude Code's settings.json and the policies of Gemini CLI. The rules are never looser
// than their source. A permission that cannot be expressed is left out; a prohibition
// that cannot be expressed denies more. A note reports each.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// Note is a part of the source that the rules do not express exactly.
type Note struct {
	Entry  string // as written
	Effect string // of the import, as a sentence
}

// Result is an import.
type Result struct {
	Rules []policy.Rule
	Notes []Note
}

// maxSource is the maximum size of a source file.
const maxSource = 4 << 20

// Command returns the command import.
func Command() guard.Command {
	return guard.Command{
		Name: "import",
		Usage: `import [--to FILE] FILE…    turn .claude/settings.json or Gemini policies (*.toml) into rules
      --to FILE             write the rules to a new policy file (default: stdout)`,
		Run: run,
	}
}

// run imports files. The rules go to stdout or a file, the notes to stderr.
func run(ctx context.Context, s guard.Streams, args []string) int {
	var to string
	files, err := guard.ParseFlags(args, guard.Flag{Name: "to", Value: &to})
	if err == nil && len(files) == 0 {
		err = errors.New("name the files to import")
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "fettle-guard import: "+escape.Line(err.Error()))
		return guard.ExitUsage
	}
	if err := importFiles(ctx, s, files, to); err != nil {
		text := err.Error()
		if f := fault.As(err); f != nil {
			text = f.Line()
		}
		_, _ = fmt.Fprintln(s.Err, "fettle-guard import: "+escape.Line(text))
		return guard.ExitFailed
	}
	return guard.ExitDone
}

func importFiles(ctx context.Context, s guard.Streams, files []string, to string) error {
	var text strings.Builder
	count := 0
	for _, file := range files {
		data, err := readFile(file)
		if err != nil {
			return err
		}
		read := Claude
		if filepath.Ext(file) == ".toml" {
			read = Gemini
		}
		result, err := read(data)
		if err != nil {
			return fmt.Errorf("import %s: %w", file, err)
		}
		rendered, err := result.Text()
		if err != nil {
			return fmt.Errorf("import %s: %w", file, err)
		}
		count += len(result.Rules)
		fmt.Fprintf(&text, "# Imported from %s.\n\n%s", escape.Line(file), rendered)
		for _, n := range result.Notes {
			_, _ = fmt.Fprintf(s.Err, "%s: %s: %s\n", escape.Line(file), escape.Line(n.Entry), escape.Line(n.Effect)) // the rules are complete without it
		}
	}
	if to == "" {
		_, err := io.WriteString(s.Out, text.String())
		return err
	}
	if err := rulefile.Create(ctx, to, []byte(text.String())); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "%d rules in %s\n", count, escape.Line(to))
	return err
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err = errors.Join(err, f.Close()); err == nil && len(data) > maxSource {
		err = fmt.Errorf("%s is longer than %d MiB", path, maxSource>>20)
	}
	return data, err
}

func (r *Result) note(entry, format string, args ...any) {
	r.Notes = append(r.Notes, Note{Entry: entry, Effect: fmt.Sprintf(format, args...)})
}

// add adds a rule. An invalid rule that allows is left out; for another, the broadest
// valid rule about its tools takes its place.
func (r *Result) add(entry string, rule policy.Rule) {
	rule.Tier = cmp.Or(rule.Tier, policy.TierUser)
	err := rule.Validate()
	switch {
	case err == nil:
		r.Rules = append(r.Rules, rule)
	case rule.Decision == policy.Allow:
		r.note(entry, "Left out: %s", fault.Line(err))
	default:
		if rule.Priority != askPriority { // a broader rule that asks would take precedence over lower ones that deny
			rule.Decision = policy.Deny
		}
		broad := policy.Rule{Tools: rule.Tools, Server: rule.Server, Decision: rule.Decision, Priority: min(max(rule.Priority, 0), 999), Tier: rule.Tier, DenyMessage: rule.DenyMessage}
		if broad.Validate() != nil {
			broad.Tools, broad.Server = []string{"*"}, ""
		}
		r.note(entry, "The rule is broader: %s %s. %s", broad.Decision, strings.Join(broad.Tools, ", "), fault.Line(err))
		r.Rules = append(r.Rules, broad)
	}
}

// Text returns the rules as a policy file. The error reports rules that the file would
// not have.
func (r *Result) Text() (string, error) {
	var b strings.Builder
	for i := range r.Rules {
		b.WriteString(block(&r.Rules[i]))
	}
	file, problems := rulefile.Parse("import", []byte(b.String()), rulefile.Options{Tier: policy.TierUser})
	for _, p := range problems {
		if p.Severity == rulefile.Error {
			return "", errors.New(p.String())
		}
	}
	if len(file.Rules) != len(r.Rules) {
		return "", fmt.Errorf("%d of %d rules cannot be written", len(r.Rules)-len(file.Rules), len(r.Rules))
	}
	return b.String(), nil
}

// block returns a rule as TOML.
func block(r *policy.Rule) string {
	var b strings.Builder
	b.WriteString("[[rule]]\n")
	add := func(key, value string) { b.WriteString(key + " = " + value + "\n") }
	text := func(key, value string) {
		if value != "" {
			add(key, quoted(value))
		}
	}
	flag := func(key string, value *bool) {
		if value != nil {
			add(key, strconv.FormatBool(*value))
		}
	}
	text("name", r.Name)
	text("mcpName", r.Server)
	add("toolName", list(r.Tools))
	text("subagent", r.Subagent)
	if len(r.CommandPrefix) > 0 {
		add("commandPrefix", list(r.CommandPrefix))
	}
	text("commandRegex", r.CommandRegex)
	text("argsPattern", r.ArgsPattern)
	if len(r.Modes) > 0 {
		modes := make([]string, len(r.Modes))
		for i, m := range r.Modes {
			modes[i] = m.String()
		}
		add("modes", list(modes))
	}
	flag("interactive", r.Interactive)
	if r.AllowRedirection {
		add("allowRedirection", "true")
	}
	add("decision", quoted(string(r.Decision)))
	add("priority", strconv.Itoa(r.Priority))
	text("denyMessage", r.DenyMessage)
	return b.String() + "\n"
}

func list(texts []string) string {
	items := make([]string, len(texts))
	for i, t := range texts {
		items[i] = quoted(t)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// quoted returns a TOML string.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c < ' ' || c >= 0x7f && escape.Hidden(c):
			fmt.Fprintf(&b, `\U%08X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

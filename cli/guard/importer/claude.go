package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/cli/guard/hook"
	"github.com/fettle-dev/fettle/core/policy"
)

// The priorities of imported rules: Claude Code applies deny, then ask, then allow.
const (
	allowPriority = 100
	askPriority   = 200
	denyPriority  = 300
	modePriority  = 1
)

var (
	readers   = []string{"read_file", "list_directory", "glob", "search_file_content"}
	editors   = []string{"write_file", "edit", "safe_patch", "apply_patch", "str_replace_based_edit_tool"}
	shellTool = []string{"run_shell_command"}
)

// anything matches the rest of a value in the canonical form of arguments.
const anything = `[^\x00]*`

// Claude returns the rules for the permissions of a settings.json of Claude Code.
func Claude(data []byte) (*Result, error) {
	plain, err := hujson.Standardize(data)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	var source struct {
		Permissions struct {
			Allow, Ask, Deny      []string
			AdditionalDirectories []string
			DefaultMode           string
		}
	}
	if err := json.Unmarshal(plain, &source); err != nil {
		return nil, fmt.Errorf("its permissions have another form: %w", err)
	}
	r := &Result{}
	p := source.Permissions
	for _, part := range []struct {
		entries  []string
		decision policy.Verdict
		priority int
	}{{p.Deny, policy.Deny, denyPriority}, {p.Ask, policy.AskUser, askPriority}, {p.Allow, policy.Allow, allowPriority}} {
		for _, entry := range part.entries {
			r.entry(entry, policy.Rule{Name: string(part.decision) + " " + entry, Decision: part.decision, Priority: part.priority, Tier: policy.TierUser})
		}
	}
	for _, dir := range p.AdditionalDirectories {
		r.note("additionalDirectories: "+dir, "Left out: rules cannot add a directory. Name it with context.includeDirectories.")
	}
	r.mode(p.DefaultMode)
	return r, nil
}

// mode adds the rules for a mode that is stricter than the default.
func (r *Result) mode(mode string) {
	entry := "defaultMode: " + mode
	switch mode {
	case "", "default", "manual":
	case "plan":
		r.add(entry, policy.Rule{Name: entry, Tools: editors, Decision: policy.Deny, Priority: denyPriority})
		r.note(entry, "The rules deny every edit. To preview edits, choose --approval-mode plan instead.")
	case "dontAsk":
		r.add(entry, policy.Rule{Name: entry, Tools: []string{"*"}, Decision: policy.Deny, Priority: modePriority})
		r.note(entry, "The rules deny every call that no rule allows, also calls that only read.")
	default:
		r.note(entry, "Left out: a mode that allows more is not a rule.")
	}
}

// entry adds the rules for one permission, TOOL or TOOL(SPECIFIER).
func (r *Result) entry(entry string, rule policy.Rule) {
	name, rest, specified := strings.Cut(strings.TrimSpace(entry), "(")
	spec := strings.TrimSpace(strings.TrimSuffix(rest, ")"))
	if specified && !strings.HasSuffix(rest, ")") {
		r.note(entry, "Its closing bracket is missing.")
	}
	whole := !specified || spec == "" || spec == "*"
	allows := rule.Decision == policy.Allow
	switch name {
	case "Bash", "PowerShell":
		rule.Tools = shellTool
		if !whole {
			r.command(entry, spec, rule)
			return
		}
	case "Read", "Glob", "Grep", "LS", "NotebookRead":
		rule.Tools = readers
		if !whole {
			r.path(entry, spec, rule)
			return
		}
		if !allows {
			rule.Tools = append(slices.Clone(readers), "read_many_files")
		}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		rule.Tools = editors
		switch {
		case name != "Edit" && !whole && allows:
			r.note(entry, "Left out: Claude Code ignores paths of %s; write Edit(%s).", name, spec)
			return
		case name != "Edit" && whole && allows:
			rule.Tools = []string{"write_file"}
			if name != "Write" {
				rule.Tools = []string{"edit"}
			}
		}
		if !whole {
			r.path(entry, spec, rule)
			return
		}
	case "WebFetch":
		rule.Tools = []string{"web_fetch"}
		if !whole {
			r.domain(entry, spec, rule)
			return
		}
	default:
		if strings.HasPrefix(name, "mcp__") {
			r.server(entry, name, whole, rule)
			return
		}
		tool, known := hook.ClaudeTool(name)
		if !known && allows {
			r.note(entry, "Left out: fettle has no tool for %s.", name)
			return
		}
		rule.Tools = []string{tool}
		if !known {
			rule.Tools = []string{name}
			r.note(entry, "fettle has no tool for it; the rule applies to a tool of the same name.")
		}
		if !whole && allows {
			r.note(entry, "Left out: the form of the brackets is unknown.")
			return
		}
		if !whole {
			r.note(entry, "The rule is broader: it applies to the whole tool.")
		}
	}
	r.add(entry, rule)
}

// command adds the rule for command lines: an exact one, PREFIX:*, or a pattern with *.
func (r *Result) command(entry, spec string, rule policy.Rule) {
	allows := rule.Decision == policy.Allow
	prefix, isPrefix := strings.CutSuffix(spec, ":*")
	if !isPrefix {
		prefix, isPrefix = strings.CutSuffix(spec, " *")
	}
	plain := func(s string) bool { return !strings.ContainsAny(s, "*?[]{}()$`'\"\\;&|<>\n#!~=") }
	switch {
	case isPrefix && plain(prefix):
		rule.CommandPrefix = []string{strings.TrimSpace(prefix)}
	case !strings.Contains(spec, "*") && plain(spec) && !allows:
		rule.CommandPrefix = []string{spec}
		r.note(entry, "The rule is broader: it also applies with further arguments.")
	case allows:
		var parts []string
		for part := range strings.SplitSeq(spec, "*") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		rule.CommandRegex = strings.Join(parts, ".*") + "$"
	default: // its quotes and blanks may be written in other ways
		var words []string
		for _, word := range strings.FieldsFunc(spec, func(c rune) bool { return !isWord(c) }) {
			words = append(words, regexp.QuoteMeta(word))
		}
		if words == nil {
			r.note(entry, "The rule is broader: it applies to every command.")
			break
		}
		rule.CommandRegex = `(?is).*` + words[0]
		if first := rune(spec[0]); isWord(first) && first != '-' && first != '.' {
			rule.CommandRegex = `(?is).*\b` + words[0]
		}
		r.note(entry, "The rule is broader: it applies to every command that contains %q.", words[0])
	}
	r.add(entry, rule)
}

func isWord(c rune) bool {
	return c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// path adds the rules for the files of a pattern, in the form of .gitignore.
func (r *Result) path(entry, spec string, rule policy.Rule) {
	allows := rule.Decision == policy.Allow
	pattern, ok := pathPattern(spec, allows)
	if !ok && allows {
		r.note(entry, "Left out: the pattern has no equal rule.")
		return
	}
	reads := slices.Equal(rule.Tools, readers)
	if ok {
		for _, key := range []string{"file_path", "dir_path"}[:either(reads && allows, 2, 1)] {
			keyed := rule
			keyed.ArgsPattern = either(allows, "", "(?i)") + `\x00"` + key + `":"` + pattern + `"\x00`
			r.add(entry, keyed)
		}
	} else {
		r.note(entry, "The rule is broader: it applies to every file.")
		r.add(entry, rule)
	}
	if allows {
		return
	}
	name := literal(spec)
	if reads { // the arguments of these tools may be patterns
		search, many := rule, rule
		search.Tools, many.Tools = readers[1:], []string{"read_many_files"}
		if name != "" {
			search.ArgsPattern = `(?i)` + regexp.QuoteMeta(name)
		}
		r.add(entry, search)
		r.add(entry, many)
	}
	line := rule
	line.Tools = shellTool
	if name == "" {
		r.note(entry, "The rule for commands is broader: it applies to every command.")
	} else {
		line.CommandRegex = `(?is).*` + regexp.QuoteMeta(name)
		r.note(entry, "A rule for commands is added: it applies to every command that contains %q.", name)
	}
	r.add(entry, line)
}

func either[T any](condition bool, a, b T) T {
	if condition {
		return a
	}
	return b
}

// literal returns the last part of a path pattern without wildcards, "" for none.
func literal(spec string) string {
	best := ""
	for part := range strings.SplitSeq(spec, "/") {
		for word := range strings.FieldsFuncSeq(part, func(c rune) bool { return !isWord(c) }) {
			if strings.Trim(word, ".") != "" {
				best = word
			}
		}
	}
	return best
}

// pathPattern returns a regular expression for the paths of a pattern, as they are in
// arguments. ok is false for a pattern that has none.
func pathPattern(spec string, allows bool) (pattern string, ok bool) {
	if strings.ContainsAny(spec, "\\[]{}!\"\x00") || strings.Contains(spec, "..") {
		return "", false
	}
	below := `(?:/` + anything + `|)`
	from := ""
	switch {
	case strings.HasPrefix(spec, "//"):
		from, spec = "/", strings.TrimLeft(spec, "/")
	case strings.HasPrefix(spec, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false
		}
		from, spec = regexp.QuoteMeta(home)+"/", spec[2:]
	case allows && strings.HasPrefix(spec, "/"): // relative to the project, or to the user's settings
		return "", false
	case !allows: // at any depth, which includes every directory that is meant
		from = `(?:` + anything + `/|)`
	case !strings.Contains(strings.TrimSuffix(strings.TrimPrefix(spec, "./"), "/"), "/"):
		from = `(?:(?:[^/.\x00]|\.[^./\x00])` + anything + `/|)` // at any depth of the project
	}
	spec = strings.TrimLeft(strings.TrimPrefix(spec, "./"), "/")
	spec = strings.TrimSuffix(strings.TrimSuffix(spec, "/"), "/**")
	if spec == "" || spec == "**" || spec == "*" {
		if allows && from == "" {
			return `(?:[^/.\x00]|\.[^./\x00])` + anything, true
		}
		return from + anything, true
	}
	var b strings.Builder
	for i := 0; i < len(spec); {
		switch {
		case strings.HasPrefix(spec[i:], "**/"):
			b.WriteString(`(?:` + anything + `/|)`)
			i += 3
		case strings.HasPrefix(spec[i:], "**"):
			b.WriteString(anything)
			i += 2
		case spec[i] == '*':
			b.WriteString(`[^/\x00]*`)
			i++
		case spec[i] == '?':
			b.WriteString(`[^/\x00]`)
			i++
		default:
			b.WriteString(regexp.QuoteMeta(spec[i : i+1]))
			i++
		}
	}
	if allows && strings.HasPrefix(spec, "**/") && from == "" { // not outside of the project
		return "", false
	}
	return from + b.String() + below, true
}

// domain adds the rule for WebFetch(domain:NAME).
func (r *Result) domain(entry, spec string, rule policy.Rule) {
	host, ok := strings.CutPrefix(spec, "domain:")
	host = strings.TrimSpace(host)
	name, wild := strings.CutPrefix(host, "*.")
	valid := ok && name != "" && strings.IndexFunc(name, func(c rune) bool { return !isWord(c) }) < 0
	switch {
	case !valid && rule.Decision == policy.Allow:
		r.note(entry, "Left out: it is not domain:NAME.")
		return
	case !valid:
		r.note(entry, "The rule is broader: it applies to every page.")
	case rule.Decision == policy.Allow:
		if wild {
			name = `[A-Za-z0-9-][A-Za-z0-9.-]*\.` + regexp.QuoteMeta(name)
		} else {
			name = regexp.QuoteMeta(name)
		}
		rule.ArgsPattern = `\x00"url":"https?://` + name + `(?::[0-9]+|)(?:[/?#]` + anything + `|)"\x00`
	default:
		rule.ArgsPattern = `(?i)` + regexp.QuoteMeta(name)
		r.note(entry, "The rule is broader: it applies to every page whose address contains %q.", name)
	}
	r.add(entry, rule)
}

// server adds the rule for mcp__SERVER or mcp__SERVER__TOOL.
func (r *Result) server(entry, name string, whole bool, rule policy.Rule) {
	server, tool, named := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !named || tool == "" {
		tool = "*"
	}
	allows := rule.Decision == policy.Allow
	switch {
	case allows && (!whole || server == "" || strings.Contains(server, "*") || strings.Contains(tool, "__") || strings.Contains(strings.TrimSuffix(tool, "*"), "*")):
		r.note(entry, "Left out: it has no equal rule.")
		return
	case server == "" || strings.Contains(server, "*"):
		rule.Server, tool = "*", "*"
		r.note(entry, "The rule applies to every server.")
	default:
		rule.Server = server
		if strings.Contains(tool, "__") || strings.Contains(strings.TrimSuffix(tool, "*"), "*") { // the server's name may be longer
			rule.Server, tool = "*", "*"
			r.note(entry, "The rule is broader: it applies to every server.")
		}
	}
	rule.Tools = []string{tool}
	r.add(entry, rule)
}

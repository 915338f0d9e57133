package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// Words returns the calls that the rule covers, as a phrase for display: one line
// that is safe to show, with every condition of the rule but without its
// decision. Rules with different conditions have different words. The patterns
// that [Engine.Narrow] creates are parsed; of other patterns the text is quoted.
func (r Rule) Words() string {
	var b strings.Builder
	b.WriteString(r.calls())
	if r.AllowRedirection {
		b.WriteString(", redirections into the workspace included")
	}
	for _, condition := range conditions {
		if condition.words != nil && condition.given(&r) {
			b.WriteString(condition.words(&r))
		}
	}
	b.WriteString(r.inModes())
	return b.String()
}

// calls returns the phrase for the conditions on tool and arguments.
func (r Rule) calls() string {
	switch {
	case r.OtherCommands:
		return "commands that do not begin with " + listed(r.CommandPrefix, "or with")
	case len(r.CommandPrefix) > 0:
		return "commands that begin with " + listed(r.CommandPrefix, "or with")
	case r.CommandRegex != "":
		return "commands that match " + escape.Quote(r.CommandRegex)
	}
	what, with := "", ""
	switch {
	case r.Server == "":
		what = listed(r.Tools, "or")
	case slices.Equal(r.Tools, []string{"*"}):
		what = "any tool"
	default:
		what = "the tool " + listed(r.Tools, "or")
	}
	switch r.Server {
	case "":
	case "*":
		what += " of any MCP server"
	default:
		what += " of the MCP server " + plainly(r.Server)
	}
	switch words, found := r.arguments(); {
	case found && r.aboutShell() && words.command != "":
		return "exactly the command " + plainly(words.command)
	case found:
		return what + words.text
	case r.ArgsPattern != "":
		with = " with arguments that match " + escape.Quote(r.ArgsPattern)
	case r.Server != "":
		with = ", with any arguments"
	case slices.Equal(r.Tools, []string{"*"}):
		return "any call"
	default:
		what = "any call of " + what
	}
	return what + with
}

func (r Rule) aboutShell() bool {
	return r.Server == "" && len(r.Tools) == 1 && (r.Tools[0] == shellTool || r.Tools[0] == shellAlias)
}

// inModes returns the phrase for the modes of the rule, unless these are the ones
// of such a rule without any.
func (r Rule) inModes() string {
	const every = modeSet(1<<len(modes) - 1)
	const changing = every &^ planBit
	var in modeSet
	for _, m := range r.Modes {
		in |= modeBit(m)
	}
	if in&modeBit(ModeAutoEdit) != 0 {
		in |= modeBit(ModeAuto) // which includes it
	}
	switch {
	case in == 0, in == every && r.Decision != Allow, in == changing && r.Decision == Allow:
		return ""
	case in == every:
		return ", in plan mode too"
	}
	var names []string
	for _, m := range modes {
		if in&modeBit(m.mode) != 0 {
			names = append(names, m.flag)
		}
	}
	return ", in " + listed(names, "and") + " mode"
}

// listed joins texts: a, b or c.
func listed(texts []string, word string) string {
	var b strings.Builder
	for i, text := range texts {
		switch {
		case i == 0:
		case i == len(texts)-1 || word == "or with":
			b.WriteString(", " + word + " ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(plainly(text))
	}
	return b.String()
}

// plain matches a text that is unambiguous within a phrase.
var plain = lazyregexp.New(`\A[A-Za-z0-9_./:@%+=*~-]+(?: [A-Za-z0-9_./:@%+=*~-]+)*\z`)

// plainly returns a text unchanged if its ends are unambiguous, else in quotes.
func plainly(text string) string {
	if plain().MatchString(text) {
		return text
	}
	return escape.Quote(text)
}

// argumentWords is the meaning of a pattern of arguments.
type argumentWords struct {
	text    string // after the name of a tool
	command string // of a pattern for exactly one command
}

// arguments parses an ArgsPattern of [exactArg], [exactArgs] or [sameHost].
func (r Rule) arguments() (argumentWords, bool) {
	if r.ArgsPattern == "" {
		return argumentWords{}, false
	}
	if key, value, rest, ok := readExactArg(r.ArgsPattern); ok && rest == "" && exactArg(key, value) == r.ArgsPattern {
		text, isText := value.(string)
		switch {
		case isText && key == "command":
			return argumentWords{" with command " + plainly(text), text}, true
		case isText && slices.Contains(pathKeys, key):
			return argumentWords{text: " on " + plainly(text)}, true
		}
		return argumentWords{text: " with " + pair(key, value)}, true
	}
	if host, ok := readHost(r.ArgsPattern); ok {
		return argumentWords{text: " of any page of " + plainly(host)}, true
	}
	values, added, ok := readExactArgs(r.ArgsPattern)
	if !ok || exactArgs(values, added) != r.ArgsPattern {
		return argumentWords{}, false
	}
	words := " without arguments"
	if len(values) > 0 {
		var given []string
		for _, key := range slices.Sorted(maps.Keys(values)) {
			given = append(given, pair(key, values[key]))
		}
		words = " with exactly " + strings.Join(given, ", ")
	}
	if len(added) > 0 {
		words += ", and any " + listed(added, "or")
	}
	return argumentWords{text: words}, true
}

// pair formats an argument for a phrase.
func pair(key string, value any) string {
	if text, ok := value.(string); ok {
		return plainly(key) + " " + escape.Quote(text)
	}
	return plainly(key) + " " + escape.JSON(string(appendCanonical(nil, value, false)))
}

// readExactArg parses a pattern of [exactArg] at the beginning of pattern.
func readExactArg(pattern string) (key string, value any, rest string, ok bool) {
	const bound = `\x00`
	rest, ok = strings.CutPrefix(pattern, bound)
	if !ok {
		return "", nil, "", false
	}
	text, rest := literal(rest)
	if rest, ok = strings.CutPrefix(rest, bound); !ok {
		return "", nil, "", false
	}
	var object map[string]any
	if json.Unmarshal([]byte("{"+text+"}"), &object) != nil || len(object) != 1 {
		return "", nil, "", false
	}
	for key, value = range object {
	}
	return key, value, rest, true
}

// readExactArgs parses a pattern of [exactArgs].
func readExactArgs(pattern string) (values map[string]any, added []string, ok bool) {
	rest, ok := strings.CutPrefix(pattern, `\A\{`)
	values = map[string]any{}
	for ok && rest != `\}\z` {
		if key, value, after, isPair := readExactArg(rest); isPair {
			values[key] = value
			rest, ok = strings.CutPrefix(after, ",?")
			continue
		}
		if rest, ok = strings.CutPrefix(rest, `(?:\x00`); !ok {
			break
		}
		text, after := literal(rest)
		var key string
		if ok = json.Unmarshal([]byte(text[:max(len(text)-1, 0)]), &key) == nil; !ok {
			break
		}
		added = append(added, key)
		if rest, ok = strings.CutPrefix(after, `[^\x00]*\x00,?|)`); !ok {
			break
		}
	}
	return values, added, ok
}

// readHost parses a pattern of [sameHost].
func readHost(pattern string) (host string, ok bool) {
	rest, ok := strings.CutPrefix(pattern, hostBegins)
	if !ok {
		return "", false
	}
	host, rest = literal(rest)
	return host, rest == hostEnds
}

// literal parses the text that regexp.QuoteMeta has written at the beginning of a
// pattern, up to a character that is not literal.
func literal(pattern string) (text, rest string) {
	const special = `\.+*?()|[]{}^$`
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern) && strings.IndexByte(special, pattern[i+1]) >= 0:
			i++
		case strings.IndexByte(special, pattern[i]) >= 0:
			return b.String(), pattern[i:]
		}
		b.WriteByte(pattern[i])
	}
	return b.String(), ""
}

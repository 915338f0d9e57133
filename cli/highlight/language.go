package highlight

import (
	"path"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
)

// language describes a language. Programming languages need only its words and the
// marks of its comments and strings.
type language struct {
	names   []string // the first is the usual one
	files   []string // file names in lower case; those with a dot in front are extensions
	anyCase bool     // case does not matter

	keywords, types, builtins, literals string // separated by blanks
	word                                string // expression of a word; "": letters, digits and _
	capitals                            bool   // words with an initial capital are types
	calls                               bool   // words before a parenthesis are functions

	comments []string // expressions of comments up to the end of the line
	block    span     // comments of several lines
	nested   bool     // which may contain others
	quotes   []quote  // strings; longer marks first
	first    []rule   // tried before all others
	own      states   // all rules, instead of those from the fields above
}

// span is the expressions of the beginning and the end of a construct; zero: none.
type span struct{ begin, end string }

// quote is a kind of strings.
type quote struct {
	begin, end string // expressions
	raw        bool   // a backslash is an ordinary character
	line       bool   // they end with the line at the latest
	inside     string // expression of variables in it; "": none
	code       span   // of code in it
}

// rule finds a token, or with several kinds the groups of its expression.
type rule struct {
	pattern string
	kinds   []chroma.TokenType
	to      string // "": same state, "pop": the previous one, else the state to enter
}

// states are rules by state; "root" is the first one.
type states map[string][]rule

// Short names of the kinds in rules.
const (
	text     = chroma.Text
	keyword  = chroma.Keyword
	typ      = chroma.KeywordType
	function = chroma.NameFunction
	builtin  = chroma.NameBuiltin
	str      = chroma.LiteralString
	number   = chroma.LiteralNumber
	comment  = chroma.Comment
	operator = chroma.Operator
	key      = chroma.NameAttribute
	tag      = chroma.NameTag
	heading  = chroma.GenericHeading
	added    = chroma.GenericInserted
	removed  = chroma.GenericDeleted
)

func kinds(k ...chroma.TokenType) []chroma.TokenType { return k }

// index is the languages by name and by file name.
type index struct{ names, files map[string]*language }

var languages = sync.OnceValue(func() index {
	i := index{map[string]*language{}, map[string]*language{}}
	for _, l := range append(programming(), data()...) {
		for _, name := range l.names {
			i.names[name] = l
		}
		for _, file := range l.files {
			i.files[file] = l
		}
	}
	return i
})

// byName returns the language with a name, in any case; nil: unknown.
func byName(name string) *language { return languages().names[strings.ToLower(name)] }

// byFile returns the language of a file by its name; nil: unknown.
func byFile(file string) *language {
	name := strings.ToLower(path.Base(strings.ReplaceAll(file, `\`, "/")))
	if l := languages().files[name]; l != nil {
		return l
	}
	if l := languages().files[path.Ext(name)]; l != nil {
		return l
	}
	stem, _, _ := strings.Cut(name, ".")
	return languages().files[stem]
}

const (
	anyWord   = `[\p{L}_][\p{L}\p{N}_]*`
	anyNumber = `(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[\p{L}%]*`
)

// rules returns the rules of the language for the engine. Each state ends with a rule
// for any character, so that the engine never fails to match.
func (l *language) rules() chroma.Rules {
	all := l.own
	if all == nil {
		all = l.derived()
	}
	out := chroma.Rules{}
	for state, rules := range all {
		for _, r := range rules {
			out[state] = append(out[state], r.compiled())
		}
		if l.own == nil && (state == "root" || strings.HasPrefix(state, "code")) {
			out[state] = append(out[state], l.words()...)
		}
		out[state] = append(out[state], chroma.Rule{Pattern: `[\s\S]`, Type: fallback(state)})
	}
	return out
}

// fallback returns the kind of text in a state that no rule matches.
func fallback(state string) chroma.TokenType {
	switch {
	case strings.HasPrefix(state, "comment"):
		return comment
	case strings.HasPrefix(state, "string"):
		return str
	}
	return text
}

func (r rule) compiled() chroma.Rule {
	c := chroma.Rule{Pattern: r.pattern, Type: r.kinds[0]}
	if len(r.kinds) > 1 {
		var groups []chroma.Emitter
		for _, k := range r.kinds {
			groups = append(groups, k)
		}
		c.Type = chroma.ByGroups(groups...)
	}
	switch r.to {
	case "":
	case "pop":
		c.Mutator = chroma.Pop(1)
	default:
		c.Mutator = chroma.Push(r.to)
	}
	return c
}

// derived returns the rules of a programming language.
func (l *language) derived() states {
	root := append([]rule{{`\s+`, kinds(text), ""}}, l.first...)
	for _, c := range l.comments {
		root = append(root, rule{c + `[^\n]*`, kinds(comment), ""})
	}
	s := states{}
	if l.block != (span{}) {
		root = append(root, rule{l.block.begin, kinds(comment), "comment"})
		s["comment"] = []rule{{l.block.end, kinds(comment), "pop"}}
		if l.nested {
			s["comment"] = append(s["comment"], rule{l.block.begin, kinds(comment), "comment"})
		}
		s["comment"] = append(s["comment"], rule{`[\p{L}\p{N}\s]+`, kinds(comment), ""})
	}
	codes := map[string]rule{}
	for i, q := range l.quotes {
		if q.line && q.inside == "" && q.code == (span{}) {
			body := `(?:\\.|[^\\\n])*?`
			if q.raw {
				body = `[^\n]*?`
			}
			root = append(root, rule{q.begin + body + `(?:` + q.end + `|(?=\n))`, kinds(str), ""})
			continue
		}
		state := "string" + string(rune('a'+i))
		root = append(root, rule{q.begin, kinds(str), state})
		rules := []rule{{q.end, kinds(str), "pop"}}
		if q.line {
			rules = append(rules, rule{`(?=\n)`, kinds(str), "pop"})
		}
		if q.code != (span{}) {
			code := "code" + string(rune('a'+i))
			rules = append(rules, rule{q.code.begin, kinds(operator), code})
			codes[code] = rule{q.code.end, kinds(operator), "pop"}
		}
		if !q.raw {
			rules = append(rules, rule{`\\[\s\S]`, kinds(str), ""})
		}
		if q.inside != "" {
			rules = append(rules, rule{q.inside, kinds(builtin), ""})
		}
		s[state] = append(rules, rule{`[\p{L}\p{N} ]+`, kinds(str), ""})
	}
	for code, end := range codes {
		open := `\{`
		if end.pattern == `\)` {
			open = `\(`
		}
		s[code] = append([]rule{end, {open, kinds(operator), code}}, root...)
	}
	s["root"] = root
	return s
}

// words returns the rules of words, numbers and operators.
func (l *language) words() []chroma.Rule {
	known := map[string]chroma.TokenType{}
	for _, group := range []struct {
		words string
		kind  chroma.TokenType
	}{{l.builtins, builtin}, {l.types, typ}, {l.literals, number}, {l.keywords, keyword}} {
		for _, word := range strings.Fields(group.words) {
			known[word] = group.kind
		}
	}
	classify := chroma.EmitterFunc(func(groups []string, s *chroma.LexerState) chroma.Iterator {
		word := groups[0]
		if l.anyCase {
			word = strings.ToLower(word)
		}
		kind, is := known[word]
		if !is {
			kind = l.unknown(word, s)
		}
		return chroma.Literator(chroma.Token{Type: kind, Value: groups[0]})
	})
	word := l.word
	if word == "" {
		word = anyWord
	}
	return []chroma.Rule{
		{Pattern: word, Type: classify},
		{Pattern: anyNumber, Type: number},
		{Pattern: `[-+*/%=<>!&|^~?:]+`, Type: operator},
		{Pattern: `[()\[\]{},.;]+?`, Type: text},
	}
}

// unknown returns the kind of a word that is not the language's own, by its case and
// the text after it.
func (l *language) unknown(word string, s *chroma.LexerState) chroma.TokenType {
	if l.calls && s.Pos < len(s.Text) && (s.Text[s.Pos] == '(' || s.Text[s.Pos] == '!' && s.Pos+1 < len(s.Text) && s.Text[s.Pos+1] == '(') {
		return function
	}
	if first, n := utf8.DecodeRuneInString(word); l.capitals && unicode.IsUpper(first) {
		if len(word) > n && strings.ToUpper(word) == word {
			return number // a constant
		}
		return typ
	}
	return text
}

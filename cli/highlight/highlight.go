// Package highlight finds the kinds of the words of source code, line by line, for
// their colours in a terminal.
//
// The engine is the regular-expression lexer of chroma. The rules of the languages are
// written here and not chroma's, for three reasons: chroma's package of lexers
// initialises all of its 300 languages in every program that imports it; its rules
// match comments and strings of several lines at once, so that the colours of a line
// of a streamed answer would depend on lines that have not arrived; and they try some
// fifty expressions at each word, where these look words up. The rules favour speed
// and code that is incomplete over telling apart every construct of a language.
//
// The package knows neither Markdown nor diffs. It returns the text unchanged in
// pieces and does not make it safe for a terminal.
package highlight

import (
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// Limits; the text beyond them has no kinds.
const (
	maxBlock = 256 << 10 // bytes of a block
	maxLine  = 2000      // bytes of a line
	maxDepth = 32        // nested constructs
	maxCache = 8192      // lines of one generation of the cache
)

// Token is a piece of a line of one kind.
type Token struct {
	Text string
	Kind Kind
}

// Highlighter highlights blocks of code. It loads a language at its first use, and
// remembers lines, so that drawing a block again costs little. It is not safe for
// concurrent use. A nil Highlighter knows no language.
type Highlighter struct {
	now      func() time.Time
	deadline time.Time // zero: none
	missed   int
	lexers   map[*language]*lexer
	recent   map[cacheKey]result // lines of the current generation
	old      map[cacheKey]result // and of the previous one
}

type cacheKey struct {
	language *language
	stack    string
	line     string
}

// result is the outcome of a line.
type result struct {
	tokens []Token
	stack  string // the open constructs at its end
}

// New returns a Highlighter.
func New() *Highlighter {
	return &Highlighter{now: time.Now, lexers: map[*language]*lexer{}, recent: map[cacheKey]result{}}
}

// Until limits the work until the next call: after the deadline, the rest of each
// block has no kinds, except for lines remembered. The zero time lifts the limit.
func (h *Highlighter) Until(deadline time.Time) {
	if h != nil {
		h.deadline = deadline
	}
}

// Missed returns the number of blocks that the deadline has cut off so far. If it
// changes while something is drawn, drawing it again completes its colours.
func (h *Highlighter) Missed() int {
	if h == nil {
		return 0
	}
	return h.missed
}

// Block is a block of code in the course of highlighting. Copies are independent. The
// zero value has no language.
type Block struct {
	h        *Highlighter
	language *language
	stack    string // the open constructs
	size     int    // bytes so far
}

// Block starts a block in a language, by a name such as "go" or "c++"; see
// [Known]. Text in an unknown language has no kinds.
func (h *Highlighter) Block(name string) Block { return h.block(byName(name)) }

// File starts the content of a file, whose language its name determines.
func (h *Highlighter) File(path string) Block { return h.block(byFile(path)) }

func (h *Highlighter) block(of *language) Block {
	if h == nil || of == nil {
		return Block{}
	}
	return Block{h: h, language: of}
}

// Known reports whether the block has a language and is within the limits.
func (b *Block) Known() bool { return b.language != nil }

// Line returns the next line, without a line feed, in pieces. Joined, their texts are
// the line. Callers must not modify the result.
func (b *Block) Line(line string) []Token {
	plain := []Token{{Text: line}}
	if b.language == nil {
		return plain
	}
	if b.size += len(line) + 1; b.size > maxBlock {
		b.language = nil
		return plain
	}
	if len(line) > maxLine {
		return plain
	}
	key := cacheKey{b.language, b.stack, line}
	found, known := b.h.lookup(key)
	if !known {
		if !b.h.deadline.IsZero() && b.h.now().After(b.h.deadline) {
			b.h.missed++
			b.language = nil
			return plain
		}
		var ok bool
		if found, ok = b.h.lexer(b.language).line(b.stack, line); !ok {
			b.language = nil
			return plain
		}
		b.h.remember(key, found)
	}
	b.stack = found.stack
	return found.tokens
}

func (h *Highlighter) lookup(key cacheKey) (result, bool) {
	if r, ok := h.recent[key]; ok {
		return r, true
	}
	r, ok := h.old[key]
	if ok {
		h.remember(key, r)
	}
	return r, ok
}

func (h *Highlighter) remember(key cacheKey, r result) {
	if len(h.recent) >= maxCache {
		h.old, h.recent = h.recent, make(map[cacheKey]result, maxCache)
	}
	h.recent[key] = r
}

func (h *Highlighter) lexer(of *language) *lexer {
	l := h.lexers[of]
	if l == nil {
		l = newLexer(of)
		h.lexers[of] = l
	}
	return l
}

// lexer is the loaded rules of a language.
type lexer struct {
	engine *chroma.RegexLexer // nil: the rules are invalid
	begin  []string           // the open constructs at the start of the line
	state  *chroma.LexerState // of the line
}

// lineState is the state in which the engine starts a line. Its only rule restores the
// open constructs.
const lineState = "line"

func newLexer(of *language) *lexer {
	l := &lexer{}
	restore := chroma.MutatorFunc(func(s *chroma.LexerState) error {
		l.state = s
		s.Stack = append([]string(nil), l.begin...)
		return nil
	})
	engine, err := chroma.NewLexer(&chroma.Config{Name: of.names[0], NotMultiline: true, CaseInsensitive: of.anyCase}, func() chroma.Rules {
		rules := of.rules()
		rules[lineState] = []chroma.Rule{{Mutator: restore}}
		return rules
	})
	if err == nil {
		l.engine = engine
	}
	return l
}

// line splits a line that starts within the constructs of stack. It fails if the
// engine does.
func (l *lexer) line(stack, line string) (found result, ok bool) {
	defer func() {
		if recover() != nil { // of the engine
			ok = false
		}
	}()
	l.begin = strings.Split("root "+stack, " ")
	if stack == "" {
		l.begin = l.begin[:1]
	}
	if l.engine == nil {
		return result{}, false
	}
	next, err := l.engine.Tokenise(&chroma.TokeniseOptions{State: lineState, Nested: true}, line+"\n")
	if err != nil {
		return result{}, false
	}
	rest := line
	for token := next(); token != chroma.EOF && rest != ""; token = next() {
		n := len(token.Value)
		if n > len(rest) {
			n = len(rest) // the line feed
		}
		if !strings.HasPrefix(token.Value, rest[:n]) { // invalid bytes, which the engine replaces
			return result{tokens: []Token{{Text: line}}, stack: stack}, true
		}
		kind := kindOf(token.Type)
		if last := len(found.tokens) - 1; last >= 0 && found.tokens[last].Kind == kind {
			found.tokens[last].Text = line[len(line)-len(rest)-len(found.tokens[last].Text):][:len(found.tokens[last].Text)+n]
		} else if n > 0 {
			found.tokens = append(found.tokens, Token{rest[:n], kind})
		}
		rest = rest[n:]
	}
	for token := next(); token != chroma.EOF; token = next() { // the line feed changes the state
	}
	if rest != "" {
		found.tokens = append(found.tokens, Token{Text: rest})
	}
	if open := l.state.Stack; len(open) > 1 && len(open) <= maxDepth {
		found.stack = strings.Join(open[1:], " ")
	}
	return found, true
}

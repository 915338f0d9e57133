package discovery

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/fettle-dev/fettle/core/fault"
)

// Pattern is a regular expression to search lines with, or fixed text. It is
// immutable and safe for concurrent use.
type Pattern struct {
	re       *regexp.Regexp
	literals []literal
	plain    bool // a line matches exactly if it holds one of literals
}

// maxPattern bounds the bytes of a pattern.
const maxPattern = 16 << 10

// CompilePattern compiles a regular expression of RE2 syntax, or text to be
// looked for as it stands if fixed. fold ignores the case of letters. The
// error is of code invalid_tool_params and says what is wrong and where.
func CompilePattern(text string, fixed, fold bool) (*Pattern, error) {
	const op = "discovery.pattern"
	if text == "" {
		return nil, fault.New(fault.InvalidToolParams, op, "The pattern is empty.", "Give a regular expression, or text with fixed_strings.")
	}
	if len(text) > maxPattern {
		return nil, fault.New(fault.InvalidToolParams, op, "The pattern is longer than 16 KiB.", "Search for a shorter part of it.")
	}
	expression := text
	if fixed {
		expression = regexp.QuoteMeta(text)
	}
	flags := syntax.Perl
	if fold {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expression, flags)
	if err == nil {
		prefix := ""
		if fold {
			prefix = "(?i)"
		}
		var re *regexp.Regexp
		if re, err = regexp.Compile(prefix + expression); err == nil {
			p := &Pattern{re: re, literals: requiredLiterals(tree)}
			p.plain = tree.Op == syntax.OpLiteral && len(p.literals) == 1 && len(p.literals[0].text) == len(string(tree.Rune))
			return p, nil
		}
	}
	remedy := "Write it in RE2 syntax, which has no look-around and no back-references; escape ( ) [ ] { } . * + ? ^ $ | \\ to match them, or set fixed_strings."
	detail := err.Error()
	if e := new(syntax.Error); errors.As(err, &e) {
		detail = e.Code.String()
		if e.Expr != "" {
			detail += " at " + e.Expr
		}
	}
	return nil, fault.New(fault.InvalidToolParams, op, "Invalid regular expression "+text+": "+detail+".", remedy)
}

// find returns where the first match in a line begins and ends.
func (p *Pattern) find(line []byte) (start, end int, ok bool) {
	if p.plain {
		at := p.literals[0].index(line)
		return at, at + len(p.literals[0].text), at >= 0
	}
	loc := p.re.FindIndex(line)
	if loc == nil {
		return 0, 0, false
	}
	return loc[0], loc[1], true
}

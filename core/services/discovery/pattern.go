package discovery

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Pattern is a regular expression, or fixed text, to search lines with. It is immutable and safe
// for concurrent use.
type Pattern struct {
	re       *regexp.Regexp
	prog     *syntax.Prog // of re
	literals []literal
	plain    bool // a line matches exactly if it contains one of literals
	maxMatch int  // upper bound of the bytes of a match; 0: none, or a match depends on the text around it
}

const (
	// maxPattern limits the bytes of a pattern.
	maxPattern = 16 << 10
	// maxInstructions limits the expansion of its repetitions: a{1000} is a thousand instructions.
	maxInstructions = 40_000
)

// CompilePattern compiles a regular expression of RE2 syntax, or literal text if fixed. fold
// ignores the case of letters. The error is of code invalid_tool_params and describes the problem
// and its position.
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
	p, err := compile(expression, flags)
	if err == nil {
		return p, nil
	}
	remedy := "Write it in RE2 syntax, which has no look-around, no back-references and no counts above 1000; escape ( ) [ ] { } . * + ? ^ $ | \\ to match them, or set fixed_strings."
	detail := err.Error()
	if e := new(syntax.Error); errors.As(err, &e) {
		detail = e.Code.String()
		if e.Expr != "" {
			detail += " at " + e.Expr
		}
	}
	return nil, fault.New(fault.InvalidToolParams, op, "Invalid regular expression "+escape.ClipBytes(text, maxShown)+": "+escape.ClipBytes(detail, maxShown)+".", remedy)
}

// maxShown is the number of bytes of a pattern shown in a message.
const maxShown = 200

func compile(expression string, flags syntax.Flags) (*Pattern, error) {
	tree, err := syntax.Parse(expression, flags)
	if err != nil {
		return nil, err
	}
	if instructions(tree) > maxInstructions {
		return nil, &syntax.Error{Code: "its counted repetitions expand too much"}
	}
	prefix := ""
	if flags&syntax.FoldCase != 0 {
		prefix = "(?i)"
	}
	re, err := regexp.Compile(prefix + expression)
	if err != nil {
		return nil, err
	}
	p := &Pattern{re: re, literals: requiredLiterals(tree)}
	if n, ok := longestMatch(tree); ok {
		p.maxMatch = n
	}
	p.plain = tree.Op == syntax.OpLiteral && len(p.literals) == 1 && len(p.literals[0].text) == len(string(tree.Rune))
	p.prog, err = syntax.Compile(tree.Simplify())
	return p, err
}

// longestMatch returns a limit of the bytes of a match, at most maxLongest; false if there is none, or a
// match depends on the text around it.
func longestMatch(re *syntax.Regexp) (n int, ok bool) {
	const maxLongest = 64 << 10
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch:
		return 0, true
	case syntax.OpLiteral:
		return utf8.UTFMax * len(re.Rune), true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax, true
	case syntax.OpCapture, syntax.OpQuest, syntax.OpRepeat, syntax.OpConcat, syntax.OpAlternate:
	default:
		return 0, false
	}
	for _, sub := range re.Sub {
		m, ok := longestMatch(sub)
		if !ok {
			return 0, false
		}
		if re.Op == syntax.OpRepeat {
			m *= re.Max // -1: without limit
		}
		if re.Op == syntax.OpAlternate {
			n = max(n, m)
		} else {
			n += m
		}
		if m < 0 || n > maxLongest {
			return 0, false
		}
	}
	return n, true
}

// instructions returns the approximate length of an expression's program, at most a little more
// than maxInstructions.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		n = 1
	}
	for _, sub := range re.Sub {
		if n += instructions(sub); n > maxInstructions {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return n
}

package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxScript is the maximum size in bytes of a text that is read without being
// evaluated.
const maxScript = 64 << 10

// Script contains the words of a text for bash, in any position, without regard
// to control flow. [Parse] is for evaluating the effects of a line.
type Script struct {
	Calls []Call
	// Values are the values that the text assigns to variables and iterates over
	// in loops.
	Values []Word
	Sets   map[string]bool // names of these variables
}

// Call is a program with its arguments and redirections as in a text. It has no
// words if a group or a loop is redirected.
type Call struct {
	Words     []Word
	Redirects []Redirect // all of them
}

// Read parses a text for bash. The variables have the given values, unless the
// text itself may set them, and ~ stands for HOME if that is among them. If the
// value of an unquoted variable has blanks, Text of its word is the whole, and
// Candidates are the words that bash splits it into. The error is the reason why
// the text cannot be parsed: it is not bash, or beyond 64 KiB or [MaxBrackets].
func Read(text string, variables map[string]string) (*Script, error) {
	file, err := parseBounded(text)
	if err != nil {
		return nil, err
	}
	r := scriptReader{a: newAnalysis(text), given: variables, sets: map[string]bool{}}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				r.sets[n.Name.Value] = true
			}
		case *syntax.WordIter:
			r.sets[n.Name.Value] = true
		}
		return true
	})
	s := Script{Sets: r.sets}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if call := r.call(n); len(call.Words)+len(call.Redirects) > 0 {
				s.Calls = append(s.Calls, call)
			}
		case *syntax.Assign:
			if n.Value != nil {
				s.Values = append(s.Values, r.words(n.Value)...)
			}
		case *syntax.ArrayElem:
			if n.Value != nil {
				s.Values = append(s.Values, r.words(n.Value)...)
			}
		case *syntax.WordIter:
			s.Values = append(s.Values, r.words(n.Items...)...)
		}
		return true
	})
	return &s, nil
}

// Bounds returns the reason why a text is not parsed at all, or nil: it is beyond
// 64 KiB or [MaxBrackets], or contains a NUL byte. The parser recurses for each
// bracket, and a stack overflow would end the process.
func Bounds(text string) error {
	brackets := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "[") + strings.Count(text, "`")
	switch {
	case len(text) > maxScript:
		return fmt.Errorf("it is longer than %d bytes", maxScript)
	case brackets > MaxBrackets:
		return fmt.Errorf("it has more than %d opening brackets", MaxBrackets)
	case strings.Contains(text, "\x00"):
		return errors.New("it contains a NUL byte")
	}
	return nil
}

// parseBounded parses a text that is read without being evaluated.
func parseBounded(text string) (*syntax.File, error) {
	if err := Bounds(text); err != nil {
		return nil, err
	}
	return parseBash(text)
}

// scriptReader reads the words of one text.
type scriptReader struct {
	a     *analysis
	given map[string]string
	sets  map[string]bool // variables that the text may set
}

func (r scriptReader) call(s *syntax.Stmt) Call {
	var call Call
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		call.Words = r.words(c.Args...)
	}
	for _, redirect := range s.Redirs {
		words := r.words(redirect.Word)
		if len(words) == 0 {
			words = []Word{{}}
		}
		for _, w := range words {
			call.Redirects = append(call.Redirects, Redirect{Op: redirect.Op.String(), Word: w})
		}
	}
	return call
}

func (r scriptReader) words(list ...*syntax.Word) []Word {
	var out []Word
	for _, w := range list {
		parts, splits := r.filled(w.Parts, false)
		for _, read := range r.a.words([]*syntax.Word{{Parts: parts}}) {
			if read.home { // of an unknown user
				read.Static = false
			}
			if fields := strings.Fields(read.Text); splits && len(fields) > 1 {
				read.Candidates = fields
			}
			out = append(out, read.Word)
		}
	}
	return out
}

// filled replaces variables with known values, and ~. splits reports that an
// unquoted value contains blanks.
func (r scriptReader) filled(parts []syntax.WordPart, quoted bool) (out []syntax.WordPart, splits bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			home := r.given["HOME"]
			if i == 0 && !quoted && home != "" && !r.sets["HOME"] && (p.Value == "~" && len(parts) == 1 || strings.HasPrefix(p.Value, "~/")) {
				out = append(out, &syntax.SglQuoted{Value: home})
				part = &syntax.Lit{Value: p.Value[1:]}
			}
		case *syntax.DblQuoted:
			inner, _ := r.filled(p.Parts, true)
			part = &syntax.DblQuoted{Dollar: p.Dollar, Parts: inner}
		case *syntax.ParamExp:
			value, ok := r.value(p)
			switch {
			case ok && quoted:
				part = &syntax.Lit{Value: inDoubleQuotes(value)}
			case ok:
				part = &syntax.SglQuoted{Value: value}
				splits = splits || strings.ContainsAny(value, " \t\n")
			}
		}
		out = append(out, part)
	}
	return out, splits
}

// value returns the value of a variable if it is certain.
func (r scriptReader) value(p *syntax.ParamExp) (string, bool) {
	if p.Param == nil || r.sets[p.Param.Value] || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil ||
		p.Names != 0 || p.Flags != nil || p.NestedParam != nil {
		return "", false
	}
	value, known := r.given[p.Param.Value]
	if !known || p.Exp == nil {
		return value, known
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.ErrorUnset, syntax.AssignUnset:
		return value, true
	case syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		return value, value != ""
	}
	return "", false
}

// Package frontmatter reads the YAML front matter of Markdown files into values that carry
// their line and column.
package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// Bounds of a front matter, which is written by hand.
const (
	maxFrontMatter = 32 << 10
	maxLines       = 2000 // the YAML library compares each key with all others
	maxNesting     = 20
	maxNestingText = 1000 // starts of nested values, for which the library is recursive
)

// ParseYAML reads a front matter that begins on the line after before; an empty one is a
// [*position.Table]. Unsigned integers are float64. The error is an [*position.Error]. Anchors and
// aliases, which could expand a small file, are refused, and so is a text of more than
// 32 KiB or with deep nesting.
func ParseYAML(text string, before int) (n position.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &position.Error{Line: before + 1, Message: "it is not valid YAML"}
		}
	}()
	if len(text) > maxFrontMatter {
		return position.Node{}, &position.Error{Line: before + 1, Message: fmt.Sprintf("it has more than %d KiB", maxFrontMatter>>10)}
	}
	if strings.Count(text, "\n") > maxLines {
		return position.Node{}, &position.Error{Line: before + 1, Message: fmt.Sprintf("it has more than %d lines", maxLines)}
	}
	if strings.Count(text, "[")+strings.Count(text, "{")+strings.Count(text, "- - ") > maxNestingText {
		return position.Node{}, &position.Error{Line: before + 1, Message: fmt.Sprintf("it has more than %d brackets, or lists in lists", maxNestingText)}
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return position.Node{}, syntaxError(err, before)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return position.Node{Value: &position.Table{Line: before + 1}, Line: before + 1}, nil
	}
	return convert(file.Docs[0].Body, before, 0)
}

// plainText matches a line whose value is an unquoted string that looks like a key and
// its value.
var plainText = lazyregexp.New(`(?m)^([A-Za-z_]+):[ \t]+([^\s"'\[{|>&*!%#@` + "`" + `].*: .*)$`)

// QuoteYAML returns a front matter in which such texts stand in quotes, as their
// authors mean them, and the first of their lines, 0 for none.
func QuoteYAML(text string) (string, int) {
	first := 0
	if at := plainText().FindStringIndex(text); at != nil {
		first = strings.Count(text[:at[0]], "\n") + 1
	}
	return plainText().ReplaceAllStringFunc(text, func(line string) string {
		m := plainText().FindStringSubmatch(line)
		return m[1] + ": '" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'"
	}), first
}

// syntaxError takes line and message from an error of the library, without the
// piece of source that its own text has.
func syntaxError(err error, before int) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return &position.Error{Line: before + 1, Message: "it is not valid YAML"}
	}
	line := before + 1
	if t := e.GetToken(); t != nil && t.Position != nil {
		line = before + t.Position.Line
	}
	return &position.Error{Line: line, Message: escape.Clip(escape.Line(e.GetMessage()), 200)}
}

func convert(from ast.Node, before, depth int) (position.Node, error) {
	n := position.Node{Line: before + 1}
	if t := from.GetToken(); t != nil && t.Position != nil {
		n.Line, n.Column = before+t.Position.Line, t.Position.Column
	}
	if depth > maxNesting {
		return n, &position.Error{Line: n.Line, Message: fmt.Sprintf("its values are nested more than %d deep", maxNesting)}
	}
	switch v := from.(type) {
	case *ast.MappingNode:
		return mapping(n, v.Values, before, depth)
	case *ast.MappingValueNode:
		return mapping(n, []*ast.MappingValueNode{v}, before, depth)
	case *ast.SequenceNode:
		items := make([]position.Node, len(v.Values))
		for i := range items {
			var err error
			if items[i], err = convert(v.Values[i], before, depth+1); err != nil {
				return n, err
			}
		}
		n.Value = items
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return n, &position.Error{Line: n.Line, Message: "it uses an anchor or an alias, which definitions cannot have"}
	case *ast.TagNode:
		return convert(v.Value, before, depth+1)
	case *ast.StringNode:
		n.Value = v.Value
	case *ast.LiteralNode:
		n.Value = v.Value.Value
	case *ast.BoolNode:
		n = n.Written(v.Value, v.String())
	case *ast.IntegerNode:
		n = n.Written(nil, v.Token.Value)
		switch i := v.Value.(type) {
		case int64:
			n.Value = i
		case uint64:
			n.Value = float64(i)
		}
	case *ast.FloatNode:
		n = n.Written(v.Value, v.Token.Value)
	case *ast.NullNode:
	default:
		return n, &position.Error{Line: n.Line, Message: "it has a value that definitions cannot have"}
	}
	return n, nil
}

func mapping(n position.Node, values []*ast.MappingValueNode, before, depth int) (position.Node, error) {
	t := &position.Table{Line: n.Line}
	n.Value = t
	for _, v := range values {
		key, err := convert(v.Key, before, depth+1)
		if err != nil {
			return n, err
		}
		switch key.Value.(type) {
		case []position.Node, *position.Table:
			return n, &position.Error{Line: key.Line, Message: "one of its keys is not a string"}
		}
		text, _ := key.Text()
		value, err := convert(v.Value, before, depth+1)
		if err != nil {
			return n, err
		}
		t.Add(&position.Member{Key: text, Line: key.Line, Column: key.Column, Node: value})
	}
	return n, nil
}

// Split parts a file, in which lines end with \n alone, into its front matter, of
// which before lines come first, and its body. Empty lines may stand above it. Not
// found is a file without one, or without its end.
func Split(text string) (front string, before int, body string, found bool) {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more {
			return "", 0, "", false
		}
		text, before = rest, before+1
		if line = strings.TrimSpace(line); line == "---" {
			break
		} else if line != "" {
			return "", 0, "", false
		}
	}
	for at := 0; at <= len(text); {
		line, _, more := strings.Cut(text[at:], "\n")
		end := at + len(line)
		if strings.TrimRight(line, " \t") == "---" {
			return text[:at], before, text[min(end+1, len(text)):], true
		}
		if !more {
			break
		}
		at = end + 1
	}
	return "", 0, "", false
}

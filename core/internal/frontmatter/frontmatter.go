// Package frontmatter reads what stands between lines of three hyphens at the
// beginning of a Markdown file, as YAML of which each value knows its line.
package frontmatter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of a front matter, which is written by hand.
const (
	maxFrontMatter = 32 << 10
	maxLines       = 2000 // as the YAML library compares each key with all others
	maxNesting     = 20
	maxNestingText = 1000 // what may begin a value within a value, as the library goes into itself for each
)

// Error is a mistake in a front matter.
type Error struct {
	Line    int    // 1-based, in the file
	Message string // a clause, without the source
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Read reads a front matter that begins on the line after before; an empty one is
// a Map. The error is an [*Error]. Anchors and aliases, which could make a small
// file large, are refused, and so is what has more than 32 KiB or nests deeply.
func Read(text string, before int) (n Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &Error{before + 1, "it is no YAML that can be read"}
		}
	}()
	if len(text) > maxFrontMatter {
		return Node{}, &Error{before + 1, fmt.Sprintf("it has more than %d KiB", maxFrontMatter>>10)}
	}
	if strings.Count(text, "\n") > maxLines {
		return Node{}, &Error{before + 1, fmt.Sprintf("it has more than %d lines", maxLines)}
	}
	if strings.Count(text, "[")+strings.Count(text, "{")+strings.Count(text, "- - ") > maxNestingText {
		return Node{}, &Error{before + 1, fmt.Sprintf("it has more than %d brackets, or lists in lists", maxNestingText)}
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return Node{}, syntaxError(err, before)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return Node{Kind: Map, Line: before + 1}, nil
	}
	return convert(file.Docs[0].Body, before, 0)
}

// plainText is a line of a front matter whose value is a text without quotes
// that looks like a key and its value.
var plainText = regexp.MustCompile(`(?m)^([A-Za-z_]+):[ \t]+([^\s"'\[{|>&*!%#@` + "`" + `].*: .*)$`)

// Quoted returns a front matter in which such texts stand in quotes, as their
// authors mean them, and the first of their lines, 0 for none.
func Quoted(text string) (string, int) {
	first := 0
	if at := plainText.FindStringIndex(text); at != nil {
		first = strings.Count(text[:at[0]], "\n") + 1
	}
	return plainText.ReplaceAllStringFunc(text, func(line string) string {
		m := plainText.FindStringSubmatch(line)
		return m[1] + ": '" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'"
	}), first
}

// syntaxError takes line and message from an error of the library, without the
// piece of source that its own text has.
func syntaxError(err error, before int) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return &Error{before + 1, "it is no YAML that can be read"}
	}
	line := before + 1
	if t := e.GetToken(); t != nil && t.Position != nil {
		line = before + t.Position.Line
	}
	return &Error{line, escape.Clip(escape.Line(e.GetMessage()), 200)}
}

func convert(from ast.Node, before, depth int) (Node, error) {
	n := Node{Line: before + 1}
	if t := from.GetToken(); t != nil && t.Position != nil {
		n.Line = before + t.Position.Line
	}
	if depth > maxNesting {
		return n, &Error{n.Line, fmt.Sprintf("its values stand in each other more than %d times", maxNesting)}
	}
	switch v := from.(type) {
	case *ast.MappingNode:
		return mapping(n, v.Values, before, depth)
	case *ast.MappingValueNode:
		return mapping(n, []*ast.MappingValueNode{v}, before, depth)
	case *ast.SequenceNode:
		n.Kind = List
		for _, item := range v.Values {
			c, err := convert(item, before, depth+1)
			if err != nil {
				return n, err
			}
			n.List = append(n.List, c)
		}
		return n, nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return n, &Error{n.Line, "it uses an anchor or an alias, which definitions cannot have"}
	case *ast.TagNode:
		return convert(v.Value, before, depth+1)
	case *ast.StringNode:
		n.scalar, n.text = v.Value, v.Value
	case *ast.LiteralNode:
		n.scalar, n.text = v.Value.Value, v.Value.Value
	case *ast.BoolNode:
		n.scalar, n.text = v.Value, v.String()
	case *ast.IntegerNode:
		n.text = v.Token.Value
		switch i := v.Value.(type) {
		case int64:
			n.scalar = i
		case uint64:
			n.scalar = float64(i)
		}
	case *ast.FloatNode:
		n.scalar, n.text = v.Value, v.Token.Value
	case *ast.NullNode:
	default:
		return n, &Error{n.Line, "it has a value that definitions cannot have"}
	}
	return n, nil
}

func mapping(n Node, values []*ast.MappingValueNode, before, depth int) (Node, error) {
	n.Kind = Map
	for _, v := range values {
		key, err := convert(v.Key, before, depth+1)
		if err != nil {
			return n, err
		}
		if key.Kind != Scalar {
			return n, &Error{key.Line, "one of its keys is no text"}
		}
		value, err := convert(v.Value, before, depth+1)
		if err != nil {
			return n, err
		}
		n.Members = append(n.Members, Member{key.text, key.Line, value})
	}
	return n, nil
}

// ReadFile reads a regular file of at most limit bytes, and of a longer one one byte
// more.
func ReadFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
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

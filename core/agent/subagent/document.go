package subagent

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// node is a value of a YAML document with its place.
type node struct {
	line    int // 1-based, in the file
	scalar  any // string, int64, float64, bool or nil
	text    string
	list    []node
	members []member
	kind    nodeKind
}

type nodeKind int

const (
	isScalar nodeKind = iota
	isList
	isMap
)

type member struct {
	key  string
	line int
	node node
}

// yamlError is a mistake in a front matter, with its line in the file.
type yamlError struct {
	line    int
	message string
}

func (e *yamlError) Error() string { return e.message }

// readYAML reads a document that begins on the line after before. Anchors and
// aliases, which could make a small file large, are refused.
func readYAML(text string, before int) (n node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &yamlError{before + 1, "it is no YAML that can be read"}
		}
	}()
	if len(text) > maxFrontMatter {
		return node{}, &yamlError{before + 1, fmt.Sprintf("it has more than %d KiB", maxFrontMatter>>10)}
	}
	if strings.Count(text, "\n") > maxLines {
		return node{}, &yamlError{before + 1, fmt.Sprintf("it has more than %d lines", maxLines)}
	}
	if strings.Count(text, "[")+strings.Count(text, "{")+strings.Count(text, "- - ") > maxNestingText {
		return node{}, &yamlError{before + 1, fmt.Sprintf("it has more than %d brackets, or lists in lists", maxNestingText)}
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return node{}, syntaxError(err, before)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return node{kind: isMap, line: before + 1}, nil
	}
	return convert(file.Docs[0].Body, before, 0)
}

// plainText is a line of a front matter whose value is a text without quotes
// that looks like a key and its value.
var plainText = regexp.MustCompile(`(?m)^([A-Za-z_]+):[ \t]+([^\s"'\[{|>&*!%#@` + "`" + `].*: .*)$`)

// quoted returns a front matter in which such texts stand in quotes, as their
// authors mean them, and the first of their lines, 0 for none.
func quoted(text string) (string, int) {
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
		return &yamlError{before + 1, "it is no YAML that can be read"}
	}
	line := before + 1
	if t := e.GetToken(); t != nil && t.Position != nil {
		line = before + t.Position.Line
	}
	return &yamlError{line, Clip(e.GetMessage(), 200)}
}

func convert(from ast.Node, before, depth int) (node, error) {
	n := node{line: before + 1}
	if t := from.GetToken(); t != nil && t.Position != nil {
		n.line = before + t.Position.Line
	}
	if depth > maxNesting {
		return n, &yamlError{n.line, fmt.Sprintf("its values stand in each other more than %d times", maxNesting)}
	}
	switch v := from.(type) {
	case *ast.MappingNode:
		return mapping(n, v.Values, before, depth)
	case *ast.MappingValueNode:
		return mapping(n, []*ast.MappingValueNode{v}, before, depth)
	case *ast.SequenceNode:
		n.kind = isList
		for _, item := range v.Values {
			c, err := convert(item, before, depth+1)
			if err != nil {
				return n, err
			}
			n.list = append(n.list, c)
		}
		return n, nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return n, &yamlError{n.line, "it uses an anchor or an alias, which definitions cannot have"}
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
		return n, &yamlError{n.line, "it has a value that definitions cannot have"}
	}
	return n, nil
}

func mapping(n node, values []*ast.MappingValueNode, before, depth int) (node, error) {
	n.kind = isMap
	for _, v := range values {
		key, err := convert(v.Key, before, depth+1)
		if err != nil {
			return n, err
		}
		if key.kind != isScalar {
			return n, &yamlError{key.line, "one of its keys is no text"}
		}
		value, err := convert(v.Value, before, depth+1)
		if err != nil {
			return n, err
		}
		n.members = append(n.members, member{key.text, key.line, value})
	}
	return n, nil
}

// isNull reports whether nothing stands there.
func (n node) isNull() bool { return n.kind == isScalar && n.scalar == nil }

// str returns a text, which in YAML may look like a number or a boolean.
func (n node) str() (string, bool) { return n.text, n.kind == isScalar && n.scalar != nil }

// number returns a finite number, also one that is written as text.
func (n node) number() (float64, bool) {
	switch v := n.scalar.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

// nearest returns the word that s is probably meant to be, or "". Case, blanks,
// hyphens and underscores do not count.
func nearest(s string, words []string) string {
	best, least := "", 0
	s = folded(Clip(s, 60))
	for _, word := range slices.Sorted(slices.Values(words)) {
		d := distance(s, folded(word))
		if d <= min(3, len(word)/2) && (best == "" || d < least) {
			best, least = word, d
		}
	}
	return best
}

func folded(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the letters to add, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(b)]
}

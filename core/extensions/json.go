package extensions

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/tailscale/hujson"
)

// maxDepth is how deep JSON of an extension may be nested.
const maxDepth = 100

// document is JSON of an extension, with comments and trailing commas taken out.
type document struct {
	text []byte // as it was, without a byte order mark
	tree hujson.Value
	// dropped are keys that no object may have, with their lines.
	dropped []mistake
}

// mistake is something wrong in a document.
type mistake struct {
	line int // 1-based; 0: unknown
	what string
}

func (m *mistake) Error() string { return m.what }

// parse reads JSON with comments, one object. It refuses what two programs may
// understand differently: text that is not UTF-8, names that an object has twice,
// and zero bytes. The error is a *mistake.
func parse(data []byte) (*document, error) {
	d := &document{text: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	if len(bytes.TrimSpace(d.text)) == 0 {
		return nil, &mistake{0, "it is empty"}
	}
	if at, deep := tooDeep(d.text); deep {
		return nil, &mistake{d.line(at), fmt.Sprintf("it is nested more than %d deep", maxDepth)}
	}
	if !utf8.Valid(d.text) {
		return nil, &mistake{0, "it is not UTF-8"}
	}
	// The line end is for a comment that ends the file, which the parser does not
	// take.
	tree, err := hujson.Parse(slices.Concat(d.text, []byte("\n")))
	if err != nil {
		m := &mistake{what: strings.TrimPrefix(err.Error(), "hujson: ")}
		column := 0
		if _, scanErr := fmt.Sscanf(m.what, "line %d, column %d:", &m.line, &column); scanErr == nil {
			_, m.what, _ = strings.Cut(m.what, ": ")
		}
		m.line = min(m.line, d.line(len(d.text)))
		return nil, m
	}
	tree.Standardize()
	d.tree = tree
	if d.tree.Value.Kind() != '{' {
		return nil, &mistake{d.line(tree.StartOffset), "it holds no object"}
	}
	if err := d.check(&d.tree); err != nil {
		return nil, err
	}
	return d, nil
}

// line returns the line of an offset, 1-based.
func (d *document) line(offset int) int {
	return 1 + bytes.Count(d.text[:min(offset, len(d.text))], []byte("\n"))
}

// check looks for what is refused, and drops keys that other programs take for
// something of the language.
func (d *document) check(v *hujson.Value) error {
	switch value := v.Value.(type) {
	case hujson.Literal:
		if value.Kind() == '"' && strings.Contains(value.String(), "\x00") {
			return &mistake{d.line(v.StartOffset), "a text in it holds a zero byte"}
		}
	case *hujson.Array:
		for i := range value.Elements {
			if err := d.check(&value.Elements[i]); err != nil {
				return err
			}
		}
	case *hujson.Object:
		seen := make(map[string]bool, len(value.Members))
		value.Members = slices.DeleteFunc(value.Members, func(m hujson.ObjectMember) bool {
			name := nameOf(m)
			if name != "__proto__" && name != "constructor" && name != "prototype" {
				return false
			}
			d.dropped = append(d.dropped, mistake{d.line(m.Name.StartOffset), fmt.Sprintf("The key %q is left out.", name)})
			return true
		})
		for i := range value.Members {
			m := &value.Members[i]
			name := nameOf(*m)
			if seen[name] {
				return &mistake{d.line(m.Name.StartOffset), fmt.Sprintf("an object in it has the key %q twice", clip(name))}
			}
			seen[name] = true
			if err := d.check(&m.Name); err != nil {
				return err
			}
			if err := d.check(&m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill puts expand of each text that is a value into its place.
func fill(v *hujson.Value, expand func(string) string) {
	switch value := v.Value.(type) {
	case hujson.Literal:
		if value.Kind() != '"' {
			return
		}
		if before := value.String(); strings.Contains(before, "$") {
			v.Value = hujson.String(expand(before))
		}
	case *hujson.Array:
		for i := range value.Elements {
			fill(&value.Elements[i], expand)
		}
	case *hujson.Object:
		for i := range value.Members {
			fill(&value.Members[i].Value, expand)
		}
	}
}

// tooDeep returns where a text is nested deeper than the parser is given, texts
// in it and comments aside.
func tooDeep(data []byte) (at int, deep bool) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"' && data[i] != '\n'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			rest := data[i:]
			end := 0
			if bytes.HasPrefix(rest, []byte("//")) {
				end = bytes.IndexByte(rest, '\n')
			} else if bytes.HasPrefix(rest, []byte("/*")) {
				if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
					end += 3
				}
			}
			if end < 0 {
				return 0, false
			}
			i += end
		case '[', '{':
			if depth++; depth > maxDepth {
				return i, true
			}
		case ']', '}':
			depth--
		}
	}
	return 0, false
}

// nameOf is the name of a member of an object.
func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

// raw is a value as JSON of its own.
func raw(v hujson.Value) []byte {
	v = v.Clone()
	v.Minimize()
	return v.Pack()
}

// clip shortens a text for a message.
func clip(s string) string { return escape.Clip(s, 60) }

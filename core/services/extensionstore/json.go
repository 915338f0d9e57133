package extensionstore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/tailscale/hujson"
)

// maxDepth bounds the nesting of JSON in an extension.
const maxDepth = 100

// document is JSON of an extension, with comments and trailing commas removed.
type document struct {
	*position.JSON
	// dropped are the removed keys.
	dropped []position.Error
}

// parse reads one JSON object with comments. It refuses input that two programs may read
// differently: invalid UTF-8, duplicate keys, and zero bytes. The error is a
// *position.Error.
func parse(data []byte) (*document, error) {
	tree, err := position.ParseJSON(data, position.Limit{Depth: maxDepth, Message: fmt.Sprintf("it is nested more than %d deep", maxDepth)})
	if err != nil {
		if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))) == 0 {
			return nil, &position.Error{Message: "it is empty"}
		}
		return nil, err
	}
	d := &document{JSON: tree}
	d.Tree.Standardize()
	if d.Tree.Value.Kind() != '{' {
		return nil, d.Errorf(d.Tree.StartOffset, "it is not an object")
	}
	if err := d.check(&d.Tree); err != nil {
		return nil, err
	}
	return d, nil
}

// check finds refused input, and removes keys with a special meaning in JavaScript.
func (d *document) check(v *hujson.Value) error {
	switch value := v.Value.(type) {
	case hujson.Literal:
		if value.Kind() == '"' && strings.Contains(value.String(), "\x00") {
			return d.Errorf(v.StartOffset, "a string in it contains a zero byte")
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
			d.dropped = append(d.dropped, *d.Errorf(m.Name.StartOffset, "The key %q is ignored.", name))
			return true
		})
		for i := range value.Members {
			m := &value.Members[i]
			name := nameOf(*m)
			if seen[name] {
				return d.Errorf(m.Name.StartOffset, "an object in it has the key %q twice", clip(name))
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

// fill applies expand to each string value.
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

// nameOf returns the key of a member.
func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

// raw returns a value as separate JSON.
func raw(v hujson.Value) []byte {
	v = v.Clone()
	v.Minimize()
	return v.Pack()
}

// clip shortens a text for a message.
func clip(s string) string { return escape.Clip(s, 60) }

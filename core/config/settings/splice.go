package settings

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/fault"
)

// replace returns the text with a value replaced.
func (d *document) replace(v *hujson.Value, text []byte) []byte {
	return slices.Concat(d.Text[:v.StartOffset], d.lineEnds(text), d.Text[v.EndOffset:])
}

// newline returns the file's line ending.
func (d *document) newline() string {
	if bytes.Contains(d.Text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// lineEnds converts a text to the file's line endings.
func (d *document) lineEnds(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\n"), []byte(d.newline()))
}

// change returns the text with a change applied within a key's map.
func (d *document) change(at *hujson.Value, c change) ([]byte, error) {
	for i, name := range c.steps {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			line, _ := d.Place(at.StartOffset)
			return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("Nothing was changed: the value of %[2]s in line %[1]d should be an object.", line, c.key.Path),
				"Correct it by hand.")
		}
		below := member(object, name)
		if below == nil {
			return d.add(at, name, with(nil, c.steps[i+1:], c.value)), nil
		}
		at = below
	}
	if c.value == nil {
		return d.remove(&entry{node: at}), nil
	}
	return d.replace(at, encode(c.value, d.indentAt(at.StartOffset), d.unit())), nil
}

// insert returns the text with a new key, and the groups that contain it.
func (d *document) insert(path string, value any) ([]byte, error) {
	at, names := &d.Tree, strings.Split(path, ".")
	for len(names) > 1 {
		object := at.Value.(*hujson.Object) //nolint:errcheck // checked before it is gone into
		below := member(object, names[0])
		if below == nil {
			break
		}
		if below.Value.Kind() == '{' {
			at, names = below, names[1:]
			continue
		}
		group := nodeAt(strings.Join(strings.Split(path, ".")[:strings.Count(path, ".")+2-len(names)], "."))
		short, err := decode(below)
		if err != nil || long(group.path, short) == nil || len(names) > 2 {
			line, _ := d.Place(below.StartOffset)
			return nil, fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("Nothing was changed: %s in line %d should be an object.", group.path, line),
				"Correct it by hand.")
		}
		e := &entry{group: group, node: below}
		return d.replace(below, encode(lengthen(e, named(path).key, value), d.indentAt(below.StartOffset), d.unit())), nil
	}
	for i := len(names) - 1; i > 0; i-- {
		value = map[string]any{names[i]: value}
	}
	return d.add(at, names[0], value), nil
}

// member returns the value of the last member with a name, nil if there is none.
func member(object *hujson.Object, name string) *hujson.Value {
	for i := range slices.Backward(object.Members) {
		if object.Members[i].Name.Value.(hujson.Literal).String() == name { //nolint:errcheck // names are literals
			return &object.Members[i].Value
		}
	}
	return nil
}

// add returns the text with a member appended to an object: on a line of its own,
// unless the object is on one line.
func (d *document) add(at *hujson.Value, name string, value any) []byte {
	object := at.Value.(*hujson.Object) //nolint:errcheck // the caller looked
	newline := d.newline()
	outer := d.indentAt(at.StartOffset)
	inner := outer + d.unit()
	end := at.EndOffset - len("}")
	head, tail := d.Text[:end], d.Text[end:]
	comma := ""
	if n := len(object.Members); n > 0 {
		v := &object.Members[n-1].Value
		after := v.EndOffset + len(v.AfterExtra)
		trailing := after < end && d.Text[after] == ','
		if !bytes.ContainsRune(d.Text[at.StartOffset:at.EndOffset], '\n') {
			lead := ", "
			if trailing {
				after, lead = after+1, " "
			} else {
				after = v.EndOffset
			}
			return slices.Concat(d.Text[:after], []byte(lead+quoted(name)+": "), encode(value, "", ""), d.Text[after:])
		}
		before := object.Members[n-1].Name.BeforeExtra
		if i := bytes.LastIndexByte(before, '\n'); i >= 0 && len(bytes.Trim(before[i+1:], " \t")) == 0 {
			inner = string(before[i+1:])
		}
		if trailing {
			comma = ","
		} else {
			head = slices.Concat(head[:v.EndOffset], []byte(","), head[v.EndOffset:])
		}
	}
	text := d.lineEnds(encode(value, inner, d.unit()))
	return slices.Concat(bytes.TrimRight(head, " \t\r\n"), []byte(newline+inner+quoted(name)+": "), text, []byte(comma+newline+outer), tail)
}

func quoted(name string) string { return string(hujson.String(name)) }

// indentAt returns the indentation of the line at an offset.
func (d *document) indentAt(offset int) string {
	line, _ := d.Place(offset)
	text := d.Text[d.Start(line):]
	return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))])
}

// unit returns one step of the file's indentation: that of its first member, or
// two blanks.
func (d *document) unit() string {
	object := d.Tree.Value.(*hujson.Object) //nolint:errcheck // parse returns objects alone
	if len(object.Members) > 0 {
		if unit := d.indentAt(object.Members[0].Name.StartOffset); unit != "" && len(unit) <= 8 {
			return unit
		}
	}
	return "  "
}

// remove returns the text without an entry, and without its line if that is empty
// then. Of a short form the other keys stay.
func (d *document) remove(e *entry) []byte {
	if e.group != nil {
		short, _ := decode(e.node) // it was decoded before
		object := long(e.group.path, short)
		delete(object, e.key.Path[len(e.group.path)+1:])
		if len(object) > 0 {
			return d.replace(e.node, encode(object, d.indentAt(e.node.StartOffset), d.unit()))
		}
	}
	object, i := d.holder(e.node)
	m := object.Members[i]
	start, end := m.Name.StartOffset, m.Value.EndOffset
	text := slices.Clone(d.Text)
	comma := func(i int) (int, bool) {
		v := object.Members[i].Value
		at := v.EndOffset + len(v.AfterExtra)
		return at, at < len(d.Text) && d.Text[at] == ','
	}
	if at, ok := comma(i); ok {
		text = slices.Delete(text, at, at+1)
	} else if i > 0 { // the previous one is the last now
		at, _ := comma(i - 1)
		text = slices.Delete(text, at, at+1)
		start, end = start-1, end-1
	}
	lineStart := bytes.LastIndexByte(text[:start], '\n') + 1
	lineEnd := len(text)
	if n := bytes.IndexByte(text[end:], '\n'); n >= 0 {
		lineEnd = end + n + 1
	}
	if len(bytes.TrimSpace(text[lineStart:start])) == 0 && len(bytes.TrimSpace(text[end:lineEnd])) == 0 {
		start, end = lineStart, lineEnd
	}
	return slices.Delete(text, start, end)
}

// holder returns the object that contains a value, and the value's index in it.
func (d *document) holder(v *hujson.Value) (*hujson.Object, int) {
	for part := range d.Tree.All() {
		if object, ok := part.Value.(*hujson.Object); ok {
			for i := range object.Members {
				if &object.Members[i].Value == v {
					return object, i
				}
			}
		}
	}
	panic("settings: the value is not in its document") // it was found there
}

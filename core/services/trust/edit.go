package trust

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// edit returns the text of the file with one entry for a directory, in place of all its entries. An
// empty value leaves no entry. Everything else stays unchanged, including comments.
func edit(path string, data []byte, dir, value string) ([]byte, error) {
	mark := data[:len(data)-len(bytes.TrimPrefix(data, []byte(byteOrderMark)))]
	same := newChain(dir)
	kept := -1 // the entry that has the value
	for i := 0; ; {
		d, err := parse(path, data)
		if err != nil {
			return nil, err
		}
		if i == len(d.entries) {
			if value != "" && kept < 0 {
				return slices.Concat(mark, d.add(dir, value)), nil
			}
			return slices.Concat(mark, d.text), nil
		}
		e := d.entries[i]
		switch depth, ok := same.depth(subject(e)); {
		case !ok || depth != same.deepest():
			i++
		case value != "" && kept < 0 && e.Value != trustParent:
			data, kept = d.replace(i, value), i
			i++
		default:
			data = d.remove(i)
		}
	}
}

// replace sets the value of entry i.
func (d *document) replace(i int, value string) []byte {
	v := d.members[i].Value
	return slices.Concat(d.text[:v.StartOffset], hujson.String(value), d.text[v.EndOffset:])
}

// remove removes entry i, and its line if it contains nothing else.
func (d *document) remove(i int) []byte {
	start, end := d.members[i].Name.StartOffset, d.members[i].Value.EndOffset
	text := slices.Clone(d.text)
	if comma, ok := d.comma(i); ok {
		text = slices.Delete(text, comma, comma+1)
	} else if i > 0 { // the previous entry is now the last one
		comma, _ := d.comma(i - 1)
		text = slices.Delete(text, comma, comma+1)
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

// add appends an entry, on a line of its own.
func (d *document) add(dir, value string) []byte {
	newline, indent := "\n", []byte("  ")
	if bytes.Contains(d.text, []byte("\r\n")) {
		newline = "\r\n"
	}
	head := d.text[:d.end]
	if last := len(d.members) - 1; last >= 0 {
		before := d.members[last].Name.BeforeExtra
		if i := bytes.LastIndexByte(before, '\n'); i >= 0 && len(bytes.Trim(before[i+1:], " \t")) == 0 {
			indent = before[i+1:]
		}
		if _, ok := d.comma(last); !ok {
			after := d.members[last].Value.EndOffset
			head = slices.Concat(head[:after], []byte(","), head[after:])
		}
	}
	return slices.Concat(bytes.TrimRight(head, " \t\r\n"), []byte(newline), indent,
		hujson.String(dir), []byte(": "), hujson.String(value), []byte(newline), d.text[d.end:])
}

// comma returns the offset of the comma after entry i, if there is one.
func (d *document) comma(i int) (int, bool) {
	v := d.members[i].Value
	at := v.EndOffset + len(v.AfterExtra)
	return at, at < len(d.text) && d.text[at] == ','
}

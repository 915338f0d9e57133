package gateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
)

// cleaner rewrites the strings of a server's messages and keeps every other byte:
// characters that are invisible or control a terminal become visible, and secrets
// are masked.
type cleaner struct {
	hide func(string) string // nil: secrets are not masked
}

// opaque lists the members that a client returns to the server. They pass
// unchanged.
var opaque = [...]string{"jsonrpc", "id", "uri", "uriTemplate", "url", "nextCursor", "cursor", "requestState", "progressToken", "taskId", "elicitationId", "type", "mimeType", "method"}

// clean returns the message. Secrets are masked if mask is set.
func (c cleaner) clean(raw []byte, mask bool) []byte {
	mask = mask && c.hide != nil
	if !mask && !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x7f || r < ' ' && r != '\n' && r != '\t' || r == '\\' }) {
		return raw
	}
	w := walk{in: raw, mask: mask, rewrite: func(s string) string {
		if mask {
			s = c.hide(s)
		}
		return visible(s)
	}}
	w.value("", "", false)
	if w.out == nil {
		return raw
	}
	return append(w.out, raw[w.done:]...)
}

// visible returns a text without characters that steer its reader. Line breaks of
// Windows stay.
func visible(s string) string {
	if !strings.ContainsFunc(s, escape.Obeyed) && strings.ToValidUTF8(s, "") == s {
		return s
	}
	lines := strings.Split(s, "\r\n")
	for i, line := range lines {
		lines[i] = escape.Text(line)
	}
	return strings.Join(lines, "\r\n")
}

// walk visits the strings of a valid JSON text.
type walk struct {
	in      []byte
	at      int
	out     []byte // nil: nothing has changed yet
	done    int    // in[:done] is in out
	mask    bool
	rewrite func(string) string
}

// value visits the value that begins at w.at. list is the name of the list of the
// result in which it is, and free states that a server may use all names in it.
func (w *walk) value(key, list string, free bool) {
	w.space()
	switch w.in[w.at] {
	case '{', '[':
		w.elements(func(quoted []byte) bool {
			name, inner := key, list
			if quoted != nil {
				name = text(quoted)
			}
			if name == "tools" || name == "prompts" {
				inner = name
			}
			w.value(name, inner, free || name == "structuredContent")
			return true
		})
	case '"':
		begin := w.at
		literal := w.literal()
		if !free && (slices.Contains(opaque[:], key) || key == "name" && list != "") {
			return
		}
		if (key == "data" || key == "blob") && encoded(literal[1:len(literal)-1]) {
			return
		}
		if !w.mask && plain(literal) {
			return
		}
		s := text(literal)
		if now := w.rewrite(s); now != s || !validText(literal) {
			w.out = append(append(w.out, w.in[w.done:begin]...), encode(now)...)
			w.done = w.at
		}
	default:
		w.skip()
	}
}

// elements calls use at the beginning of each value in the object or list that
// begins at w.at, with its key in quotes or nil, until use returns false. use moves
// to the end of the value. Another value is skipped.
func (w *walk) elements(use func(key []byte) bool) {
	w.space()
	end := byte('}')
	switch w.in[w.at] {
	case '[':
		end = ']'
	case '{':
	default:
		w.skip()
		return
	}
	w.at++
	for w.space(); w.in[w.at] != end; w.space() {
		if w.in[w.at] == ',' {
			w.at++
			continue
		}
		var key []byte
		if end == '}' {
			key = w.literal()
			w.space()
			w.at++ // the colon
			w.space()
		}
		if !use(key) {
			return
		}
	}
	w.at++
}

// skip moves to the end of the value that begins at w.at.
func (w *walk) skip() {
	w.space()
	switch w.in[w.at] {
	case '{', '[':
		w.elements(func([]byte) bool { w.skip(); return true })
	case '"':
		w.literal()
	default:
		for w.at < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[w.at]) < 0 {
			w.at++
		}
	}
}

func (w *walk) space() {
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.at]) >= 0 {
		w.at++
	}
}

// literal returns the string that begins at w.at, with its quotes.
func (w *walk) literal() []byte {
	begin := w.at
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.in[begin:w.at]
}

// encoded reports whether a string may be base64.
func encoded(s []byte) bool {
	return !bytes.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+/=-_", r)
	})
}

// plain reports whether a string has neither characters nor escapes that may steer
// its reader.
func plain(literal []byte) bool {
	for i, b := range literal {
		if b >= 0x7f || b == '\\' && strings.IndexByte("bfru", literal[i+1]) >= 0 {
			return false
		}
	}
	return true
}

// validText reports whether a string is UTF-8.
func validText(literal []byte) bool { return bytes.Equal(bytes.ToValidUTF8(literal, nil), literal) }

// hidden reports whether a name contains characters that steer its reader.
func hidden(name string) bool { return strings.ContainsFunc(name, escape.Hidden) }

// oneLine returns a message without line breaks between its values.
func oneLine(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

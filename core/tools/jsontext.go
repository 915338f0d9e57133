package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
)

// MaxJSONBytes is the maximum length of a JSON text, such as the arguments of a call, from a model or a server. An
// escaped file of 20 MiB fits.
const MaxJSONBytes = 64 << 20

// Further limits on such text.
const (
	maxDepth  = 200 // of nested arrays and objects
	maxDigits = 400 // digits of a number, and of its exponent; larger ones make exact arithmetic too slow
)

// readJSON decodes one JSON text into the types of encoding/json, with [json.Number] for numbers, so that every digit is
// kept. Unlike encoding/json it rejects duplicate keys, invalid UTF-8, unpaired surrogates and values beyond the limits
// above, because decoders interpret these differently or need too much time.
func readJSON(data []byte) (any, error) {
	t, err := decodeText(data, false)
	return t.value, err
}

// jsonText is a decoded JSON text. The other fields describe an object at its root, and alias the text.
type jsonText struct {
	value   any
	members map[string]json.RawMessage // nil: not requested
	long    longTexts
}

// decodeText is readJSON. If members is set, it also returns the text of each member of an object.
func decodeText(data []byte, members bool) (jsonText, error) {
	if len(data) > MaxJSONBytes {
		return jsonText{}, fmt.Errorf("the JSON text has %d bytes, more than the limit of %d", len(data), MaxJSONBytes)
	}
	long, ascii, valid := validJSON(data)
	if !valid {
		return jsonText{}, explainSyntax(data)
	}
	if !ascii && !utf8.Valid(data) {
		return jsonText{}, fmt.Errorf("the text is not valid UTF-8 at byte %d", firstInvalid(data))
	}
	r := jsonReader{data: data, long: long}
	if members {
		r.members = make(map[string]json.RawMessage)
	}
	v, err := r.value()
	if err != nil {
		return jsonText{}, err
	}
	return jsonText{v, r.members, r.written}, nil
}

// explainSyntax describes a syntax error.
func explainSyntax(data []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) && len(bytes.TrimSpace(data)) > 0 {
		return fmt.Errorf("the text is not valid JSON: %w (at byte %d of %d)", err, syntax.Offset, len(data))
	}
	return fmt.Errorf("the text is not valid JSON: %w", err)
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// jsonReader builds values from text that validJSON has accepted, and therefore never meets a syntax error.
type jsonReader struct {
	data  []byte
	pos   int
	depth int

	long    []longString               // the long strings after pos
	members map[string]json.RawMessage // of the object at the root; nil: not requested
	written longTexts                  // of the object at the root
}

func (r *jsonReader) value() (any, error) {
	r.space()
	switch r.data[r.pos] {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return r.text()
	case 't':
		r.pos += len("true")
		return true, nil
	case 'f':
		r.pos += len("false")
		return false, nil
	case 'n':
		r.pos += len("null")
		return nil, nil
	}
	return r.number()
}

func (r *jsonReader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// enter increments the nesting depth.
func (r *jsonReader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("the JSON text is nested deeper than %d levels", maxDepth)
	}
	r.pos++ // the bracket
	r.space()
	return nil
}

// more reports whether another element follows, and consumes the comma or the closing bracket.
func (r *jsonReader) more(closing byte) bool {
	r.space()
	switch r.data[r.pos] {
	case closing:
		r.pos++
		r.depth--
		return false
	case ',':
		r.pos++
		r.space()
	}
	return true
}

func (r *jsonReader) object() (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	m := make(map[string]any)
	for r.more('}') {
		key, err := r.text()
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("the key %s occurs twice in one object", quoteClipped(key))
		}
		r.space()
		r.pos++ // the colon
		r.space()
		start, long := r.pos, r.longAt(r.pos+1)
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		m[key] = v
		if r.depth > 1 {
			continue
		}
		text := r.data[start:r.pos:r.pos]
		if r.members != nil {
			r.members[key] = text
		}
		if long != nil && long.Short {
			if r.written == nil {
				r.written = longTexts{}
			}
			r.written[key] = writtenText{v.(string), text}
		}
	}
	return m, nil
}

func (r *jsonReader) array() (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	list := []any{}
	for r.more(']') {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (r *jsonReader) number() (any, error) {
	start := r.pos
	for r.pos < len(r.data) && strings.IndexByte("+-.eE0123456789", r.data[r.pos]) >= 0 {
		r.pos++
	}
	n := json.Number(r.data[start:r.pos])
	if err := checkNumber(string(n)); err != nil {
		return nil, err
	}
	return n, nil
}

// checkNumber rejects literals that exact arithmetic cannot handle in reasonable time; the validator panics on some of
// them.
func checkNumber(literal string) error {
	if len(literal) > maxDigits {
		return fmt.Errorf("the number %s has more than %d digits", quoteClipped(literal), maxDigits)
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		exponent := strings.TrimLeft(literal[i+1:], "+-0")
		if len(exponent) > 3 || (len(exponent) == 3 && exponent > fmt.Sprint(maxDigits)) {
			return fmt.Errorf("the number %s has an exponent beyond %d", quoteClipped(literal), maxDigits)
		}
	}
	return nil
}

// longAt returns the long string that begins at pos, after the quotation mark; nil: none does.
func (r *jsonReader) longAt(pos int) *longString {
	for len(r.long) > 0 && r.long[0].start < pos {
		r.long = r.long[1:]
	}
	if len(r.long) > 0 && r.long[0].start == pos {
		return &r.long[0]
	}
	return nil
}

// text decodes a string.
func (r *jsonReader) text() (string, error) {
	r.pos++ // the quote
	start := r.pos
	if long := r.longAt(start); long != nil {
		if long.Escapes == 0 {
			r.pos = long.End
			return string(r.data[start : long.End-1]), nil
		}
		return r.escapedText(long.End-1, long.Escapes)
	}
	for r.data[r.pos] != '"' {
		if r.data[r.pos] == '\\' {
			r.pos++
		}
		r.pos++
	}
	end := r.pos
	r.pos = start
	escapes := bytes.Count(r.data[start:end], []byte{'\\'})
	if escapes == 0 {
		r.pos = end + 1
		return string(r.data[start:end]), nil
	}
	return r.escapedText(end, 0)
}

// escapedText decodes the string from r.pos to its closing quotation mark at end, which has at least that many escapes.
func (r *jsonReader) escapedText(end, escapes int) (string, error) {
	var b strings.Builder
	b.Grow(end - r.pos - escapes)
	plain := r.pos
	for r.pos < end {
		if r.data[r.pos] != '\\' {
			next := bytes.IndexByte(r.data[r.pos:end], '\\')
			if next < 0 {
				break
			}
			r.pos += next
		}
		if plain < r.pos {
			b.Write(r.data[plain:r.pos])
		}
		c := r.data[r.pos+1]
		r.pos += 2
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			char, err := r.unicode()
			if err != nil {
				return "", err
			}
			b.WriteRune(char)
		default: // quote, backslash, slash
			b.WriteByte(c)
		}
		plain = r.pos
	}
	b.Write(r.data[plain:end])
	r.pos = end + 1
	return b.String(), nil
}

// unicode decodes the four digits of an escape, and the second escape of a surrogate pair.
func (r *jsonReader) unicode() (rune, error) {
	char := r.hex4()
	if !utf16.IsSurrogate(char) {
		return char, nil
	}
	if bytes.HasPrefix(r.data[r.pos:], []byte(`\u`)) {
		r.pos += 2
		if pair := utf16.DecodeRune(char, r.hex4()); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, fmt.Errorf(`the escape \u%04x is an unpaired surrogate`, char)
}

func (r *jsonReader) hex4() rune {
	var char rune
	for _, c := range r.data[r.pos : r.pos+4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		char = char<<4 | rune(c)
	}
	r.pos += 4
	return char
}

// appendJSON appends v as canonical JSON: compact, with sorted keys and minimal escapes. A number with a fraction or
// exponent and an integral value is written as an integer, because a schema accepts 5.0 and 1e3 as integers and Go's
// decoder does not. v consists of the types that [readJSON] returns.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		return appendObject(b, v, nil)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	case string:
		return appendText(b, v)
	case json.Number:
		return append(b, integral(string(v))...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	}
	return append(b, "null"...)
}

// appendObject is appendJSON of an object. It copies the values that are in long.
func appendObject(b []byte, object map[string]any, long longTexts) []byte {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, k)
		b = append(b, ':')
		if text, ok := long.of(k, object[k]); ok {
			b = append(b, text...)
			continue
		}
		b = appendJSON(b, object[k])
	}
	return append(b, '}')
}

// appendText appends s as a JSON string. It escapes only the quote, the backslash and control characters.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	plain := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}

// integral returns a number literal without fraction and exponent if its value is an integer of at most 20 digits
// (enough for 64 bits), and other literals unchanged.
func integral(literal string) string {
	if !strings.ContainsAny(literal, ".eE") {
		return literal
	}
	mantissa, exponentText := literal, "0"
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponentText = literal[:i], literal[i+1:]
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	var exponent int
	if _, err := fmt.Sscanf(exponentText, "%d", &exponent); err != nil {
		return literal
	}
	digits := whole + fraction
	point := len(whole) + exponent // digits before the decimal point
	zeros := len(digits) - len(strings.TrimRight(digits, "0"))
	digits = digits[:len(digits)-zeros]
	lead := len(digits) - len(strings.TrimLeft(digits, "0"))
	digits, point = digits[lead:], point-lead
	switch {
	case digits == "":
		return "0"
	case point < len(digits) || point > 20:
		return literal
	}
	return sign + digits + strings.Repeat("0", point-len(digits))
}

// quoteClipped quotes s, clipped for a message.
func quoteClipped(s string) string { return escape.Quote(escape.ClipBytes(s, 60)) }

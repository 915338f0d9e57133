package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// canonicalArgs returns the text of [Rule.ArgsPattern] for params. The error reports that
// params are not JSON.
func canonicalArgs(params json.RawMessage) (string, error) {
	value, err := decodeArgs(params)
	if err != nil {
		return "", err
	}
	return string(appendCanonical(nil, value, true)), nil
}

// decodeArgs decodes params, empty ones as an empty object.
func decodeArgs(params json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(params)) == 0 {
		return map[string]any{}, nil
	}
	var value any
	if json.Unmarshal(params, &value) == nil {
		return value, nil
	}
	d := json.NewDecoder(bytes.NewReader(params)) // a number may be out of range
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the arguments")
	}
	return value, nil
}

// appendCanonical appends value to b; top marks the arguments themselves, whose
// pairs are delimited by NUL.
func appendCanonical(b []byte, value any, top bool) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendString(b, v)
	case float64:
		return appendNumber(b, v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return append(b, "null"...) // out of JavaScript's range
		}
		return appendNumber(b, f)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, e, false)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			if top {
				b = append(b, 0)
			}
			b = appendString(b, key)
			b = append(b, ':')
			b = appendCanonical(b, v[key], false)
			if top {
				b = append(b, 0)
			}
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendNumber appends a number as JavaScript prints it.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0') // also -0
	}
	text, err := json.Marshal(f)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// appendString appends s as JSON.stringify prints it.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
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
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

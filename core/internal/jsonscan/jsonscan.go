// Package jsonscan finds the ends of strings in JSON text, eight bytes at a time.
package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// Text describes a string in JSON text.
type Text struct {
	End     int  // index after its closing quotation mark
	Escapes int  // number of its escapes; \u and its digits are one
	Short   bool // no escape is a \u or \/, so that two bytes stand for one
	ASCII   bool // it has only ASCII characters; false: it may have others
}

const (
	each  = 0x0101010101010101 // one in each byte
	highs = 0x80 * each
)

// String returns the string of data whose opening quotation mark is before index i. ok is false if encoding/json
// would not accept it. Bytes that are no UTF-8 are accepted, as encoding/json does.
func String(data []byte, i int) (t Text, ok bool) {
	t.Short = true
	var seen uint64
	for {
		special := uint64(0)
		for ; special == 0 && i+8 <= len(data); i += 8 {
			word := binary.LittleEndian.Uint64(data[i : i+8])
			seen |= word
			// Of all characters, only the quotation mark and those below the space are less than ! with the second bit inverted.
			special = (less(word^2*each, '!') | less(word^'\\'*each, 1)) & highs
		}
		if special != 0 {
			i -= 8 - bits.TrailingZeros64(special)/8
		}
		if i >= len(data) {
			return t, false
		}
		switch c := data[i]; {
		case c == '"':
			t.End, t.ASCII = i+1, seen&highs == 0
			return t, true
		case c < ' ':
			return t, false
		case c != '\\':
			seen |= uint64(c)
			i++
			continue
		}
		n := escape(data[i:])
		if n == 0 {
			return t, false
		}
		t.Escapes++
		t.Short = t.Short && n == 2 && data[i+1] != '/'
		i += n
	}
}

// less marks the bytes of a word that are less than c, at most 128, by their highest bit. The lowest mark is exact;
// those above it may be wrong.
func less(word, c uint64) uint64 { return (word - c*each) &^ word }

// escape returns the length of the escape that data begins with, and 0 if it is invalid.
func escape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const length = 6
		if len(data) < length {
			return 0
		}
		for _, c := range data[2:length] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return 0
			}
		}
		return length
	}
	return 0
}

package discovery

import (
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// byteOrderMark returns the byte order of UTF-16 text that begins with a mark; nil for other data.
func byteOrderMark(head []byte) binary.ByteOrder {
	switch {
	case len(head) < 2:
		return nil
	case head[0] == 0xff && head[1] == 0xfe && (len(head) < 4 || head[2] != 0 || head[3] != 0): // otherwise it is UTF-32
		return binary.LittleEndian
	case head[0] == 0xfe && head[1] == 0xff:
		return binary.BigEndian
	}
	return nil
}

// utf16Reader decodes UTF-16 without its mark into UTF-8. Invalid characters become U+FFFD.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	raw   [4096]byte
	out   []byte // decoded and not read yet
	high  rune   // first half of a pair; 0: none
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.decode()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// decode reads and decodes the next block.
func (u *utf16Reader) decode() {
	n, err := io.ReadFull(u.r, u.raw[:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	u.err = err
	var out []byte
	for i := 0; i+1 < n; i += 2 {
		c := rune(u.order.Uint16(u.raw[i:]))
		if u.high != 0 {
			both := utf16.DecodeRune(u.high, c)
			u.high = 0
			out = utf8.AppendRune(out, both)
			if both != utf8.RuneError {
				continue
			}
		}
		switch {
		case c >= 0xd800 && c < 0xdc00:
			u.high = c
		default:
			out = utf8.AppendRune(out, c)
		}
	}
	if err != nil && (n%2 == 1 || u.high != 0) {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	u.out = out
}

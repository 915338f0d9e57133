package process

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// text is the Plain of an output, or a note where it is no text. b is the
// output or its beginning, total the length of the output in bytes.
func text(b []byte, total int64) string {
	if binary(b) {
		return fmt.Sprintf("[%d bytes that are no text]", total)
	}
	return Plain(string(b))
}

// binary reports whether more than a tenth of the first characters of b stand
// in no text.
func binary(b []byte) bool {
	const looked = 4096
	odd, all := 0, 0
	for i := 0; i < len(b) && i < looked; all++ {
		r, n := utf8.DecodeRune(b[i:])
		if n == 1 && r == utf8.RuneError || control(r) && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) {
			odd++
		}
		i += n
	}
	return all >= 20 && odd*10 > all
}

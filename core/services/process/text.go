package process

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/internal/plaintext"
)

// text returns Plain of an output, or a note if it is binary. b is the output or its beginning,
// total its length in bytes.
func text(b []byte, total int64) string {
	if binary(b) {
		return fmt.Sprintf("[%d bytes of binary output]", total)
	}
	return plaintext.Of(string(b))
}

// binary reports whether more than a tenth of the first characters of b do not occur in text.
func binary(b []byte) bool {
	const looked = 4096
	odd, all := 0, 0
	for i := 0; i < len(b) && i < looked; all++ {
		r, n := utf8.DecodeRune(b[i:])
		if n == 1 && r == utf8.RuneError || plaintext.Control(r) && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) {
			odd++
		}
		i += n
	}
	return all >= 20 && odd*10 > all
}

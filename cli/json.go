package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/fettle-dev/fettle/cli/display"
)

// printJSON prints v as one line. What a terminal would obey in it, as a line of
// another's file may hold, is escaped where the line goes to one.
func printJSON(w io.Writer, v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	text := line.String()
	if isTerminal(w) {
		text = escapeObeyed(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// escapeObeyed escapes in JSON what a terminal obeys. The encoder has escaped
// control characters of ASCII, so what is left stands in strings.
func escapeObeyed(text string) string {
	if !strings.ContainsFunc(text, display.Obeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !display.Obeyed(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

package program

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/fettle-dev/fettle/core/escape"
)

// PrintJSON prints v as one line of JSON, as [WriteJSON] does.
func PrintJSON(w io.Writer, v any) error { return WriteJSON(w, v, "") }

// WriteJSON prints v as JSON and a line feed. All JSON that the program prints goes
// through it: what a terminal would obey in it, as a line of another's file may hold,
// is escaped, wherever the output goes, as that may be shown in a terminal later.
func WriteJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, EscapeObeyed(b.String()))
	return err
}

// EscapeObeyed escapes in JSON what a terminal obeys.
func EscapeObeyed(text string) string { return escape.JSON(text) }

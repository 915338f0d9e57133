package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/fettle-dev/fettle/core/escape"
)

// printJSON prints v as one line of JSON, as [writeJSON] does.
func printJSON(w io.Writer, v any) error { return writeJSON(w, v, "") }

// writeJSON prints v as JSON and a line feed. All JSON that the program prints goes
// through it: what a terminal would obey in it, as a line of another's file may hold,
// is escaped, wherever the output goes, as that may be shown in a terminal later.
func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeObeyed(b.String()))
	return err
}

// escapeObeyed escapes in JSON what a terminal obeys.
func escapeObeyed(text string) string { return escape.JSON(text) }

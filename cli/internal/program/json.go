package program

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/fettle-dev/fettle/core/escape"
)

// PrintJSON prints v as one line of JSON, as [WriteJSON] does.
func PrintJSON(w io.Writer, v any) error { return WriteJSON(w, v, "") }

// WriteJSON prints v as JSON with a line feed. All JSON of the program is printed by
// it. Terminal control characters are escaped wherever the output goes, because a log
// may be displayed in a terminal later.
func WriteJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, EscapeControls(b.String()))
	return err
}

// EscapeControls escapes terminal control characters in JSON.
func EscapeControls(text string) string { return escape.JSON(text) }

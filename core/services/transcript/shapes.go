package transcript

import (
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/redact"
)

// maskPatterns masks texts with the pattern of a secret in the content of a turn. It leaves base64
// data unchanged, because that data may match any pattern and must remain decodable.
func maskPatterns(content string) string {
	var c struct {
		Parts []struct {
			Data      struct{ Data string }
			Signature string
			Response  struct {
				Data []struct{ Data string }
			} `json:"functionResponse"`
		}
	}
	if json.Unmarshal([]byte(content), &c) != nil {
		return redact.Text(content)
	}
	var clean strings.Builder
	leave := func(bytes string) {
		before, after, found := strings.Cut(content, `"`+bytes+`"`)
		if bytes == "" || !found {
			return
		}
		clean.WriteString(redact.Text(before))
		clean.WriteString(`"` + bytes + `"`)
		content = after
	}
	for _, p := range c.Parts { // in the order in which core/model writes them
		leave(p.Data.Data)
		for _, d := range p.Response.Data {
			leave(d.Data)
		}
		leave(p.Signature)
	}
	clean.WriteString(redact.Text(content))
	return clean.String()
}

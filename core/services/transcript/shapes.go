package transcript

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// shape is what secrets of one kind look like. In the texts of JSON, at any
// depth of strings in strings, no match begins or ends inside an escape.
type shape struct {
	hints   []string // one of which stands in every match
	match   *regexp.Regexp
	replace string
	no      func(string) bool // tells what only looks like it; nil: nothing does
}

// free is what may stand before a token: no letter, digit or _, unless they
// belong to an escape.
const free = `(^|[^A-Za-z0-9_]|\\[nrtbf]|\\u[0-9A-Fa-f]{4})`

// shapes are those of which no other text is. None matches a quote, so that
// JSON stays JSON. They are compiled at first use, as most runs of a program
// that can record do not.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{hints: []string{"PRIVATE KEY"}, match: regexp.MustCompile(
			`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:` +
				`[A-Za-z0-9+/=:,. \t\r\n\\-]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----` +
				`|(?:(?:\\+[nrt]|\s)+[A-Za-z0-9+/=]{40,})+)`), // one that was cut
			replace: masked},
		token(`(?:AKIA|ASIA)[0-9A-Z]{16}\b`, "AKIA", "ASIA"),
		token(`gh[pousr]_[A-Za-z0-9]{20,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		token(`github_pat_[A-Za-z0-9_]{20,}`, "github_pat_"),
		token(`glpat-[A-Za-z0-9_-]{20,}`, "glpat-"),
		{hints: []string{"sk-"}, match: regexp.MustCompile(free + `(?:sk-[A-Za-z0-9_-]{20,})`), replace: "${1}" + masked, no: words},
		token(`xox[a-z]-[A-Za-z0-9-]{10,}`, "xox"),
		token(`AIza[0-9A-Za-z_-]{35}`, "AIza"),
		token(`npm_[A-Za-z0-9]{30,}`, "npm_"),
		token(`hf_[A-Za-z0-9]{30,}`, "hf_"),
		token(`eyJ[A-Za-z0-9_-]{8,}\.ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}`, "eyJ"),
		{hints: []string{"@"}, match: regexp.MustCompile( // not the names of variables in their place
			`([A-Za-z][A-Za-z0-9+.-]*:(?:\\*/){2}` + inURL + `*:)` + inURL + `+@`), replace: "${1}" + masked + "@", no: variable},
	}
})

// inURL is a character of a user's name or password in a URL, or an escape.
const inURL = "(?:[^\\s/:@\"'`\\\\<>]|\\\\+u00[0-9A-Fa-f]{2})"

func token(expr string, hints ...string) shape {
	return shape{hints: hints, match: regexp.MustCompile(free + expr), replace: "${1}" + masked}
}

// words reports whether what begins like a key is words with dashes, as names of
// styles are.
func words(s string) bool {
	body := s[strings.Index(s, "sk-")+len("sk-"):]
	if strings.ContainsAny(body, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return false
	}
	for word := range strings.FieldsFuncSeq(body, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(word) >= 20 {
			return false
		}
	}
	return true
}

// variable reports whether a URL has the name of a variable in the place of the
// password.
func variable(s string) bool {
	password := s[strings.LastIndex(s, ":")+1:]
	return strings.IndexAny(password, "${%*[") == 0 && !strings.HasPrefix(password, "%2") && !strings.HasPrefix(password, "%4")
}

// maskShapes masks what has the shape of a secret.
func maskShapes(s string) string {
	for _, shape := range shapes() {
		for _, hint := range shape.hints {
			if !strings.Contains(s, hint) {
				continue
			}
			if shape.no == nil {
				s = shape.match.ReplaceAllString(s, shape.replace)
				break
			}
			s = shape.match.ReplaceAllStringFunc(s, func(found string) string {
				if shape.no(found) {
					return found
				}
				return shape.match.ReplaceAllString(found, shape.replace)
			})
			break
		}
	}
	return s
}

// maskShapesOf masks what has the shape of a secret in the content of a turn but
// for its bytes, whose base64 may have any shape and is to be read again.
func maskShapesOf(content string) string {
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
		return maskShapes(content)
	}
	var clean strings.Builder
	leave := func(bytes string) {
		before, after, found := strings.Cut(content, `"`+bytes+`"`)
		if bytes == "" || !found {
			return
		}
		clean.WriteString(maskShapes(before))
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
	clean.WriteString(maskShapes(content))
	return clean.String()
}

package tools

import (
	"regexp"
	"strings"
)

// untrustedTag is how either tag of [Untrusted] begins, however it is spelt.
var untrustedTag = regexp.MustCompile(`(?i)<(\s*/?\s*untrusted_context)`)

// Untrusted returns text that came from outside (a command's output, a page, a
// server's answer) in the form in which a model is to take it as data: between
// the lines <untrusted_context> and </untrusted_context>. In such a tag within
// text, "<" is written as &lt;, so that text cannot end its own marking. What
// fettle itself has to say belongs before it.
func Untrusted(text string) string {
	text = strings.TrimSuffix(untrustedTag.ReplaceAllString(text, "&lt;$1"), "\n")
	return "<untrusted_context>\n" + text + "\n</untrusted_context>"
}

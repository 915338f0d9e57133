package webfetch

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// kind is the treatment of a media type.
type kind int

const (
	unsupported kind = iota
	plain            // shown unchanged
	markup           // HTML, converted to Markdown
)

// textTypes are media types of text that have no prefix or suffix of a text type.
var textTypes = map[string]bool{
	"application/json": true, "application/x-ndjson": true, "application/jsonl": true, "application/json5": true, "application/manifest+json": true,
	"application/xml": true, "application/xml-dtd": true, "application/javascript": true, "application/x-javascript": true,
	"application/ecmascript": true, "application/typescript": true, "application/x-typescript": true,
	"application/yaml": true, "application/x-yaml": true, "application/toml": true, "application/markdown": true,
	"application/x-sh": true, "application/x-shellscript": true, "application/x-httpd-php": true, "application/x-tex": true,
	"application/sql": true, "application/graphql": true, "application/x-www-form-urlencoded": true, "application/x-subrip": true,
	"message/rfc822": true, "image/svg+xml": true,
}

func kindOf(media string) kind {
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return markup
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"), strings.HasSuffix(media, "+yaml"), textTypes[media]:
		return plain
	}
	return unsupported
}

// unsupportedType refuses a type that is not text. A negative size is unknown.
func unsupportedType(media string, size int64) *fault.Error {
	what := "The content type is " + media
	if size >= 0 {
		what += fmt.Sprintf(" (%d bytes)", size)
	}
	return failed(what+", which is not text.", "Fetch a page of text; or download the file with a shell command, if it is needed.", nil)
}

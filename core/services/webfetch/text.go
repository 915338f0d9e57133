package webfetch

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// text converts a body to valid UTF-8 text.
func (s *Service) text(ctx context.Context, b body) (converted, error) {
	if len(b.data) == 0 {
		return converted{}, nil
	}
	media := mediaType(b.contentType)
	if kindOf(media) == unsupported {
		return converted{}, unsupportedType(media, int64(len(b.data)))
	}
	decoded, err := decode(b.data, b.contentType)
	if err != nil {
		return converted{}, err
	}
	if actual, ok := binary(b.data, decoded); ok {
		return converted{}, failed(fmt.Sprintf("The server reports the type %s, but the response is not text (%s, %d bytes).", media, actual, len(b.data)),
			"Fetch a page of text; or download the file with a shell command, if it is needed.", nil)
	}
	if kindOf(media) == plain {
		return converted{text: decoded}, nil
	}
	select {
	case s.convert <- struct{}{}:
		defer func() { <-s.convert }()
	case <-ctx.Done():
		return converted{}, context.Cause(ctx)
	}
	return toMarkdown(ctx, decoded, b.url, s.o.MaxChars)
}

// converted is the text of a body, with a notice about its conversion.
type converted struct {
	text, notice string
	trimmed      bool // text is only the beginning
}

// show stores the text in the page, up to the limit for its status.
func (p *Page) show(c converted, o Options) {
	if c.notice != "" {
		p.Notice = strings.TrimSpace(p.Notice + " " + c.notice)
	}
	p.Text, p.Truncated = c.text, c.trimmed
	most := o.MaxChars
	if !isSuccess(p.Status) {
		most = min(most, o.MaxErrorChars)
		p.Err = failed(fmt.Sprintf("The server responded with status %d %s.", p.Status, http.StatusText(p.Status)), statusRemedy(p.Status), nil)
	}
	p.cut(most)
}

// statusRemedy returns the remedy for a status without success.
func statusRemedy(status int) string {
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
		return "Check the URL, or search for the right one."
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "The page is not public, or denies programs. Use another source."
	case status == http.StatusTooManyRequests, status >= 500:
		return "Try again later, or use another source."
	}
	return "Use another URL."
}

// cut truncates the text to most characters and returns its length in characters.
func (p *Page) cut(most int) int {
	n := 0
	for i := range p.Text {
		if n == most {
			p.Text, p.Truncated = strings.Clone(p.Text[:i]), true // releases the remainder
			return n
		}
		n++
	}
	return n
}

// decode converts a body to UTF-8. It takes the encoding from the byte order mark, the header, the
// document or a guess, in this order. Bytes that are clearly UTF-8, or clearly not, take precedence
// over a declaration.
func decode(data []byte, contentType string) (string, error) {
	enc, name, _ := charset.DetermineEncoding(data, contentType)
	proper, broken := countUTF8(data)
	switch {
	case broken == 0 && proper > 0 && !strings.HasPrefix(name, "utf-16"):
		name = "utf-8"
	case name == "utf-8" && broken > proper:
		enc, name, _ = charset.DetermineEncoding(data, "")
	}
	switch name {
	case "utf-8":
	case "replacement": // encodings that browsers refuse, because attacks use them
		return "", failed("The response has an unsupported encoding.", "Use another source.", nil)
	default:
		decoded, err := enc.NewDecoder().Bytes(data)
		if err != nil {
			return "", failed("The response cannot be decoded as "+name+": "+err.Error()+".", "Use another source.", err)
		}
		data = decoded
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return strings.ToValidUTF8(string(data), "\ufffd"), nil
}

// countUTF8 counts the valid UTF-8 characters beyond ASCII and the invalid bytes.
func countUTF8(data []byte) (proper, broken int) {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRune(data[i:])
		if size == 1 {
			broken++
		} else {
			proper++
		}
		i += size
	}
	return proper, broken
}

// binary reports whether a body with a text type is binary, and its probable type.
func binary(data []byte, decoded string) (actual string, ok bool) {
	const start = 1024
	actual = mediaType(http.DetectContentType(data))
	head := decoded[:min(len(decoded), start)]
	if strings.ContainsRune(head, 0) {
		return actual, true
	}
	control := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r) }
	return actual, strings.ContainsFunc(head, control) && kindOf(actual) == unsupported && actual != "application/octet-stream"
}

package webfetch

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

const op = "webfetch.fetch"

// failed returns an error about one page. What it quotes of a server goes
// through show or clip, as a message is not marked as text from outside.
func failed(message, remedy string, cause error) *fault.Error {
	return fault.Wrap(fault.WebFetchProcessing, op, message, remedy, cause)
}

// show returns a URL for a message, shortened.
func show(rawURL string) string { return clip(rawURL, 300) }

// why returns what an error of the network says. A server may have a part in
// its words, as a header that cannot be read or the names of a certificate.
func why(err error) string { return clip(redact.Text(err.Error()), 200) }

// clip makes text from outside fit for a message: one line of printable
// characters, at most so many of them.
func clip(text string, most int) string {
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case strconv.IsPrint(r) && !escape.Hidden(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

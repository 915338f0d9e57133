package webfetch

import (
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

const op = "webfetch.fetch"

// failed returns an error about one page. What it quotes of a server goes
// through show or escape.Quote, as a message is not marked as text from outside.
func failed(message, remedy string, cause error) *fault.Error {
	return fault.Wrap(fault.WebFetchProcessing, op, message, remedy, cause)
}

// show returns a URL, or a part of one, for a message, shortened and with escapes
// for what cannot be seen.
func show(rawURL string) string { return escape.Clip(escape.Line(rawURL), 300) }

// why returns what an error of the network says. A server may have a part in
// its words, as a header that cannot be read or the names of a certificate.
func why(err error) string { return escape.Clip(escape.Line(redact.Text(err.Error())), 200) }

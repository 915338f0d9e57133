package webfetch

import (
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

const op = "webfetch.fetch"

// failed returns an error about one page. Text from a server must pass through show or
// escape.Quote, because a message is not marked as untrusted.
func failed(message, remedy string, cause error) *fault.Error {
	return fault.Wrap(fault.WebFetchProcessing, op, message, remedy, cause)
}

// show returns a URL, or a part of one, for a message: shortened, with invisible characters
// escaped.
func show(rawURL string) string { return escape.Clip(escape.Line(rawURL), 300) }

// errorText returns the text of a network error. A server can influence that text, for example with an
// invalid header or the names in a certificate.
func errorText(err error) string { return escape.Clip(escape.Line(redact.Text(err.Error())), 200) }

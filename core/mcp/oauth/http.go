package oauth

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// maxBytes limits the body of an answer.
const maxBytes = 1 << 20

// maxRedirects limits the redirects of a metadata request.
const maxRedirects = 3

var (
	errRedirect  = errors.New("redirected")
	errNotJSON   = errors.New("not JSON") // for example an HTML page for unknown paths
	errMalformed = errors.New("malformed")
)

// errStatus is the status code of an unsuccessful answer.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("HTTP status %d", int(e)) }

// newClient returns the client for all requests of this package. It follows
// redirects only for GET and within the origin: a POST is meant for one address.
func newClient(rt http.RoundTripper) *http.Client {
	if rt == nil {
		rt = http.DefaultTransport
	}
	return &http.Client{
		Transport: capped{rt},
		Timeout:   requestLimit,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			first := via[0]
			if first.Method != http.MethodGet || !sameOrigin(first.URL, r.URL) || len(via) > maxRedirects {
				return errRedirect
			}
			return nil
		},
	}
}

// capped limits the size of answers.
type capped struct{ http.RoundTripper }

func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxBytes)
	}
	return resp, err
}

// getJSON fetches a document. The error is an errStatus for every status but 200,
// and errNotJSON or errMalformed for other content.
func (s *Service) getJSON(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errNotJSON // it cannot be JSON
	}
	r.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errStatus(resp.StatusCode)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	switch {
	case !json.Valid(text):
		return errNotJSON
	case json.Unmarshal(text, into) != nil:
		return errMalformed
	}
	return nil
}

// absent reports whether the error of a request for an optional document means
// that it does not exist.
func absent(err error) bool {
	var status errStatus
	return errors.As(err, &status) && status >= 400 && status < 500 || errors.Is(err, errNotJSON) || errors.Is(err, errRedirect)
}

// failure describes in a sentence why a request failed. It repeats no text of the
// other side, and no more of the address than its origin.
func failure(address string, err error) string {
	place := origin(address)
	var (
		status errStatus
		large  *http.MaxBytesError
		dns    *net.DNSError
		cert   *tls.CertificateVerificationError
		slow   net.Error
	)
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("%s responds with HTTP status %d.", place, int(status))
	case errors.Is(err, errNotJSON), errors.Is(err, errMalformed):
		return place + " sends an invalid response."
	case errors.Is(err, errRedirect):
		return place + " redirects to another address, which is not followed."
	case errors.As(err, &large):
		return fmt.Sprintf("the response of %s is larger than %d bytes.", place, maxBytes)
	case errors.As(err, &cert):
		return "the certificate of " + place + " cannot be verified."
	case errors.As(err, &dns):
		return "the host of " + place + " is unknown."
	case errors.Is(err, syscall.ECONNREFUSED):
		return place + " refuses connections."
	case errors.As(err, &slow) && slow.Timeout():
		return place + " does not respond in time."
	}
	return place + " cannot be reached."
}

// passing reports whether a failed request may succeed later.
func passing(err error) bool {
	var status errStatus
	if errors.As(err, &status) {
		return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	}
	var large *http.MaxBytesError
	var other *url.Error
	return !errors.Is(err, errRedirect) && !errors.As(err, &large) && errors.As(err, &other)
}

// failed returns the error of a request that a sign-in requires.
func failed(ctx context.Context, name, address string, err error) error {
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx, name)
	case passing(err):
		return unavailable(name, failure(address, err))
	}
	return refused(name, failure(address, err))
}

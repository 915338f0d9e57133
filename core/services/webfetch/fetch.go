package webfetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// accept prefers the types that need the least conversion.
const accept = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5"

// fetch fetches one page.
func (s *Service) fetch(ctx context.Context, rawURL string) Page {
	p := Page{URL: rawURL}
	u, err := ParseURL(rawURL)
	if err != nil {
		p.Err = fault.As(err)
		return p
	}
	if raw, ok := rawFile(u); ok {
		u = raw
		p.Notice = "The URL was a GitHub page about a file; this is the file."
	}
	raw, err := s.load(ctx, &p, u)
	if err != nil {
		p.Err = s.reason(ctx, &p, err)
		return p
	}
	text, err := s.text(ctx, raw)
	if err != nil {
		p.Err = s.reason(ctx, &p, err)
		return p
	}
	p.show(text, s.o)
	return p
}

// reason converts err to a fault. The cause of an ended context takes precedence.
func (s *Service) reason(ctx context.Context, p *Page, err error) *fault.Error {
	cause := context.Cause(ctx)
	if cause == nil && errors.Is(err, errTimeout) {
		cause = errTimeout
	}
	if cause != nil {
		return s.ended(cause, p.URL)
	}
	return explain(p.URL, err)
}

// body is the body of a response.
type body struct {
	data        []byte // decompressed
	url         *url.URL
	contentType string // the Content-Type header
}

// load follows redirects, stores the final URL, status and content type in p, and returns the body.
func (s *Service) load(ctx context.Context, p *Page, u *url.URL) (body, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, errTimeout)
	defer cancel()
	res, u, err := s.follow(ctx, u)
	if err == nil {
		defer res.Body.Close()
		p.FinalURL, p.Status = u.String(), res.StatusCode
		p.ContentType = mediaType(res.Header.Get("Content-Type"))
		var b body
		if b, err = s.read(res, u); err == nil {
			if p.ContentType == "" && len(b.data) > 0 {
				b.contentType = http.DetectContentType(b.data)
				p.ContentType = mediaType(b.contentType)
			}
			return b, nil
		}
	}
	if ctx.Err() != nil {
		return body{}, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return body{}, err
}

// follow requests u and follows its redirects. It checks every host before the request. The caller
// closes the body.
func (s *Service) follow(ctx context.Context, u *url.URL) (*http.Response, *url.URL, error) {
	asked := ""
	for hops := 0; ; hops++ {
		if f := s.guard.checkHost(u); f != nil {
			return nil, nil, viaRedirect(hops, u, f)
		}
		if host := u.Hostname() + ":" + portOf(u); host != asked {
			if wait := s.limiter.take(host); wait > 0 {
				return nil, nil, failed(fmt.Sprintf("The host %s has received %d requests within a minute, which is the limit.", show(host), s.o.PerMinute),
					fmt.Sprintf("Wait %d seconds before the next request to it.", int(wait.Seconds())+1), nil)
			}
			asked = host
		}
		res, err := s.request(ctx, u)
		if err != nil {
			if f := fault.As(err); f != nil {
				err = viaRedirect(hops, u, f)
			}
			return nil, nil, err
		}
		location := res.Header.Get("Location")
		if !isRedirect(res.StatusCode) || location == "" {
			return res, u, nil
		}
		res.Body.Close()
		if hops >= s.o.MaxRedirects {
			return nil, nil, failed(fmt.Sprintf("The URL redirects more than %d times, at last to %s.", max(s.o.MaxRedirects, 0), show(u.String())),
				"It may be a loop. Use another URL.", nil)
		}
		if u, err = next(u, location); err != nil {
			return nil, nil, err
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// maxTarget limits the URL of a redirect, in bytes. A server chooses that URL, and it is displayed
// outside of the page text.
const maxTarget = 2000

// next returns the target of a redirect. It refuses a redirect from https to http, so that content
// requested over a secure connection is never read from an insecure one.
func next(from *url.URL, location string) (*url.URL, error) {
	to, err := parse(from.Parse, location)
	if err == nil {
		to, err = ParseURL(to.String())
	}
	if err != nil {
		return nil, failed("The server redirects to a URL that cannot be fetched. "+fault.As(err).Message, "Use another URL.", err)
	}
	target := to.String()
	if len(target) > maxTarget {
		return nil, failed(fmt.Sprintf("The server redirects to a URL of %d bytes, more than %d. It begins with %s", len(target), maxTarget, escape.Clip(escape.Line(target), 100)),
			"Use another URL.", nil)
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return nil, failed("The server redirects from https to "+show(target)+", which is insecure, so the redirect was not followed.",
			"Fetch that URL directly if an insecure connection is acceptable.", nil)
	}
	return to, nil
}

// viaRedirect adds the redirect target to the message of a refusal, unless u is the requested URL.
func viaRedirect(hops int, u *url.URL, f *fault.Error) *fault.Error {
	if hops == 0 {
		return f
	}
	c := *f
	c.Message = "The URL redirects to " + show(u.String()) + ". " + f.Message
	return &c
}

// request sends a GET request and retries it where a retry may succeed. It returns the last
// response, with any status.
func (s *Service) request(ctx context.Context, u *url.URL) (*http.Response, error) {
	pause := s.o.Backoff
	for try := 0; ; try++ {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		q.Header = http.Header{"User-Agent": {s.o.UserAgent}, "Accept": {accept}, "Accept-Encoding": {"gzip, deflate"}}
		res, err := s.routes.send(q)
		if try >= s.o.Retries || !retryable(res, err) {
			return res, err
		}
		wait := pause
		if res != nil {
			wait = max(wait, s.retryAfter(res))
		}
		if at, ok := ctx.Deadline(); ok && time.Until(at) <= wait {
			return res, err
		}
		if res != nil {
			res.Body.Close()
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		pause *= 2
	}
}

// retryable reports whether a retry may succeed.
func retryable(res *http.Response, err error) bool {
	if err != nil {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	return res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500
}

// retryAfter parses the Retry-After header: seconds or a date. It returns 0 without a valid one.
func (s *Service) retryAfter(res *http.Response) time.Duration {
	value := strings.TrimSpace(res.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(s.o.Now())
	}
	return 0
}

// mediaType returns the media type of a Content-Type header without parameters, or "" for a missing
// or invalid header. The type consists of two tokens, without blanks or brackets.
func mediaType(header string) string {
	const most = 100
	media, _, err := mime.ParseMediaType(header)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || len(media) > most || !strings.Contains(media, "/") {
		return ""
	}
	return media
}

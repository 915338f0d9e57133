package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
)

// exchange sends a request to a server that answers with these pieces. It returns the received
// events and the bytes that the client read.
func exchange(t testing.TB, stream bool, pieces ...[]byte) (x *wire.Exchange, events []string, read string) {
	x = &wire.Exchange{Stream: stream, Event: func(raw []byte) error {
		events = append(events, string(raw))
		return nil
	}}
	req, err := http.NewRequestWithContext(x.In(t.Context()), http.MethodPost, "http://127.0.0.1/", strings.NewReader("{}"))
	require.NoError(t, err)
	resp, err := wire.Client(&http.Client{Transport: wiretest.Pieces(pieces)}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err, "for an SDK an answer always ends well")
	return x, events, string(raw)
}

func TestEvents(t *testing.T) {
	tests := map[string]struct {
		body   string
		events []string
		err    error
		done   bool
	}{
		"none":                  {"", nil, nil, false},
		"events":                {"data: {\"a\":1}\n\ndata: {\"b\":2}\n\n", []string{`{"a":1}`, `{"b":2}`}, nil, false},
		"not ended":             {`data: {"a":1}`, []string{`{"a":1}`}, nil, false},
		"lines of one event":    {"data: {\"a\":\ndata: 1}\n\n", []string{"{\"a\":\n1}"}, nil, false},
		"done":                  {"data: {}\n\ndata: [DONE]\n\ndata: {\"more\":1}\n\n", []string{`{}`}, nil, true},
		"a mark of byte order":  {"\ufeffdata: {}\n\n", []string{`{}`}, nil, false},
		"other fields":          {"id: 1\nretry: 5\nevent: x\n: y\nnonsense\ndata: {}\n\n", []string{`{}`}, nil, false},
		"empty data":            {"data:\n\ndata: {}\n\n", []string{`{}`}, nil, false},
		"not objects":           {"data: null\n\ndata: 5\n\ndata: \"x\"\n\ndata: {}\n\n", []string{`{}`}, nil, false},
		"cut":                   {"data: {}\n\ndata: {\"a\":", []string{`{}`}, io.ErrUnexpectedEOF, false},
		"cut within [DONE]":     {"data: {}\n\ndata: [DON", []string{`{}`}, io.ErrUnexpectedEOF, false},
		"no JSON":               {"data: {}\n\ndata: {a}\n\n", []string{`{}`}, wire.ErrMalformed, false},
		"a page":                {" <html>", nil, wire.ErrWebPage, false},
		"a bare object":         {"{\n \"a\": 1\n}\n", []string{"{\n \"a\": 1\n}"}, nil, false},
		"a bare object, cut":    {"{\n \"a\": 1\n", nil, io.ErrUnexpectedEOF, false},
		"a bare object, broken": {"{\n \"a\": b\n}\n", nil, wire.ErrMalformed, false},
		"a list":                {"[{\"a\":1}\n,\n{\"b\":2}]\n", []string{`{"a":1}`, `{"b":2}`}, nil, false},
		"an empty error":        {"data: {\"error\":null}\n\ndata: {\"error\":{}}\n\n", []string{`{"error":null}`, `{"error":{}}`}, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x, events, read := exchange(t, true, []byte(tt.body))
			require.Equal(t, tt.events, events)
			require.ErrorIs(t, x.Err, tt.err)
			require.Equal(t, tt.done, x.Done)
			require.Equal(t, len(tt.events), x.Events)
			require.Equal(t, strings.Repeat("data: {}\n\n", len(tt.events)), read)
			require.Nil(t, x.Problem)
		})
	}
}

func TestProblemInTheStream(t *testing.T) {
	x, events, _ := exchange(t, true, []byte("data: {}\n\ndata: {\"error\":\"broken\"}\n\ndata: {\"a\":1}\n\n"))
	require.Equal(t, []string{"{}"}, events)
	require.JSONEq(t, `{"error":"broken"}`, string(x.Problem))

	x, events, _ = exchange(t, true, []byte("data: {}\n\nevent: error\ndata: upstream\ndata: broke\n\ndata: {\"a\":1}\n\n"))
	require.Equal(t, []string{"{}"}, events)
	require.Equal(t, "upstream\nbroke", string(x.Problem), "an event named error may be text")
	x, _, _ = exchange(t, true, []byte("event: error\n\ndata: {a}\n\n"))
	require.ErrorIs(t, x.Err, wire.ErrMalformed, "a name is that of one event")
	x, _, _ = exchange(t, true, []byte("event: error\ndata: upstr"))
	require.ErrorIs(t, x.Err, io.ErrUnexpectedEOF)
}

// The size of an event is limited, so that a server cannot fill the memory with one.
func TestLongEvent(t *testing.T) {
	long := []byte(strings.Repeat("x", 1<<20))
	pieces := [][]byte{[]byte(`data: {"a":"`)}
	for range 65 {
		pieces = append(pieces, long)
	}
	x, events, _ := exchange(t, true, pieces...)
	require.ErrorIs(t, x.Err, wire.ErrTooLong)
	require.Empty(t, events)
}

func TestEventOfMoreThanABuffer(t *testing.T) {
	body := `{"a":"` + strings.Repeat("ü", 50_000) + `"}`
	_, events, _ := exchange(t, true, []byte("data: "+body+"\n\n"))
	require.Len(t, events, 1)
	require.JSONEq(t, body, events[0])
}

func TestEventRefused(t *testing.T) {
	x := &wire.Exchange{Event: func([]byte) error { return errors.New("not of this form") }}
	req, err := http.NewRequestWithContext(x.In(t.Context()), http.MethodGet, "http://127.0.0.1/", nil)
	require.NoError(t, err)
	resp, err := wire.Client(&http.Client{Transport: wiretest.Pieces{[]byte("{}")}}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.ErrorIs(t, x.Err, wire.ErrMalformed)
}

// The result is the same wherever the response is split, and nothing panics.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		"", "data: {}\n\n", "data: {\"a\":1}\r\n\r\ndata: [DONE]\n", "{\"error\":1}", "[{},{}]", "data: {\"a\":\ndata: 1}\n\n", "data: x\n\n",
		"\ufeff<html>", "data:\n\n", "data: 1\ndata: 2\n\n", ":\n\n{\n", "data: {\"ä\":\"🙂\"}\n\n",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, body []byte, at int) {
		at = min(max(at, 0), len(body))
		x, events, read := exchange(t, true, body)
		y, split, readSplit := exchange(t, true, body[:at], body[at:])
		require.Equal(t, events, split)
		require.Equal(t, read, readSplit)
		require.Equal(t, x.Err, y.Err)
		require.Equal(t, x.Problem, y.Problem)
		for _, e := range events {
			require.True(t, json.Valid([]byte(e)))
		}
	})
}

func TestRequestIsEdited(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: "{}"})
	x := &wire.Exchange{
		Request: func(body []byte) ([]byte, error) { return append(body, " edited"...), nil },
		Event:   func([]byte) error { return nil },
	}
	req, err := http.NewRequestWithContext(x.In(t.Context()), http.MethodPost, s.URL, strings.NewReader("body"))
	require.NoError(t, err)
	resp, err := wire.Client(s.Client()).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "body edited", string(s.Last().Body))
	require.Equal(t, "11", strconv.FormatInt(int64(len(s.Last().Body)), 10))
}

// The key is not sent to another address.
func TestNoRedirectIsFollowed(t *testing.T) {
	other := wiretest.Serve(t, wiretest.Answer{Body: "{}"})
	s := wiretest.Serve(t, wiretest.Answer{Status: 307, Header: map[string]string{"Location": other.URL}})
	x := &wire.Exchange{Event: func([]byte) error { return nil }}
	req, err := http.NewRequestWithContext(x.In(t.Context()), http.MethodPost, s.URL, strings.NewReader("{}"))
	require.NoError(t, err)
	req.Header.Set("X-Goog-Api-Key", "secret")
	resp, err := wire.Client(s.Client()).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 307, x.Status)
	require.Empty(t, other.Requests())
}

func TestRedact(t *testing.T) {
	s := wire.Secrets{"a key/with+signs", "abc", ""}
	require.Equal(t, "bad [masked] [masked] abc", s.Redact("bad a key/with+signs\n a+key%2Fwith%2Bsigns abc"))
	long := s.Redact(strings.Repeat("ü", 2000))
	require.LessOrEqual(t, len(long), 1100)
	require.True(t, strings.HasSuffix(long, "ü…"))
	require.Equal(t, "a�b", s.Redact("a\xffb"))
}

func TestRetryAfter(t *testing.T) {
	header := func(k, v string) http.Header { return http.Header{k: {v}} }
	require.Equal(t, 2*time.Second, wire.RetryAfter(header("Retry-After", "2"), ""))
	require.Equal(t, 1500*time.Millisecond, wire.RetryAfter(header("Retry-After-Ms", "1500"), ""))
	require.Greater(t, wire.RetryAfter(header("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), ""), 30*time.Minute)
	require.Zero(t, wire.RetryAfter(header("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)), ""))
	for _, bad := range []string{"-5", "NaN", "soon", ""} {
		require.Zero(t, wire.RetryAfter(header("Retry-After", bad), ""), bad)
	}
	require.Equal(t, 7*24*time.Hour, wire.RetryAfter(header("Retry-After", "1e300"), ""))
	for message, want := range map[string]time.Duration{
		"Please retry in 34.07s.": 34070 * time.Millisecond, "try again in 20ms": 20 * time.Millisecond, "Try again in 6m0s": 6 * time.Minute,
		"retry after 1h2m": 62 * time.Minute, "retry in a while": 0, "": 0,
	} {
		require.Equal(t, want, wire.RetryAfter(nil, message), message)
	}
}

func TestBroken(t *testing.T) {
	secrets := wire.Secrets{"the-key"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		x    wire.Exchange
		err  error
		kind model.ErrorKind
	}{
		"ctx ended":            {ended, wire.Exchange{Err: io.EOF}, nil, model.Canceled},
		"not reached":          {t.Context(), wire.Exchange{Err: errors.New("dial the-key")}, nil, model.Connection},
		"broke off":            {t.Context(), wire.Exchange{Status: 200, Err: io.ErrUnexpectedEOF}, nil, model.Connection},
		"malformed":            {t.Context(), wire.Exchange{Status: 200, Err: wire.ErrMalformed}, nil, model.BadAnswer},
		"never sent":           {t.Context(), wire.Exchange{}, errors.New("the-key is bad"), model.InvalidRequest},
		"an empty answer":      {t.Context(), wire.Exchange{Status: 200}, io.EOF, model.Connection},
		"the SDK's own reason": {t.Context(), wire.Exchange{Status: 200, Events: 1}, errors.New("odd"), model.BadAnswer},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := tt.x.Broken(tt.ctx, "p", tt.err, secrets)
			require.Equal(t, tt.kind, e.Kind)
			require.NotEmpty(t, e.Message)
			require.NotContains(t, fmt.Sprintf("%v %v", e, e.Err), "the-key")
		})
	}
	require.Nil(t, (&wire.Exchange{Status: 200}).Broken(ended, "p", nil, secrets), "an answer that has come is one")
}

func TestServerMessage(t *testing.T) {
	for problem, want := range map[string]string{
		"": "bad gateway", " no upstream\n": "no upstream", "<html><title>\nBusy </title>": "Busy", "<html>": "the answer is a web page",
	} {
		require.Equal(t, want, wire.ServerMessage(502, []byte(problem)))
	}
	require.Contains(t, wire.ServerMessage(302, []byte("<a>")), "redirects")
}

func TestKind(t *testing.T) {
	for status, want := range map[int]model.ErrorKind{
		400: model.InvalidRequest, 401: model.Unauthenticated, 402: model.QuotaExhausted, 403: model.Unauthenticated, 404: model.NotFound, 408: model.Unavailable,
		413: model.ContextExceeded, 422: model.InvalidRequest, 429: model.RateLimited, 499: model.Unavailable, 500: model.Unavailable, 529: model.Unavailable, 307: model.InvalidRequest,
	} {
		require.Equal(t, want, wire.Kind(status), status)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"a"`: "a", `null`: "", `5`: "5", `true`: "true", `["a",{"text":"b"},null]`: "ab", `{"text":"a"}`: "a", `{"x":1}`: "", `[]`: "",
	} {
		var got wire.Text
		require.NoError(t, json.Unmarshal([]byte(in), &got), in)
		require.Equal(t, want, string(got), in)
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]int{`5`: 5, `5.0`: 5, `null`: 0, `"5"`: 0, `-1`: 0, `{}`: 0, `1e300`: 0} {
		var got wire.Count
		require.NoError(t, json.Unmarshal([]byte(in), &got), in)
		require.Equal(t, want, int(got), in)
	}
}

func TestBaseURL(t *testing.T) {
	base, password, err := wire.BaseURL(" http://me:secret@127.0.0.1:8080/v1/ ", "X's", "X_BASE_URL")
	require.NoError(t, err)
	require.Equal(t, "http://me:secret@127.0.0.1:8080/v1", base)
	require.Equal(t, "secret", password)
	_, _, err = wire.BaseURL("localhost:8080", "X's", "X_BASE_URL")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Remedy, "X_BASE_URL")
}

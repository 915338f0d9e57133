package httpserve

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timed is a response whose reads have a deadline.
type timed struct {
	http.ResponseWriter
	deadlines []time.Time
}

func (w *timed) SetReadDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

// EX-20: the deadline of a body ends with the body, so that the response may take
// longer.
func TestBodiesHaveATime(t *testing.T) {
	w := &timed{ResponseWriter: httptest.NewRecorder()}
	h := inTime(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		require.NoError(t, err)
	}), time.Minute)
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("whole"))))
	require.Len(t, w.deadlines, 2)
	require.False(t, w.deadlines[0].IsZero())
	require.True(t, w.deadlines[1].IsZero())

	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	require.Len(t, w.deadlines, 2, "without a body there is nothing to wait for")
}

// EX-20: a request whose body does not arrive is aborted.
func TestBodiesThatDoNotCome(t *testing.T) {
	failure := make(chan error, 1)
	srv := httptest.NewServer(inTime(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failure <- err
	}), time.Millisecond))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nbegun")
	require.NoError(t, err)
	require.ErrorIs(t, <-failure, os.ErrDeadlineExceeded)
	_, _ = io.Copy(io.Discard, bufio.NewReader(conn)) // the server closes the connection
}

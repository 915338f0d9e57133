package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/files"
)

// FD-01: a web client cannot overwrite a version that it has not seen.
func TestEditor(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "page.md"), []byte("one\n"), 0o644))
	dir, err := files.Open(path, files.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	server := httptest.NewServer(editor(dir))
	t.Cleanup(server.Close)
	do := func(method, name, body string, header ...string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/"+name, strings.NewReader(body))
		require.NoError(t, err)
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		response, err := server.Client().Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(text)
	}
	got, text := do("GET", "page.md", "")
	require.Equal(t, 200, got.StatusCode)
	require.Equal(t, "one\n", text)
	first := got.Header.Get("ETag")

	put, _ := do("PUT", "page.md", "two\n", "If-Match", first)
	require.Equal(t, 204, put.StatusCode)
	got, text = do("GET", "page.md", "")
	require.Equal(t, "two\n", text)
	require.Equal(t, put.Header.Get("ETag"), got.Header.Get("ETag"))

	stale, text := do("PUT", "page.md", "lost\n", "If-Match", first)
	require.Equal(t, 412, stale.StatusCode)
	require.Contains(t, text, "Read the file again")
	for status, c := range map[int][4]string{
		428: {"PUT", "page.md"}, 404: {"GET", "missing"}, 403: {"GET", "%2e%2e%2fsecret"}, 405: {"DELETE", "page.md"},
	} {
		got, text := do(c[0], c[1], "x")
		require.Equal(t, status, got.StatusCode, text)
	}
	other, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/page.md", nil)
	require.NoError(t, err)
	other.Host = "example.org"
	refused, err := server.Client().Do(other)
	require.NoError(t, err)
	require.NoError(t, refused.Body.Close())
	require.Equal(t, 403, refused.StatusCode)
	exists, _ := do("PUT", "page.md", "lost\n", "If-None-Match", "*")
	require.Equal(t, 412, exists.StatusCode)
	created, _ := do("PUT", "sub/new.md", "new\n", "If-None-Match", "*")
	require.Equal(t, 204, created.StatusCode)
	data, err := os.ReadFile(filepath.Join(path, "page.md"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data))
}

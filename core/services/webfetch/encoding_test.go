package webfetch_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// encoded is a handler that responds with compressed text.
func encoded(contentEncoding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", contentEncoding)
		text("text/plain", body)(w, r)
	}
}

func compress(t testing.TB, data string, with func(w io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := with(&b)
	_, err := io.WriteString(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func TestCompression(t *testing.T) {
	const hello = "hello hello hello"
	gz := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	zipped := compress(t, hello, gz)
	bare := compress(t, hello, func(w io.Writer) io.WriteCloser {
		f, err := flate.NewWriter(w, 6)
		require.NoError(t, err)
		return f
	})
	for name, body := range map[string]string{
		"gzip": zipped, "x-gzip": zipped, "GZIP": zipped, "gzip, identity": zipped, "": hello, "identity": hello,
		"deflate":    compress(t, hello, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		" deflate ":  bare,
		"gzip, gzip": compress(t, zipped, gz),
	} {
		p := get(t, webfetch.Options{}, encoded(name, body))
		require.Nil(t, p.Err, name)
		require.Equal(t, hello, p.Text, name)
	}
	require.Nil(t, get(t, webfetch.Options{}, encoded("gzip", "")).Err)
	for _, c := range []struct{ name, body, words string }{
		{"gzip", hello, "gzip compression of the response is invalid"},
		{"gzip", zipped[:len(zipped)-4], "gzip compression of the response is invalid"},
		{"gzip", zipped[:12] + "\xff\xff\xff" + zipped[15:], "gzip compression of the response is invalid"},
		{"deflate", "\x78\x9c garbage", "deflate compression of the response is invalid"},
		{"deflate", "\xff\xff\xff\xff", "deflate compression of the response is invalid"},
		{"br", "\x0b\x02\x80hello\x03", `compressed its response as "br"`},
		{"zstd", "x", `compressed its response as "zstd"`},
		{"gzip, gzip, gzip, gzip", zipped, "compressed 4 times"},
	} {
		refused(t, get(t, webfetch.Options{}, encoded(c.name, c.body)), c.words)
	}
}

// A truncated response is an error.
func TestBrokenOff(t *testing.T) {
	for name, answer := range map[string]string{
		"too short": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nshort",
		"chunked":   "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
	} {
		p := get(t, webfetch.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		})
		refused(t, p, "before the end")
		require.Empty(t, p.Text, name)
	}
	refused(t, get(t, webfetch.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9\r\n\r\n")
			_ = c.Close()
		}
	}), "failed")
}

func TestCharsets(t *testing.T) {
	const latin, kana = "Größe – naïve café", "日本語のテキスト"
	as := func(s string, e encoding.Encoding) string {
		t.Helper()
		out, err := e.NewEncoder().String(s)
		require.NoError(t, err)
		return out
	}
	utf16be := unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	utf16le := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	for _, c := range []struct{ name, contentType, body, want string }{
		{"utf-8", "text/plain; charset=utf-8", latin, latin},
		{"utf-8, BOM", "text/plain; charset=iso-8859-1", "\ufeff" + latin, latin},
		{"latin 1", "text/plain; charset=ISO-8859-1", as("Größe", charmap.ISO8859_1), "Größe"},
		{"windows", "text/plain; charset=windows-1252", as(latin, charmap.Windows1252), latin},
		{"shift jis", "text/html; charset=Shift_JIS", as(kana, japanese.ShiftJIS), kana},
		{"shift jis, meta", "text/html", `<meta charset="shift_jis"><p>` + as(kana, japanese.ShiftJIS), kana},
		{"meta, http-equiv", "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=euc-jp"><p>` + as(kana, japanese.EUCJP), kana},
		{"iso-2022-jp", "text/plain; charset=iso-2022-jp", as(kana, japanese.ISO2022JP), kana},
		{"utf-16, BOM", "text/plain", as(latin, utf16be), latin},
		{"utf-16, header", "text/plain; charset=utf-16le", as(latin, utf16le), latin},
		{"utf-16, html", "text/html; charset=utf-16", as("<p>"+kana, utf16be), kana},
		{"unlabelled utf-8, late", "text/html", "<p>" + string(bytes.Repeat([]byte("x "), 1000)) + kana, string(bytes.Repeat([]byte("x "), 1000)) + kana},
		{"unlabelled windows", "text/plain", as(latin, charmap.Windows1252), latin},
		{"wrong label, is utf-8", "text/plain; charset=iso-8859-1", latin, latin},
		{"wrong label, is not utf-8", "text/plain; charset=utf-8", as("Größe", charmap.ISO8859_1), "Größe"},
		{"damaged utf-8", "text/plain; charset=utf-8", latin + "\xff", latin + "\ufffd"},
		{"unknown label", "text/plain; charset=klingon", latin, latin},
		{"ascii", "text/plain; charset=us-ascii", "plain", "plain"},
	} {
		p := get(t, webfetch.Options{}, text(c.contentType, c.body))
		require.Nil(t, p.Err, c.name)
		require.Equal(t, c.want, p.Text, c.name)
	}
	refused(t, get(t, webfetch.Options{}, text("text/html; charset=iso-2022-kr", "x")), "unsupported encoding")
}

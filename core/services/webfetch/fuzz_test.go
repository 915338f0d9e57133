package webfetch

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// For any page, the text is valid UTF-8 and within its limit; no conversion panics, and both ways
// of conversion end.
func FuzzConvert(f *testing.F) {
	for _, page := range []string{
		"", "<p>a", "<h1>a</h1><ul><li>b</ul><table><tr><td>c</table>", "<a href='%zz'>x</a><base href=':'>", "<b><p></b>x</p>",
		"<table><tr><td colspan=3 rowspan=9>a<td>b<tr><td>c<table><tr><td>d</table></table>", "<pre><code>\n\n```</code></pre>", "<!--", "<![CDATA[x]]>",
		"\xff\xfe<\x00p>", "<svg><title>x</svg><math><mi>y", "<ol start=-1><li>x", "<title>\xff</title>", "<img src='data:x' alt='\n\n'><img alt=']('>", "\a*\a",
		"<frameset><frame>", "<select><option><b>", "<a><a><nobr><nobr>", "<plaintext><p>x", strings.Repeat("<i><u>", 60) + "x",
	} {
		f.Add([]byte(page), "text/html; charset=utf-8")
	}
	f.Add([]byte("\xfe\xff\x00<"), "text/html")
	f.Add([]byte("<meta charset=utf-16>x"), "text/html; charset=gbk")
	u, err := url.Parse("https://example.com/a/b?c")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, page []byte, contentType string) {
		decoded, err := decode(page, contentType)
		if err != nil {
			return
		}
		if !utf8.ValidString(decoded) {
			t.Fatal("decoded text is not valid")
		}
		got, err := toMarkdown(t.Context(), decoded, u, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(got.text) {
			t.Errorf("%q is not valid", got.text)
		}
		if text, _ := plainText(decoded, 1000); !utf8.ValidString(text) {
			t.Errorf("%q is not valid", text)
		}
		p := Page{Text: got.text}
		if n := p.cut(100); n > 100 || n != utf8.RuneCountInString(p.Text) {
			t.Errorf("cut to %d characters", n)
		}
	})
}

// An accepted URL is accepted again in its normalized form, and the guard decides the same about
// its host.
func FuzzURL(f *testing.F) {
	for _, u := range []string{
		"http://example.com", "https://müller.de./a?b#c", "http://[::1%25a]:80/", "http://0x7f.1", "http://a:b@c", "http://１２７.0.0.1", "HTTP://X:080/", "http://a%41/", "http://[::ffff:1.2.3.4]", "http://0..",
	} {
		f.Add(u)
	}
	g, err := newGuard(false, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			return
		}
		again, err := ParseURL(u.String())
		if err != nil {
			t.Fatalf("%q becomes %q: %v", raw, u, err)
		}
		if again.String() != u.String() || (g.checkHost(u) == nil) != (g.checkHost(again) == nil) {
			t.Errorf("%q becomes %q, then %q", raw, u, again)
		}
	})
}

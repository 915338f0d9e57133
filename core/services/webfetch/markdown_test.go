package webfetch_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/webfetch"
)

func TestMarkdown(t *testing.T) {
	server := serve(t, nil)
	s := newService(t, webfetch.Options{}, server)
	for name, c := range map[string]struct{ page, want string }{
		"blocks":     {"<h2>a</h2><p>b<p>c<blockquote>d</blockquote><hr>", "## a\n\nb\n\nc\n\n> d\n\n* * *"},
		"lists":      {"<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>d<li>e</ol>", "- a\n- b\n  \n  - c\n\n1. d\n2. e"},
		"two lists":  {"<ul><li>a</ul><ul><li>b</ul>", "- a\n\n- b"},
		"code":       {"<pre><code class=language-go>a &lt; b\n\n  c</code></pre><p><code>x`y</code>", "```go\na < b\n\n  c\n```\n\n``x`y``"},
		"marks":      {"<em>a</em> <strong>b</strong> <del>c</del>", "*a* **b** ~~c~~"},
		"table":      {"<table><tr><th>a<th>b<tr><td>1<td>2 | 3</table>", "| a | b |\n|---|---|\n| 1 | 2 \\| 3 |"},
		"links":      {`<a href="x">a</a> <a href="/y?q=1">b</a> <a href="//z.test/">c</a> <a href="#f">d</a> <a href="mailto:e@f.test">g</a>`, "[a](SITE/dir/x) [b](SITE/y?q=1) [c](http://z.test/) [d](SITE/dir/page#f) [g](mailto:e@f.test)"},
		"base":       {`<head><base href="/other/"></head><a href="x">a</a>`, "[a](SITE/other/x)"},
		"bad base":   {`<base href="javascript:x"><a href="x">a</a>`, "[a](SITE/dir/x)"},
		"scripts":    {`<script>alert("<p>no")</script><style>p{}</style><template>no</template><noscript>no</noscript><svg><title>no</title></svg><p>yes`, "yes"},
		"js link":    {`<a href="javascript:alert(1)">a</a> <a href="data:text/html,x">b</a>`, "a b"},
		"images":     {`<img src="i.png" alt="an image"><img src="data:image/png;base64,AAAA" alt="no">`, "![an image](SITE/dir/i.png)"},
		"empty link": {`a<a href="x"></a>`, "a"},
		"title":      {"<title> A \n title </title>", "Title: A title"},
		"comment":    {"<!-- no -->a", "a"},
		"entities":   {"&amp;&lt;&gt;&nbsp;&euro;&#128512;", "&&lt;&gt;\u00a0€😀"},
		"no html":    {"just text", "just text"},
		"unclosed":   {"<div><p>a<b>b<i>c", "a**b*c***"},
		"nothing":    {"<html></html>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server.Config.Handler = text("text/html", c.page)
			p := one(t, s, server.URL+"/dir/page")
			require.Nil(t, p.Err)
			require.Equal(t, strings.ReplaceAll(c.want, "SITE", server.URL), p.Text)
			require.False(t, p.Truncated)
			require.Empty(t, p.Notice)
		})
	}
}

// hostile are pages of about size bytes, built to need much time or memory.
func hostile(size int) map[string]string {
	times := func(s string) string { return strings.Repeat(s, size/len(s)+1) }
	attributes, unclosed := "", ""
	for i := range 60 {
		attributes += fmt.Sprintf(" a%d=x", i)
		unclosed += fmt.Sprintf("<b a%d>", i)
	}
	return map[string]string{
		"deep":               times("<div>") + "deep" + times("</div>"),
		"deep within limits": strings.Repeat("<div>", 490) + times("<p>text"),
		"deep quotations":    strings.Repeat("<blockquote>", 480) + times("<p>text"),
		"deep lists":         strings.Repeat("<ul><li>", 200) + times("<p>text"),
		"deep tables":        strings.Repeat("<table><tr><td>", 120) + times("<p>text"),
		"copies":             unclosed + times("<p>x"),
		"copied attributes":  strings.Repeat("<b"+attributes+">", 10) + times("<p>x"),
		"misplaced ends":     times("<b><p></b>"),
		"links in links":     times("<a><p></a><p>"),
		"attributes":         "<b" + times(" x=1") + ">text",
		"a long attribute":   `<a href="` + times("x") + `">text</a>`,
		"pieces of text":     times("a</x>"),
		"one long text":      times("*_["),
		"blanks":             times(" ") + "text",
		"a long word":        times("x"),
		"backquotes":         "<code>" + times("`"),
		"open brackets":      times("<"),
		"declarations":       times("<!"),
		"comments":           times("<!--a-->"),
		"table":              "<table>" + times("<tr><td>a<td>b"),
		"wide table":         "<table><tr>" + times("<td>a"),
		"ragged table":       "<table><tr>" + times("<td>a") + times("<tr><td>a"),
		"spans":              "<table>" + times("<tr><td colspan=1000 rowspan=65000>a"),
		"text in tables":     "<table>" + times("a<tr>"),
		"options":            "<select>" + times("<option>x"),
		"images":             times("<img src=x alt=y>"),
		"numbers":            "<ol start=999999999>" + times("<li>x"),
		"foreign":            "<svg>" + times("<g>"),
		"self-closing":       times("<b/>"),
	}
}

// No page takes time or memory out of proportion to its size: 100,000 levels, tables of any width,
// text that is copied for each tag.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	size := 30_000
	if os.Getenv("FETTLE_FULL") != "" {
		size = 10_000_000
	}
	silent := []string{"foreign", "comments", "declarations", "misplaced ends", "links in links", "self-closing", "images"} // no text, or not certain to have any
	server := serve(t, nil)
	s := newService(t, webfetch.Options{Timeout: time.Hour, CallTimeout: time.Hour, PerMinute: -1, MaxBytes: 100 << 20}, server)
	for name, page := range hostile(size) {
		server.Config.Handler = text("text/html", page)
		start := time.Now()
		p := one(t, s, server.URL)
		require.Nil(t, p.Err, name)
		require.True(t, utf8.ValidString(p.Text))
		require.LessOrEqual(t, utf8.RuneCountInString(p.Text), 250_000, name)
		require.True(t, slices.Contains(silent, name) || strings.TrimSpace(p.Text) != "", name)
		t.Logf("%-18s %8d → %6d bytes in %v; plain text: %t", name, len(page), len(p.Text), time.Since(start).Round(time.Millisecond), p.Notice != "")
	}
}

// A page too deep for a tree is shown as plain text, with a notice.
func TestPlainText(t *testing.T) {
	page := "<title>no</title><h1>One  &amp;\n two</h1><p>a <b>b</b>c<br>d<script>no()</script><ul><li>x<li>y</ul>" +
		"<textarea>no</textarea>" + strings.Repeat("<div>", 100_000) + "deep &lt;"
	p := get(t, webfetch.Options{}, text("text/html", page))
	require.Nil(t, p.Err)
	require.Contains(t, p.Notice, "too deep")
	require.Equal(t, "no\nOne & two\na bc\nd\nx\ny\ndeep <", p.Text)
}

// A long page is truncated at any position, and marked as truncated.
func TestLongPage(t *testing.T) {
	page := "<ul>" + strings.Repeat("<li>wörd", 10_000) + "</ul>"
	p := get(t, webfetch.Options{MaxChars: 1000}, text("text/html", page))
	require.Nil(t, p.Err)
	require.True(t, p.Truncated)
	require.Equal(t, 1000, utf8.RuneCountInString(p.Text))
	require.True(t, strings.HasPrefix(p.Text, "- wörd\n- wörd\n"))
}

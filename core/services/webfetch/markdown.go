package webfetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// convertTime is how long one page may take to become Markdown.
const convertTime = 5 * time.Second

// errStopped ends a conversion that takes too long.
var errStopped = errors.New("the conversion was stopped")

// toMarkdown converts a page that was found at u, as much of it as most
// characters need. Parser and converter can be made to take any time and memory
// by pages written for it; such a page is reduced to its plain text, which
// takes both in proportion to its size. The error is the cause of an ended ctx.
func toMarkdown(ctx context.Context, page string, u *url.URL, most int) (converted, error) {
	if costly(page) {
		return reduced(page, most), nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, convertTime, errStopped)
	defer cancel()
	c, err := convert(limited, page, u, most)
	switch {
	case ctx.Err() != nil:
		return converted{}, context.Cause(ctx)
	case err != nil:
		return reduced(page, most), nil
	}
	return c, nil
}

// reduced is a page of which no more than its text is made out.
func reduced(page string, most int) converted {
	text, trimmed := plainText(page, most)
	return converted{text: text, trimmed: trimmed, notice: "The page's HTML is too deep or too large to be converted; this is its plain text."}
}

// convert parses and converts a page. It stops soon after ctx has ended. A
// panic in the libraries becomes an error.
func convert(ctx context.Context, page string, u *url.URL, most int) (_ converted, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("converting HTML: %v", cause)
		}
	}()
	doc, err := html.Parse(&stoppable{ctx, strings.NewReader(page)})
	if err != nil {
		return converted{}, err
	}
	title, trimmed := clean(doc, u, most)
	// Escaping would add backslashes that nobody needs who reads the text as it
	// is, and finding where they are due takes time by the square of a line.
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithSkipEmptyRows(true)),
	))
	c.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			panic(errStopped) // the only way out; see recover above
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	out, err := c.ConvertNode(doc, converter.WithContext(ctx))
	if err != nil {
		return converted{}, err
	}
	return converted{text: titled(title, strings.ToValidUTF8(string(out), "\ufffd")), trimmed: trimmed}, nil
}

// titled puts a page's title before its text.
func titled(title, text string) string {
	if title == "" {
		return text
	}
	return strings.TrimSpace("Title: " + title + "\n\n" + text)
}

// stoppable is a reader that fails once ctx has ended.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, errStopped
	}
	return s.r.Read(b)
}

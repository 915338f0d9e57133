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

// convertTime is the time limit for the conversion of one page to Markdown.
const convertTime = 5 * time.Second

// errStopped reports a conversion above its time limit.
var errStopped = errors.New("the conversion was stopped")

// toMarkdown converts the page at u, up to most characters. Some pages make the parser or the
// converter use unbounded time or memory. Such a page is reduced to its plain text, which takes
// time and memory in proportion to its size. The error is the cause of an ended ctx.
func toMarkdown(ctx context.Context, page string, u *url.URL, most int) (converted, error) {
	if tooCostly(page) {
		return textOnly(page, most), nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, convertTime, errStopped)
	defer cancel()
	c, err := convert(limited, page, u, most)
	switch {
	case ctx.Err() != nil:
		return converted{}, context.Cause(ctx)
	case err != nil:
		return textOnly(page, most), nil
	}
	return c, nil
}

// textOnly returns only the plain text of a page.
func textOnly(page string, most int) converted {
	text, trimmed := plainText(page, most)
	return converted{text: text, trimmed: trimmed, notice: "The HTML of the page is too deep or too large to convert; this is its plain text."}
}

// convert parses and converts a page. It stops soon after ctx has ended. A panic of the libraries
// becomes an error.
func convert(ctx context.Context, page string, u *url.URL, most int) (_ converted, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("convert HTML: %v", cause)
		}
	}()
	doc, err := html.Parse(&stoppable{ctx, strings.NewReader(page)})
	if err != nil {
		return converted{}, err
	}
	title, trimmed := clean(doc, u, most)
	// Escaping would add backslashes that plain reading does not need. It also takes quadratic time
	// in the length of a line.
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
			panic(errStopped) // the only way to stop the library; recovered above
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	out, err := c.ConvertNode(doc, converter.WithContext(ctx))
	if err != nil {
		return converted{}, err
	}
	return converted{text: titled(title, strings.ToValidUTF8(string(out), "\ufffd")), trimmed: trimmed}, nil
}

// titled adds the title of a page before its text.
func titled(title, text string) string {
	if title == "" {
		return text
	}
	return strings.TrimSpace("Title: " + title + "\n\n" + text)
}

// stoppable is a reader that fails after ctx has ended.
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

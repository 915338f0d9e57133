package acp

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/chat"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/model"
)

// content converts a prompt to its text and to content that precedes the answer. A link
// to a file becomes a mention, which the session reads under its policy. Other links are
// named, and embedded resources are content.
func (s *session) content(ctx context.Context, blocks []sdk.ContentBlock) (text string, parts []model.Part, err error) {
	var b strings.Builder
	for _, block := range blocks {
		switch {
		case block.Text != nil:
			b.WriteString(block.Text.Text)
		case block.ResourceLink != nil:
			writeApart(&b, s.link(*block.ResourceLink))
		case block.Image != nil:
			token, err := s.image(ctx, block.Image.Data)
			if err != nil {
				return "", nil, invalid("An image of the prompt is unusable: %s.", err)
			}
			writeApart(&b, token)
		case block.Resource != nil:
			part, token, err := s.resource(ctx, block.Resource.Resource)
			if err != nil {
				return "", nil, invalid("An embedded resource of the prompt is unusable: %s.", err)
			}
			writeApart(&b, token)
			if part != "" {
				parts = append(parts, model.TextPart(part))
			}
		default:
			return "", nil, invalid("The prompt contains audio, which is not supported.")
		}
	}
	if strings.TrimSpace(b.String()) == "" && len(parts) == 0 {
		return "", nil, invalid("The prompt is empty.")
	}
	if strings.TrimSpace(b.String()) == "" {
		b.WriteString("See the attached resources.")
	}
	return b.String(), parts, nil
}

// writeApart writes a word, separated from the text before it by a blank.
func writeApart(b *strings.Builder, word string) {
	if before := b.String(); word != "" && before != "" && !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\n") {
		b.WriteByte(' ')
	}
	b.WriteString(word)
}

// link returns the words for a link: a mention of a file of the workspace, otherwise its
// name and address.
func (s *session) link(l sdk.ContentBlockResourceLink) string {
	path, lines := pathOf(l.Uri)
	if path == "" {
		return fmt.Sprintf("[%s](%s)", display.Line(l.Name), display.Line(l.Uri))
	}
	if rel, err := filepath.Rel(s.cwd, path); err == nil && filepath.IsLocal(rel) {
		path = filepath.ToSlash(rel)
	}
	mention := "@" + chat.EscapeMention(path)
	if lines != "" {
		mention += " (" + lines + ")"
	}
	return mention
}

// pathOf returns the absolute path of a file address, and the lines that it names; "" for
// another address.
func pathOf(uri string) (path, lines string) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", ""
	}
	if u.Fragment != "" {
		lines = "at " + display.Line(u.Fragment)
	}
	return filepath.FromSlash(u.Path), lines
}

// image attaches an image and returns the text that stands for it.
func (s *session) image(ctx context.Context, encoded string) (token string, err error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", err
	}
	return s.host.Attach(ctx, "", data)
}

// resource returns the content of an embedded resource, or the text that stands for it.
func (s *session) resource(ctx context.Context, r sdk.EmbeddedResourceResource) (part, token string, err error) {
	switch {
	case r.TextResourceContents != nil:
		t := r.TextResourceContents
		name := t.Uri
		if path, lines := pathOf(t.Uri); path != "" {
			name = strings.TrimSpace(path + " " + lines)
		}
		name = display.Line(name)
		return fmt.Sprintf("\nThe editor has attached %s, as it shows it. Read the file before you change it.\n%s\n", name, fence(t.Text)), "[attached: " + name + "]", nil
	case r.BlobResourceContents != nil:
		token, err = s.image(ctx, r.BlobResourceContents.Blob)
		return "", token, err
	}
	return "", "", fmt.Errorf("it has neither text nor data")
}

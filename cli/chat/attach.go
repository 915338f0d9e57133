package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/clipboard"
	"github.com/fettle-dev/fettle/core/model"
)

// maxImages limits the images of a session that inputs can name. Older ones are dropped.
const maxImages = 20

// images are the images that inputs of the session name by a token. The zero value is
// empty. It is safe for concurrent use.
type images struct {
	mu    sync.Mutex
	count int
	list  []attached // oldest first
}

// attached is an image with the text that stands for it.
type attached struct {
	token string
	data  model.Data
}

// add keeps an image and returns its token.
func (i *images) add(name string, data []byte) (token string, err error) {
	kind := clipboard.Type(data)
	if kind == "" {
		return "", errors.New("it is no PNG, JPEG, GIF or WebP image")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	about := cmp.Or(name, strings.ToUpper(strings.TrimPrefix(kind, "image/"))+", "+display.Thousands((len(data)+1023)/1024)+" KiB")
	about = strings.NewReplacer("[", "(", "]", ")").Replace(display.Cut(display.Line(about), 40, "…"))
	token = fmt.Sprintf("[Image %d: %s]", i.count, about)
	i.list = append(i.list, attached{token, model.Data{MIMEType: kind, Bytes: data, Name: name}})
	i.list = i.list[max(len(i.list)-maxImages, 0):]
	return token, nil
}

// parts returns the images that a text names, each after its token.
func (i *images) parts(text string) (parts []model.Part) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, one := range i.list {
		if strings.Contains(text, one.token) {
			data := one.data
			parts = append(parts, model.TextPart("\n"+one.token+":\n"), model.Part{Data: &data})
		}
	}
	return parts
}

// Attach implements [interactive.Session].
func (c *chat) Attach(ctx context.Context, path string, data []byte) (text string, err error) {
	if data != nil {
		return c.images.add("", data)
	}
	path = localPath(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.targetDir(), path)
	}
	if rel, ok := c.mentionOf(ctx, path); ok {
		return rel, nil
	}
	data, err = imageFile(path)
	if err != nil {
		return "", err
	}
	return c.images.add(filepath.Base(path), data)
}

// localPath returns the path of a file URL, and other text unchanged.
func localPath(text string) string {
	if u, err := url.Parse(text); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		return filepath.FromSlash(u.Path)
	}
	return text
}

// mentionOf returns the reference to an image of the workspace that is not ignored.
func (c *chat) mentionOf(ctx context.Context, path string) (text string, ok bool) {
	ws, err := c.config.Workspace()
	if err != nil {
		return "", false
	}
	p, err := ws.Resolve(path)
	if err != nil {
		return "", false
	}
	info, err := ws.Stat(p)
	if err != nil || !info.Mode.IsRegular() {
		return "", false
	}
	rel, err := filepath.Rel(ws.Target(), p.String())
	if err != nil || !filepath.IsLocal(rel) || !mentionable(rel) {
		return "", false
	}
	why, err := c.finder(ws).Why(ctx, p, false)
	return "@" + EscapeMention(filepath.ToSlash(rel)), err == nil && !why.Ignored
}

// imageFile reads an image that the user names. Special files are not opened.
func imageFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > clipboard.MaxBytes:
		return nil, fmt.Errorf("the image is larger than %d MiB", clipboard.MaxBytes>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, clipboard.MaxBytes))
}

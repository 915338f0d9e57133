package tui

import (
	"context"
	"path"
	"slices"
	"strings"
)

// imageMsg has the text that stands for images in the input, or text to paste instead.
type imageMsg struct {
	text   string // "": none
	pasted string
	err    error
}

// pasteImage inserts the image of the clipboard, once it is read.
func (m *screen) pasteImage() {
	if m.o.ReadImage == nil {
		m.notice = "this session cannot read the clipboard"
		return
	}
	m.notice = "reading the clipboard …"
	m.h.spawn(func(ctx context.Context) {
		var msg imageMsg
		var data []byte
		if data, msg.err = m.o.ReadImage(ctx); msg.err == nil {
			msg.text, msg.err = m.o.Session.Attach(ctx, "", data)
		}
		m.h.box.post(msg)
	})
}

// attachFiles inserts image files, or the pasted text if one of them is no image.
func (m *screen) attachFiles(pasted string, paths []string) {
	m.h.spawn(func(ctx context.Context) {
		var texts []string
		for _, p := range paths {
			text, err := m.o.Session.Attach(ctx, p, nil)
			if err != nil {
				m.h.box.post(imageMsg{pasted: pasted})
				return
			}
			texts = append(texts, text)
		}
		m.h.box.post(imageMsg{text: strings.Join(texts, " ")})
	})
}

func (m *screen) insertImage(msg imageMsg) {
	m.notice = ""
	switch {
	case msg.err != nil:
		m.notice = msg.err.Error()
	case msg.text == "":
		m.input.Paste(msg.pasted)
		m.edited()
	default:
		m.input.InsertToken(msg.text)
		m.completion.dismiss()
	}
}

// maxDropped limits the files of a paste that may be images.
const maxDropped = 10

// imagePaths returns the paths of a paste that consists of paths of images, as a
// terminal inserts a file that is dropped on it: absolute, or as a file URL, quoted or
// escaped for a shell. Otherwise it returns nil.
func imagePaths(pasted string) (paths []string) {
	if len(pasted) > maxDropped*4096 {
		return nil
	}
	for _, word := range shellWords(pasted) {
		absolute := strings.HasPrefix(word, "/") || strings.HasPrefix(word, "file://") || len(word) > 2 && word[1] == ':'
		kind := strings.ToLower(path.Ext(word))
		if !absolute || !slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, kind) || len(paths) == maxDropped {
			return nil
		}
		paths = append(paths, word)
	}
	return paths
}

// shellWords splits text at white space, and removes quotes and escapes of a shell. A
// line with an open quote is one word as it is.
func shellWords(text string) (words []string) {
	text = strings.TrimSpace(text)
	var word strings.Builder
	quote, within := byte(0), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0 && (quote == '\'' || c != '\\'):
			word.WriteByte(c)
		case c == '\\' && i+1 < len(text) && strings.IndexByte(" '\"\\()[]{}&;,!$`*?#~|<>\t", text[i+1]) >= 0:
			i++
			word.WriteByte(text[i])
			within = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote, within = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if within {
				words = append(words, word.String())
			}
			word.Reset()
			within = false
		default:
			word.WriteByte(c)
			within = true
		}
	}
	if quote != 0 {
		return []string{text}
	}
	if within {
		words = append(words, word.String())
	}
	return words
}

package agent

import (
	"mime"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// Parts is content of the tools, as an expanded prompt is, in the model's words.
// What cannot be shown to a model but as text is a text of its own.
func Parts(c tools.Content) []model.Part {
	parts := make([]model.Part, 0, len(c.Parts))
	for _, p := range c.Parts {
		if text := p.String(); text != "" {
			parts = append(parts, model.TextPart(text))
		}
		if data := dataOf(p); data != nil {
			parts = append(parts, model.Part{Data: data})
		}
	}
	return parts
}

// dataOf is what of a part is data, in the model's words, or nil. A resource's has
// its URI as its name; it is nil where no model is shown data of its type, since one
// that is refused would stay in the conversation, and the part's text tells of it.
func dataOf(p tools.Part) *model.Data {
	data := p.Data()
	if data == nil {
		return nil
	}
	d := &model.Data{MIMEType: data.MIMEType, Bytes: data.Data}
	if p.Resource != nil {
		if d.Name = p.Resource.URI; !shown(d.MIMEType) {
			return nil
		}
	}
	return d
}

// shown reports whether there are models that take data of a type.
func shown(mimeType string) bool {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return false
	}
	class, _, _ := strings.Cut(kind, "/")
	return class == "image" || class == "audio" || class == "video" || class == "text" || kind == "application/pdf"
}

package agent

import (
	"mime"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// Parts converts content of tools, such as an expanded prompt, to parts for a model. Content that models accept only as
// text becomes a text part.
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

// dataOf returns the data of a part for a model, or nil. Data of a resource has its URI as name. It is nil for types
// that no model accepts, because a rejected part would stay in the conversation; the text of the part then describes it.
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

// shown reports whether any model accepts data of a type.
func shown(mimeType string) bool {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return false
	}
	class, _, _ := strings.Cut(kind, "/")
	return class == "image" || class == "audio" || class == "video" || class == "text" || kind == "application/pdf"
}

package agent

import (
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// Parts is content of the tools, as an expanded prompt is, in the model's words.
func Parts(c tools.Content) []model.Part {
	parts := make([]model.Part, 0, len(c.Parts))
	for _, p := range c.Parts {
		if p.Text != "" {
			parts = append(parts, model.TextPart(p.Text))
		}
		if p.InlineData != nil {
			parts = append(parts, model.Part{Data: &model.Data{MIMEType: p.InlineData.MIMEType, Bytes: p.InlineData.Data}})
		}
	}
	return parts
}

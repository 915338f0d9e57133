package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// EX-16: the result of an MCP server reaches a model as text, and as data if some model accepts the
// type.
func TestPartsOfServers(t *testing.T) {
	content := tools.Content{Parts: []tools.Part{
		{Text: "said"},
		{},
		{InlineData: &tools.InlineData{MIMEType: "audio/wav", Data: []byte{1}}},
		{Resource: &tools.Resource{URI: "u:text", Text: "held"}},
		{Resource: &tools.Resource{URI: "u:png", MIMEType: "image/png", Blob: []byte{2}}},
		{Resource: &tools.Resource{URI: "u:pdf", MIMEType: "application/pdf; x=y", Blob: []byte{3}}},
		{Resource: &tools.Resource{URI: "u:zip", MIMEType: "application/zip", Blob: []byte{4}}},
		{Resource: &tools.Resource{URI: "u:odd", MIMEType: "image/png;;;", Blob: []byte{5}}},
		{Resource: &tools.Resource{URI: "u:none", Blob: []byte{6}}},
		{Link: &tools.ResourceLink{URI: "u:more", Name: "more"}},
	}}
	png := model.Data{MIMEType: "image/png", Bytes: []byte{2}, Name: "u:png"}
	pdf := model.Data{MIMEType: "application/pdf; x=y", Bytes: []byte{3}, Name: "u:pdf"}
	require.Equal(t, []model.Part{
		model.TextPart("said"),
		{Data: &model.Data{MIMEType: "audio/wav", Bytes: []byte{1}}},
		model.TextPart("held"),
		model.TextPart("[data of the resource u:png: image/png, 1 bytes]"), {Data: &png},
		model.TextPart("[data of the resource u:pdf: application/pdf; x=y, 1 bytes]"), {Data: &pdf},
		model.TextPart("[data of the resource u:zip: application/zip, 1 bytes]"),
		model.TextPart("[data of the resource u:odd: image/png;;;, 1 bytes]"),
		model.TextPart("[data of the resource u:none: application/octet-stream, 1 bytes]"),
		model.TextPart("[the resource u:more: more]"),
	}, agent.Parts(content))

	c := newClient(t, inOrder(asks(call("1", "look", ""))), func(o *agent.Options) {
		o.Scheduler = &runner{run: func(context.Context, scheduler.Request) tools.Result { return tools.Result{LLMContent: content} }}
	})
	run(t.Context(), c, "Do it.")
	r := c.History()[2].Parts[0].Response
	require.Contains(t, string(r.Response), `held\n[data of the resource u:png: image/png, 1 bytes]\n`)
	require.Equal(t, []model.Data{{MIMEType: "audio/wav", Bytes: []byte{1}}, png, pdf}, r.Data)
}

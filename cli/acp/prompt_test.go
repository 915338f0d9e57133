package acp

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"path/filepath"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// FD-02: a prompt may consist of text, links, embedded resources and images. A link to a
// file is read under the policy; other content is refused.
func TestPromptContent(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	data := base64.StdEncoding.EncodeToString(picture.Bytes())
	e := edit(t, `{"turns": [
	  {"expect": {"prompt": "(at L2) and [docs](https://example.org)"}, "text": "1"},
	  {"expect": {"prompt": "unsaved words"}, "text": "2"},
	  {"expect": {"prompt": "[Image 1: PNG"}, "text": "3"},
	  {"text": "4"}]}`)
	e.write("a b.txt", "the text of a b\n")
	id := e.open(false)
	file := "file://" + filepath.ToSlash(e.dir) + "/a%20b.txt"
	resource := func(r sdk.EmbeddedResourceResource) sdk.ContentBlock { return sdk.ResourceBlock(r) }

	require.Equal(t, sdk.StopReasonEndTurn, e.prompt(id, sdk.TextBlock("Look at"), sdk.ResourceLinkBlock("a b.txt", file+"#L2"),
		sdk.TextBlock(" and "), sdk.ResourceLinkBlock("docs", "https://example.org")))
	all := e.take()
	require.Equal(t, "1", said(all))
	require.Contains(t, callsOf(t, all)[0].Title, "a b.txt", "the file was read")
	require.Equal(t, sdk.StopReasonEndTurn, e.prompt(id, sdk.TextBlock("What is it?"), resource(sdk.EmbeddedResourceResource{
		TextResourceContents: &sdk.TextResourceContents{Uri: file, Text: "unsaved words\n```\n"}})))
	require.Equal(t, sdk.StopReasonEndTurn, e.prompt(id, sdk.TextBlock("And this?"), sdk.ImageBlock(data, "image/png")))
	require.Equal(t, sdk.StopReasonEndTurn, e.prompt(id, resource(sdk.EmbeddedResourceResource{
		BlobResourceContents: &sdk.BlobResourceContents{Uri: "x.png", Blob: data}})))
	require.Equal(t, "234", said(e.take()))

	for name, block := range map[string]sdk.ContentBlock{
		"audio": sdk.AudioBlock("", "audio/wav"), "no base64": sdk.ImageBlock("%", "image/png"), "no image": sdk.ImageBlock("eA==", "image/png"), "empty": sdk.TextBlock(" "),
		"no image resource": resource(sdk.EmbeddedResourceResource{BlobResourceContents: &sdk.BlobResourceContents{Uri: "x", Blob: "eA=="}}),
	} {
		_, err := e.conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{block}})
		require.ErrorContains(t, err, "-32602", name)
	}
	_, err := e.conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{}})
	require.ErrorContains(t, err, "The prompt is empty")
}

// FD-02: only addresses of local files are paths.
func TestPathOf(t *testing.T) {
	for uri, want := range map[string][2]string{
		"file:///a/b%20c.go": {"/a/b c.go", ""}, "file:///a.go#L1:3": {"/a.go", "at L1:3"}, "file://localhost/a": {"/a", ""},
		"file://host/a": {}, "https://x/a": {}, "a.go": {}, "%": {}, "file:": {},
	} {
		path, lines := pathOf(uri)
		require.Equal(t, want, [2]string{filepath.ToSlash(path), lines}, uri)
	}
}

// FD-02: errors of the model end a prompt with an error, other ends with their reason,
// and the session goes on.
func TestStopReasons(t *testing.T) {
	e := edit(t, `{"turns": [
	  {"fail": {"kind": "invalid_request", "status": 400, "message": "no such thing"}},
	  {"text": "long", "finish": "max_tokens"},
	  {"text": "bad", "finish": "safety"},
	  {"text": "ok"}]}`)
	id := e.open(false)
	_, err := e.conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("1")}})
	require.ErrorContains(t, err, "no such thing")
	require.Equal(t, sdk.StopReasonMaxTokens, e.say(id, "2"))
	require.Equal(t, sdk.StopReasonRefusal, e.say(id, "3"))
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "4"))
}

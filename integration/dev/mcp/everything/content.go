package main

import (
	"context"

	"github.com/fettle-dev/fettle/core/tools"
)

// addContentTools adds a tool for each kind of content. The kind of a read-only tool declares that,
// and WithParallel declares that it may run concurrently.
func addContentTools(b *toolbox) {
	show := func(name, description string, parts ...tools.Part) {
		b.add(tools.Define(name, description, tools.KindRead, func(context.Context, none) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Content{Parts: parts}, ReturnDisplay: tools.TextDisplay(description)}, nil
		}, tools.WithParallel()))
	}
	text := tools.Part{Text: "This is a simple text response for testing."}
	image := tools.Part{InlineData: &tools.InlineData{MIMEType: "image/png", Data: redDot()}}
	audio := tools.Part{InlineData: &tools.InlineData{MIMEType: "audio/wav", Data: silence()}}
	note := tools.Part{Resource: &tools.Resource{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}}
	data := tools.Part{Resource: &tools.Resource{URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`}}
	link := tools.Part{Link: &tools.ResourceLink{URI: textURI, Name: "static-text", MIMEType: "text/plain"}}

	show("test_simple_text", "Returns one line of text.", text)
	show("test_image_content", "Returns an image, a red dot.", image)
	show("test_audio_content", "Returns a sound, a moment of silence.", audio)
	show("test_embedded_resource", "Returns a resource with its content.", note)
	show("test_resource_link", "Returns a link to a resource, which the client can read.", link)
	show("test_multiple_content_types", "Returns text, an image and a resource together.",
		tools.Part{Text: "Multiple content types test:"}, image, data)
}

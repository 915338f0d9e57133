package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// The URIs of the resources. Those of the template have an id between prefix and
// suffix.
const (
	textURI        = "test://static-text"
	binaryURI      = "test://static-binary"
	watchedURI     = "test://watched-resource"
	templatePrefix = "test://template/"
	templateSuffix = "/data"
)

func listResources(context.Context) ([]mcp.Resource, error) {
	return []mcp.Resource{
		{URI: textURI, Name: "static-text", Title: "Text", Description: "A text that never changes.", MIMEType: "text/plain"},
		{URI: binaryURI, Name: "static-binary", Title: "Image", Description: "An image that never changes.", MIMEType: "image/png"},
		{URI: watchedURI, Name: "watched-resource", Title: "Watched text", Description: "A text that changes every few seconds; subscribers are notified.", MIMEType: "text/plain"},
	}, nil
}

func listTemplates(context.Context) ([]mcp.ResourceTemplate, error) {
	return []mcp.ResourceTemplate{{
		URITemplate: templatePrefix + "{id}" + templateSuffix, Name: "template", Title: "Data by id",
		Description: "A JSON object for each id.", MIMEType: "application/json",
	}}, nil
}

func readResource(_ context.Context, uri string) ([]tools.Resource, error) {
	switch uri {
	case textURI:
		return []tools.Resource{{URI: uri, MIMEType: "text/plain", Text: "This is the content of the static text resource."}}, nil
	case binaryURI:
		return []tools.Resource{{URI: uri, MIMEType: "image/png", Blob: redDot()}}, nil
	case watchedURI:
		return []tools.Resource{{URI: uri, MIMEType: "text/plain", Text: "Subscribers are notified every few seconds."}}, nil
	}
	if id, ok := templateID(uri); ok {
		text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		return []tools.Resource{{URI: uri, MIMEType: "application/json", Text: string(text)}}, err
	}
	return nil, fault.New(fault.FileNotFound, "everything.read",
		fmt.Sprintf("Resource %q does not exist.", uri), "List the resources and templates.")
}

// templateID returns the id in a URI of the template.
func templateID(uri string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(uri, templatePrefix)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(rest, templateSuffix)
	return id, ok && id != "" && !strings.Contains(id, "/")
}

package server

import (
	"context"
	"encoding/base64"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// cache returns how long a client may cache a list: not at all if changes are
// reported, else a minute. It must not be shared between clients.
func cache(svc *mcpservice.Service) sdk.Cacheable {
	c := sdk.Cacheable{CacheScope: "private"}
	if svc.Watch == nil {
		c.TTLMs = 60_000
	}
	return c
}

// page returns the entries of all that follow cursor, and the cursor of the next
// page, "" for none. A cursor is the key of the last entry of the previous page;
// if that entry has disappeared, the client has to start over.
func page[T any](all []T, key func(T) string, cursor string, size int) ([]T, string, error) {
	if cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(cursor)
		at := -1
		for i := range all {
			if err == nil && key(all[i]) == string(last) {
				at = i
			}
		}
		if at < 0 {
			return nil, "", errInvalid("The cursor is unknown, or the list has changed; list again from the beginning.")
		}
		all = all[at+1:]
	}
	if len(all) <= size {
		return all, "", nil
	}
	return all[:size], base64.RawURLEncoding.EncodeToString([]byte(key(all[size-1]))), nil
}

// cursorOf returns the cursor of a request whose params may be missing.
func cursorOf[P any](p *P, cursor func(*P) string) string {
	if p == nil {
		return ""
	}
	return cursor(p)
}

func (s *session) listTools(_ context.Context, svc *mcpservice.Service, r *sdk.ListToolsRequest) (sdk.Result, error) {
	declared := svc.Tools()
	all := make([]*sdk.Tool, len(declared))
	for i, t := range declared {
		all[i] = declare(t.Spec(), r.ProtocolVersion(), s.srv.o.OutputSchemas)
	}
	cursor := cursorOf(r.Params, func(p *sdk.ListToolsParams) string { return p.Cursor })
	part, next, err := page(all, func(t *sdk.Tool) string { return t.Name }, cursor, s.srv.o.PageSize)
	if err != nil {
		return nil, err
	}
	return &sdk.ListToolsResult{Tools: list(part), NextCursor: next, Cacheable: cache(svc)}, nil
}

func (s *session) listResources(ctx context.Context, svc *mcpservice.Service, r *sdk.ListResourcesRequest) (sdk.Result, error) {
	if capabilities(svc).Resources == nil {
		return nil, errNotOffered("resources/list")
	}
	var found []mcp.Resource
	if svc.Resources != nil {
		var err error
		if found, err = svc.Resources(ctx); err != nil {
			return nil, err
		}
	}
	cursor := cursorOf(r.Params, func(p *sdk.ListResourcesParams) string { return p.Cursor })
	part, next, err := page(found, func(r mcp.Resource) string { return r.URI }, cursor, s.srv.o.PageSize)
	if err != nil {
		return nil, err
	}
	res := &sdk.ListResourcesResult{Resources: make([]*sdk.Resource, len(part)), NextCursor: next, Cacheable: cache(svc)}
	for i, r := range part {
		res.Resources[i] = &sdk.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size}
	}
	return res, nil
}

func (s *session) listTemplates(ctx context.Context, svc *mcpservice.Service, r *sdk.ListResourceTemplatesRequest) (sdk.Result, error) {
	if capabilities(svc).Resources == nil {
		return nil, errNotOffered("resources/templates/list")
	}
	var found []mcp.ResourceTemplate
	if svc.Templates != nil {
		var err error
		if found, err = svc.Templates(ctx); err != nil {
			return nil, err
		}
	}
	cursor := cursorOf(r.Params, func(p *sdk.ListResourceTemplatesParams) string { return p.Cursor })
	part, next, err := page(found, func(t mcp.ResourceTemplate) string { return t.URITemplate }, cursor, s.srv.o.PageSize)
	if err != nil {
		return nil, err
	}
	res := &sdk.ListResourceTemplatesResult{ResourceTemplates: make([]*sdk.ResourceTemplate, len(part)), NextCursor: next, Cacheable: cache(svc)}
	for i, t := range part {
		res.ResourceTemplates[i] = &sdk.ResourceTemplate{URITemplate: t.URITemplate, Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType}
	}
	return res, nil
}

func (s *session) listPrompts(ctx context.Context, svc *mcpservice.Service, r *sdk.ListPromptsRequest) (sdk.Result, error) {
	if svc.Prompts == nil {
		return nil, errNotOffered("prompts/list")
	}
	found, err := svc.Prompts(ctx)
	if err != nil {
		return nil, err
	}
	cursor := cursorOf(r.Params, func(p *sdk.ListPromptsParams) string { return p.Cursor })
	part, next, err := page(found, func(p mcp.Prompt) string { return p.Name }, cursor, s.srv.o.PageSize)
	if err != nil {
		return nil, err
	}
	res := &sdk.ListPromptsResult{Prompts: make([]*sdk.Prompt, len(part)), NextCursor: next, Cacheable: cache(svc)}
	for i, p := range part {
		q := &sdk.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			q.Arguments = append(q.Arguments, &sdk.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
		}
		res.Prompts[i] = q
	}
	return res, nil
}

// list returns l, or an empty list for nil, which JSON would encode as null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// maxValues is the protocol's maximum number of values of one completion.
const maxValues = 100

func (s *session) complete(ctx context.Context, svc *mcpservice.Service, r *sdk.CompleteRequest) (sdk.Result, error) {
	if svc.Complete == nil {
		return nil, errNotOffered("completion/complete")
	}
	p := r.Params
	if p.Ref == nil || p.Argument.Name == "" {
		return nil, errInvalid("A completion requires ref and argument.name.")
	}
	c := mcpservice.Completion{Argument: p.Argument.Name, Value: p.Argument.Value}
	switch p.Ref.Type {
	case "ref/prompt":
		c.Prompt = p.Ref.Name
	case "ref/resource":
		c.Template = p.Ref.URI
	default:
		return nil, errInvalid("ref.type must be ref/prompt or ref/resource.")
	}
	if p.Context != nil {
		c.Args = p.Context.Arguments
	}
	values, err := svc.Complete(ctx, c)
	if err != nil {
		return nil, err
	}
	d := sdk.CompletionResultDetails{Values: list(values), Total: len(values)}
	if len(values) > maxValues {
		d.Values, d.HasMore = values[:maxValues], true
	}
	return &sdk.CompleteResult{Completion: d}, nil
}

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// Tools implements [mcp.Session]. A tool without a name is omitted and, over
// HTTP, a tool whose arguments belong into headers that are not possible. Invalid
// schemas are left to the caller.
func (s *session) Tools(ctx context.Context) ([]mcp.Tool, error) {
	if !s.info.HasTools {
		return nil, nil
	}
	sendable := map[string]bool{} // the list as filtered by the SDK, which sets the headers
	all, err := pages(ctx, s, methodTools, "tools", decodeTool, func(ctx context.Context, cursor string) error {
		list, err := s.sdk.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return err
		}
		for _, t := range list.Tools {
			sendable[t.Name] = true
		}
		return nil
	})
	if err != nil || s.info.Transport != mcp.TransportHTTP {
		return all, err
	}
	return slices.DeleteFunc(all, func(t mcp.Tool) bool {
		if sendable[t.Name] || !hasSchema(t) || !hasHeaders(t) { // the SDK does not see a tool without a schema
			return false
		}
		s.d.o.Logger.WarnContext(ctx, "mcp: a tool is dropped, because its x-mcp-header cannot be sent", "server", s.name, "tool", t.Name)
		return true
	}), nil
}

// Resources implements [mcp.Session].
func (s *session) Resources(ctx context.Context) ([]mcp.Resource, error) {
	if !s.info.HasResources {
		return nil, nil
	}
	return pages(ctx, s, methodResources, "resources", decodeResource, func(ctx context.Context, cursor string) error {
		_, err := s.sdk.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		return err
	})
}

// ResourceTemplates implements [mcp.Session].
func (s *session) ResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	if !s.info.HasResources {
		return nil, nil
	}
	return pages(ctx, s, methodTemplates, "resourceTemplates", decodeTemplate, func(ctx context.Context, cursor string) error {
		_, err := s.sdk.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		return err
	})
}

// Prompts implements [mcp.Session].
func (s *session) Prompts(ctx context.Context) ([]mcp.Prompt, error) {
	if !s.info.HasPrompts {
		return nil, nil
	}
	return pages(ctx, s, methodPrompts, "prompts", decodePromptEntry, func(ctx context.Context, cursor string) error {
		_, err := s.sdk.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		return err
	})
}

// pages fetches all pages of a list and decodes the entries in field. An invalid
// entry is omitted.
func pages[T any](ctx context.Context, s *session, method, field string, decode func([]byte) (T, bool), page func(ctx context.Context, cursor string) error) ([]T, error) {
	var all []T
	cursor, seen := "", map[string]bool{}
	for n := 0; ; n++ {
		if n == s.d.o.MaxPages {
			return nil, s.endless(method, fmt.Sprintf("has more than %d pages", n))
		}
		raw, err := s.ask(ctx, method, "", nil, func(ctx context.Context) error { return page(ctx, cursor) })
		if code, ok := codeOf(err); ok && code == jsonrpc.CodeMethodNotFound && n == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		fields := fieldsOf(raw)
		for _, entry := range listOf(fields[field]) {
			value, ok := decode(entry)
			if !ok {
				s.d.o.Logger.WarnContext(ctx, "mcp: an entry of a server's list is invalid", "server", s.name, "list", method)
				continue
			}
			if len(all) == s.d.o.MaxItems {
				return nil, s.endless(method, fmt.Sprintf("has more than %d entries", len(all)))
			}
			all = append(all, value)
		}
		cursor = textOf(fields["nextCursor"])
		if cursor == "" {
			return all, nil
		}
		if seen[cursor] {
			return nil, s.endless(method, "does not end: the same page was returned again")
		}
		seen[cursor] = true
	}
}

func (s *session) endless(method, how string) error {
	return fault.New(fault.MCPToolError, "mcp.list", "The list of the MCP server "+quoted(s.name)+" ("+method+") "+how+".", "Use another release of the server.")
}

// codeOf returns the code of a server's error answer. It returns ok == false for
// other errors.
func codeOf(err error) (int64, bool) {
	var m *masked
	if errors.As(err, &m) {
		err = m.cause
	}
	if answer, ok := answerOf(err); ok {
		return answer.Code, true
	}
	return 0, false
}

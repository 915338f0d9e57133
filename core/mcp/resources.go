package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Resources returns the resources of a server, or of all servers for "", keyed by
// server. Servers without resources are omitted.
func (m *Manager) Resources(server string) map[string][]Resource {
	all := make(map[string][]Resource)
	for _, s := range m.all() {
		if list := s.offered().resources; len(list) > 0 && (server == "" || server == s.Name) {
			all[s.Name] = slices.Clone(list)
		}
	}
	return all
}

// Templates returns the resource templates likewise.
func (m *Manager) Templates(server string) map[string][]ResourceTemplate {
	all := make(map[string][]ResourceTemplate)
	for _, s := range m.all() {
		if list := s.offered().templates; len(list) > 0 && (server == "" || server == s.Name) {
			all[s.Name] = slices.Clone(list)
		}
	}
	return all
}

// Read reads a resource and marks its content as untrusted. The resource need not
// be listed. The error has code mcp_resource_not_found, mcp_server_unavailable,
// mcp_sign_in_required or mcp_tool_error; invalid_config for an unknown server;
// or cancelled.
func (m *Manager) Read(ctx context.Context, server, uri string) (tools.Content, error) {
	render, err := m.read(ctx, server, uri)
	if err != nil {
		return tools.Content{}, err
	}
	return tools.Content{Parts: render.content()}, nil
}

func (m *Manager) read(ctx context.Context, server, uri string) (*rendering, error) {
	s, err := m.server(server)
	if err != nil {
		return nil, err
	}
	var contents []tools.Resource
	err = s.request(ctx, "read a resource", "the resource "+quoted(uri), func(ctx context.Context, session Session) (err error) {
		contents, err = session.ReadResource(ctx, uri)
		return err
	})
	if err != nil {
		return nil, forModel(err)
	}
	if len(contents) == 0 {
		return nil, fault.New(fault.MCPResourceNotFound, "mcp.read",
			fmt.Sprintf("The MCP server %s returned nothing for the resource %s.", quoted(server), quoted(uri)), "List the resources with list_mcp_resources.")
	}
	render := newRendering(m.o.maxText, maxData)
	for _, c := range contents {
		from := ""
		if len(contents) > 1 || c.URI != uri { // for example for a directory
			from = c.URI
		}
		if c.Blob != nil {
			render.data(from, c.MIMEType, c.Blob)
			continue
		}
		render.text(c.Text, from)
	}
	return render, nil
}

// find returns the server and the URI of a resource. Either one may be missing,
// or both may be given as server:uri.
func (m *Manager) find(server, uri string) (string, string, error) {
	refuse := func(message, remedy string) (string, string, error) {
		return "", "", fault.New(fault.InvalidToolParams, "mcp.read", message, remedy)
	}
	if server != "" {
		if !m.Has(server) {
			_, err := m.server(server)
			return refuse(fault.As(err).Message, fault.As(err).Remedy)
		}
		return server, strings.TrimPrefix(uri, server+":"), nil
	}
	prefix := ""
	for _, name := range m.serverNames() {
		if strings.HasPrefix(uri, name+":") && len(name) > len(prefix) {
			prefix = name
		}
	}
	if prefix != "" {
		return prefix, uri[len(prefix)+1:], nil
	}
	var having, offering []string
	for name, list := range m.Resources("") {
		offering = append(offering, name)
		if slices.ContainsFunc(list, func(r Resource) bool { return r.URI == uri }) {
			having = append(having, name)
		}
	}
	for name := range m.Templates("") {
		if !slices.Contains(offering, name) {
			offering = append(offering, name)
		}
	}
	slices.Sort(having)
	slices.Sort(offering)
	switch {
	case len(having) == 1:
		return having[0], uri, nil
	case len(having) > 1:
		return refuse(fmt.Sprintf("Several servers have the resource %s: %s.", quoted(uri), strings.Join(having, ", ")), "Name the server by serverName.")
	case len(offering) == 1:
		return offering[0], uri, nil
	case len(offering) == 0:
		return "", "", fault.New(fault.MCPResourceNotFound, "mcp.read", "No connected MCP server has resources.", "Continue without it.")
	}
	return refuse(fmt.Sprintf("No server lists the resource %s, and several have resources: %s.", quoted(uri), strings.Join(offering, ", ")),
		"Name the server by serverName.")
}

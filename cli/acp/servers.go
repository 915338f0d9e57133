package acp

import (
	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/mcp"
)

// serverSource is where the servers of an editor come from, for display.
const serverSource = "the editor"

// serversOf converts the MCP servers of an editor, and returns the values that are
// masked in messages: their secret variables and their headers.
func serversOf(given []sdk.McpServer) (specs []mcp.ServerSpec, secrets []string, err error) {
	for _, one := range given {
		spec := mcp.ServerSpec{Source: serverSource}
		var headers []sdk.HttpHeader
		switch {
		case one.Stdio != nil:
			s := one.Stdio
			if s.Command == "" {
				return nil, nil, invalid("The MCP server %q has no command.", s.Name)
			}
			spec.Name, spec.Command, spec.Args, spec.Env = s.Name, s.Command, s.Args, map[string]string{}
			for _, v := range s.Env {
				spec.Env[v.Name] = v.Value
				secrets = append(secrets, settings.Secrets([]string{v.Name + "=" + v.Value})...)
			}
		case one.Http != nil:
			spec.Name, spec.URL, spec.Transport, headers = one.Http.Name, one.Http.Url, mcp.TransportHTTP, one.Http.Headers
		case one.Sse != nil:
			spec.Name, spec.URL, spec.Transport, headers = one.Sse.Name, one.Sse.Url, mcp.TransportSSE, one.Sse.Headers
		default:
			return nil, nil, invalid("An MCP server has an unsupported transport. Use stdio, http or sse.")
		}
		if err := mcp.CheckServerName(spec.Name); err != nil {
			return nil, nil, invalid("%s", err.Error())
		}
		for _, h := range headers {
			if spec.Headers == nil {
				spec.Headers = map[string]string{}
			}
			spec.Headers[h.Name] = h.Value
			secrets = append(secrets, h.Value)
		}
		specs = append(specs, spec)
	}
	return specs, secrets, nil
}

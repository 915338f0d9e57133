package cookbook

// code: mcp
import (
	"context"
	"errors"
	"net/http"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

// mcpHandler serves the tools of a directory over streamable HTTP, to each client from its own Config. Close the
// server after its listener.
func mcpHandler(dir string) (http.Handler, *server.Server) {
	s := server.New(server.Options{
		Name: "files", Version: "1.0.0",
		Open: func(ctx context.Context, client server.Client) (*mcpservice.Service, error) {
			c, err := config.New(config.Parameters{TargetDir: dir})
			if err != nil {
				return nil, err
			}
			if err := c.Initialize(ctx); err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return c.MCP().Serve(config.MCPServiceOptions{Owned: true})
		},
	})
	return s.Handler(server.HTTPOptions{}), s
}

// code: end

// Command conformance-client is the client for MCP's conformance suite: fettle's
// dialer and its sign-in, with a browser that follows redirects. Its last argument is
// the server's URL; the suite selects the scenario with MCP_CONFORMANCE_SCENARIO and
// MCP_CONFORMANCE_CONTEXT. See ../conformance-client.sh.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// document is the URL of the client metadata that the suite expects.
const document = "https://conformance-test.local/client-metadata.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance-client:", err)
		os.Exit(1)
	}
}

// scenario is the scenario of the suite.
type scenario struct {
	name         string
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return fmt.Errorf("usage: %s URL", os.Args[0])
	}
	s := scenario{name: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	signIn := oauth.New(oauth.Options{OpenURL: browse, ClientMetadataURL: document})
	dialer := client.New(client.Options{Name: "fettle-conformance", Auth: signIn.Auth(true)})
	session, err := dialer.Dial(ctx, mcp.ServerSpec{
		Name: "suite", URL: os.Args[len(os.Args)-1],
		OAuth: &mcp.OAuthSpec{Enabled: true, ClientID: s.ClientID, ClientSecret: s.ClientSecret},
	}, mcp.Handlers{Elicit: s.answer})
	if err != nil {
		return err
	}
	return s.play(ctx, session)
}

// browse acts as a user with a browser who consents to everything.
func browse(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close() // it has been read
	return err
}

// answer answers a request of a server with the defaults of its schema, or a yes.
func (s scenario) answer(context.Context, host.Elicitation) (host.Elicited, error) {
	content := `{}`
	if strings.HasPrefix(s.name, "sep-2322") {
		content = `{"confirmed":true}`
	}
	return host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(content)}, nil
}

// play runs a scenario: it lists everything and calls the tools. A failed call is
// reported and does not end the scenario, because some are expected to fail.
func (s scenario) play(ctx context.Context, session mcp.Session) (err error) {
	defer func() {
		if closeErr := session.Close(); err == nil {
			err = closeErr
		}
	}()
	list, err := session.Tools(ctx)
	if err != nil {
		return err
	}
	call := func(tool string, args json.RawMessage) error {
		_, err := session.Call(ctx, tool, args, nil)
		if err != nil {
			fmt.Fprintf(os.Stderr, "conformance-client: tool %s: %v\n", tool, err)
		}
		return err
	}
	switch {
	case len(s.ToolCalls) > 0:
		for _, c := range s.ToolCalls {
			_ = call(c.Name, c.Arguments) // reported
		}
		return nil
	case s.name == "http-standard-headers":
		return s.everything(ctx, session, list, call)
	case s.name == "json-schema-2020-12-preservation":
		return echo(list, call)
	}
	for _, tool := range list {
		if err := call(tool.Name, arguments(tool.Name)); err != nil && strings.HasPrefix(s.name, "auth/") {
			return err
		}
	}
	return nil
}

// arguments returns the arguments for the suite's tools.
func arguments(tool string) json.RawMessage {
	switch tool {
	case "add_numbers":
		return json.RawMessage(`{"a":5,"b":3}`)
	case "valid_tool":
		return json.RawMessage(`{"region":"us-west1"}`)
	}
	return json.RawMessage(`{}`)
}

// everything makes a request of each kind.
func (s scenario) everything(ctx context.Context, session mcp.Session, list []mcp.Tool, call func(string, json.RawMessage) error) error {
	for _, tool := range list {
		_ = call(tool.Name, arguments(tool.Name)) // reported
	}
	resources, err := session.Resources(ctx)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := session.ReadResource(ctx, r.URI); err != nil {
			return err
		}
	}
	prompts, err := session.Prompts(ctx)
	if err != nil {
		return err
	}
	for _, p := range prompts {
		if _, err := session.Prompt(ctx, p.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// echo sends a tool's schema back as received.
func echo(list []mcp.Tool, call func(string, json.RawMessage) error) error {
	for _, tool := range list {
		if tool.Name != "json_schema_2020_12_tool" {
			continue
		}
		args, err := json.Marshal(map[string]json.RawMessage{"schema": tool.InputSchema})
		if err != nil {
			return err
		}
		return call("json_schema_echo", args)
	}
	return fmt.Errorf("tool json_schema_2020_12_tool does not exist")
}

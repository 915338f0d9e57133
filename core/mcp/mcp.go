// Package mcp is the protocol-independent part of fettle's support for the Model
// Context Protocol (MCP). On the client side, a [Manager] keeps the servers of a
// session connected through a [Dialer] and turns their features into tools,
// resources and prompts. On the server side, package mcpservice defines
// the functions through which a session serves a client.
//
// Package mcp/client implements the Dialer with the official SDK, mcp/server
// serves clients, and mcp/oauth signs in to servers.
package mcp

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// ServerSpec describes how to reach a server and which of its tools to use.
type ServerSpec struct {
	Name        string // required, see [CheckServerName]; as written in the settings
	Description string // for display

	// Exactly one of the following fields is set: it locates the server.
	Command   string // a program, used over its stdin and stdout
	URL       string // of a remote server
	TCP       string // the address of a WebSocket, which is not supported and reported
	InProcess any    // a server in this process, in the Dialer's own type

	Args []string          // of Command
	Env  map[string]string // additional variables of Command's process, see [Dialer]
	Dir  string            // absolute working directory of Command; "": the session's
	// Sandbox confines Command's process, as commands are in the sandbox. Where it
	// cannot be confined, it is not started.
	Sandbox bool

	Transport Transport         // the transport for URL; "": streamable HTTP, then SSE if the server does not support that
	Headers   map[string]string // of requests to URL
	OAuth     *OAuthSpec        // how the user signs in at URL; nil: by the server's metadata

	ConnectTimeout time.Duration // until the server is ready; 0: 30 s, or Timeout if that is less
	Timeout        time.Duration // of one request; 0: 10 min

	// Trusted lets the server's tools run without approval. The caller must not
	// set it for a server that an untrusted project declares as trusted.
	Trusted bool
	// IncludeTools lists the tools to use by their own names. An entry NAME(…)
	// counts as NAME. nil: all; empty: none.
	IncludeTools []string
	ExcludeTools []string // the tools not to use, likewise; takes precedence over IncludeTools

	Source string // where it is configured, for display: a file, an extension
}

// CheckServerName returns an error of code invalid_config unless name is a valid
// server name. A name is UTF-8 text of visible characters without a leading or
// trailing blank. It must not contain "*", which stands for any server in rules
// and in lists of servers.
func CheckServerName(name string) error {
	const remedy = "Use letters, digits, - and _."
	wrong := func(why string) error {
		return fault.New(fault.InvalidConfig, "mcp.server", fmt.Sprintf("An MCP server cannot be called %s: %s.", quoted(name), why), remedy)
	}
	switch {
	case name == "":
		return fault.New(fault.InvalidConfig, "mcp.server", "An MCP server has no name.", "Give it one.")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return wrong("it contains invisible characters")
	case strings.TrimSpace(name) != name:
		return wrong("it begins or ends with a space")
	case strings.Contains(name, "*"):
		return wrong("* stands for any server")
	}
	return nil
}

// Transport identifies a transport of the protocol.
type Transport string

// The transports.
const (
	TransportStdio     Transport = "stdio"
	TransportHTTP      Transport = "http" // streamable HTTP
	TransportSSE       Transport = "sse"
	TransportInProcess Transport = "in-process"
)

// OAuthSpec describes how the user signs in to a server. Zero fields are
// discovered from the server's metadata.
type OAuthSpec struct {
	// Enabled lets a connection that requires a sign-in open the user's browser.
	// Otherwise such a connection fails, and the error explains how to sign in.
	Enabled          bool
	ClientID         string // "": the client registers itself
	ClientSecret     string
	AuthorizationURL string
	TokenURL         string
	RegistrationURL  string
	Issuer           string
	Scopes           []string
	Audiences        []string
	RedirectURI      string // a loopback address; "": one with a free port
	TokenParamName   string // for SSE servers that expect the token in the query
}

// Tool is a tool as declared by its server.
type Tool struct {
	Name         string
	Title        string // for display; "": Name
	Description  string
	InputSchema  []byte // JSON
	OutputSchema []byte // JSON; nil: none
	// Annotations are unverified hints, for example {"readOnlyHint": true}.
	Annotations map[string]any
}

// Resource is a resource that a server lists under a URI.
type Resource = tools.ResourceLink

// ResourceTemplate describes resources by an RFC 6570 URI template.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// Prompt is a prompt that a server offers.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is an argument of a [Prompt]. All arguments are text.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessages is the content of a filled-in [Prompt].
type PromptMessages struct {
	Description string
	Messages    []host.Message
}

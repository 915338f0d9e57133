// Package mcp holds what fettle knows of the Model Context Protocol without
// speaking it: servers that a session uses, with a [Manager] that keeps them
// connected over a [Dialer] and makes tools of what they offer, and the
// [Service] that a session offers to clients.
package mcp

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// ServerSpec is how a server is reached and what of it is used (EX-15).
type ServerSpec struct {
	Name        string // required, see [CheckServerName]; as the settings spell it
	Description string // for people

	// Exactly one of these says where the server is.
	Command   string // a program that is spoken to over its stdin and stdout
	URL       string // of a server that runs elsewhere
	TCP       string // a WebSocket's address, which is not supported and told (EX-18)
	InProcess any    // a server in this process, as the [Dialer] knows it

	Args []string          // of Command
	Env  map[string]string // variables of Command's process beside the few that every one has, see [Dialer]
	Dir  string            // absolute directory that Command runs in; "": the session's

	Transport Transport         // how URL is spoken to; "": HTTP, then SSE where the server does not know that
	Headers   map[string]string // of requests to URL
	OAuth     *OAuthSpec        // how a person signs in at URL; nil: by what the server says of itself

	ConnectTimeout time.Duration // until the server is ready; 0: 30 s, or Timeout if that is less
	Timeout        time.Duration // of one request; 0: 10 min

	// Trusted says that its tools run without asking. Whoever makes the spec leaves
	// it out where a project claims it that nobody trusts (EX-17).
	Trusted bool
	// IncludeTools are the server's tools to use, by their own names; an entry may
	// be NAME(…), of which the name counts. nil: all; empty: none.
	IncludeTools []string
	ExcludeTools []string // likewise, not to use; goes before IncludeTools

	Source string // who configured it, for people: a file, an extension
}

// CheckServerName says why a server cannot be called so, nil if it can: a name is
// UTF-8 text that can be seen, without a blank at either end, and without "*", which stands for
// any server in rules and in the lists of servers. The error is of code
// invalid_config.
func CheckServerName(name string) error {
	const remedy = "Use letters, digits, - and _."
	wrong := func(why string) error {
		return fault.New(fault.InvalidConfig, "mcp.server", fmt.Sprintf("An MCP server cannot be called %s: %s.", quoted(name), why), remedy)
	}
	switch {
	case name == "":
		return fault.New(fault.InvalidConfig, "mcp.server", "An MCP server has no name.", "Give it one.")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return wrong("there are characters in it that cannot be seen")
	case strings.TrimSpace(name) != name:
		return wrong("it begins or ends with a blank")
	case strings.Contains(name, "*"):
		return wrong("* stands for any server")
	}
	return nil
}

// Transport is how a server is spoken to.
type Transport string

// The transports.
const (
	TransportStdio     Transport = "stdio"
	TransportHTTP      Transport = "http" // streamable HTTP
	TransportSSE       Transport = "sse"
	TransportInProcess Transport = "in-process"
)

// OAuthSpec says how a person signs in to a server. Zero fields are found out
// from the server's own metadata.
type OAuthSpec struct {
	// Enabled lets a connection that needs it open the person's browser. Without
	// it such a connection fails, and says how to sign in.
	Enabled          bool
	ClientID         string // "": the client registers itself
	ClientSecret     string
	AuthorizationURL string
	TokenURL         string
	RegistrationURL  string
	Issuer           string
	Scopes           []string
	Audiences        []string
	RedirectURI      string // a loopback address; "": one of a free port
	TokenParamName   string // of SSE servers that want the token in the query
}

// Tool is a tool as its server declares it.
type Tool struct {
	Name         string
	Title        string // for people; "": Name
	Description  string
	InputSchema  []byte // JSON
	OutputSchema []byte // JSON; nil: none
	// Annotations are hints that nothing verifies, as {"readOnlyHint": true}.
	Annotations map[string]any
}

// Resource is something that a server can be asked for by its URI.
type Resource = tools.ResourceLink

// ResourceTemplate names resources by an RFC 6570 template.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// Prompt is a message, or several, that a server has ready.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is one argument of a [Prompt]. All are text.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessages are what a [Prompt] gives.
type PromptMessages struct {
	Description string
	Messages    []tools.Message
}

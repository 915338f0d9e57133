package settings

// MCP contains settings of all MCP servers together.
type MCP struct {
	// Whether MCP servers are started at all.
	Enabled bool `json:"enabled" set:"project=false,switch,default=true"`
	// A command that starts an additional server, named mcp.
	ServerCommand string `json:"serverCommand" set:"project=trusted,outside"`
	// The servers that may start, by name in any case; * stands for all. Not
	// given: all.
	Allowed []string `json:"allowed" set:"project=within,switch"`
	// Servers that may not start, even if allowed; likewise.
	Excluded []string `json:"excluded" set:"merge=union,project=add,switch"`
}

// MCPServer configures an MCP server. One of command, url and httpUrl is
// required; an entry with none only adds to an extension's server.
type MCPServer struct {
	// The program of the server, used over stdin and stdout.
	Command string `json:"command,omitempty"`
	// Its arguments.
	Args []string `json:"args,omitempty"`
	// Additional variables of its environment, which otherwise contains only the
	// few that every program requires, such as PATH and HOME. Nothing else of
	// fettle's own environment is passed on.
	Env map[string]string `json:"env,omitempty"`
	// The directory that it runs in.
	Cwd string `json:"cwd,omitempty"`
	// The address of a remote server.
	URL string `json:"url,omitempty"`
	// The transport of that server. Not given: http, then sse.
	Type string `json:"type,omitempty" jsonschema:"enum=stdio,enum=http,enum=sse"`
	// The address of a server with streamable HTTP; takes precedence over url.
	HTTPURL string `json:"httpUrl,omitempty"`
	// Headers of requests to the server by name.
	Headers map[string]string `json:"headers,omitempty"`
	// The address of a WebSocket server, which is not supported and reported.
	TCP string `json:"tcp,omitempty"`
	// Whether its program is confined, as commands are in the sandbox. It then
	// receives no key of a model provider, and is not started where it cannot be
	// confined. true of any layer, or of an extension, applies.
	Sandbox bool `json:"sandbox,omitempty"`
	// Timeout of a request, and of connecting, in milliseconds. 0: 600,000 for a
	// request, 30,000 for connecting.
	Timeout int `json:"timeout,omitempty" jsonschema:"minimum=0,maximum=86400000"`
	// Whether its tools run without approval, except in plan mode. Explicit rules
	// take precedence over it.
	Trust bool `json:"trust,omitempty"`
	// A description for display.
	Description string `json:"description,omitempty"`
	// The tools of the server to register, by its own names. Not given: all;
	// empty: none.
	IncludeTools []string `json:"includeTools,omitempty"`
	// Tools of the server not to register, * for any characters; takes precedence
	// over includeTools.
	ExcludeTools []string `json:"excludeTools,omitempty"`
	// How the user signs in to the server: enabled opens the page when the server
	// requires it; the other keys are required if the server does not provide
	// them.
	OAuth *OAuth `json:"oauth,omitempty"`
	// The source of the server's tokens. A server with another one than
	// dynamic_discovery is not used.
	AuthProviderType string `json:"authProviderType,omitempty" jsonschema:"enum=dynamic_discovery,enum=google_credentials,enum=service_account_impersonation"`
	// The audience of tokens of a service account; not supported.
	TargetAudience string `json:"targetAudience,omitempty"`
	// The service account for the tokens; not supported.
	TargetServiceAccount string `json:"targetServiceAccount,omitempty"`
}

// OAuth configures the sign-in to an MCP server.
type OAuth struct {
	Enabled          bool     `json:"enabled,omitempty"`
	ClientID         string   `json:"clientId,omitempty"`
	ClientSecret     string   `json:"clientSecret,omitempty"`
	AuthorizationURL string   `json:"authorizationUrl,omitempty"`
	Issuer           string   `json:"issuer,omitempty"`
	TokenURL         string   `json:"tokenUrl,omitempty"`
	Scopes           []string `json:"scopes,omitempty"`
	Audiences        []string `json:"audiences,omitempty"`
	RedirectURI      string   `json:"redirectUri,omitempty"`
	TokenParamName   string   `json:"tokenParamName,omitempty"`
	RegistrationURL  string   `json:"registrationUrl,omitempty"`
}

// HookGroup contains hooks with the same matcher.
type HookGroup struct {
	// The tools, or other subjects of the event, to which the hooks apply. Empty:
	// all.
	Matcher string `json:"matcher,omitempty"`
	// Whether the hooks run one after the other.
	Sequential bool `json:"sequential,omitempty"`
	// The hooks.
	Hooks []Hook `json:"hooks"`
}

// Hook is one hook program.
type Hook struct {
	// The only type is command.
	Type string `json:"type" jsonschema:"enum=command"`
	// The shell command to run.
	Command string `json:"command" jsonschema:"minLength=1"`
	// The hook's name, by which it can be disabled.
	Name string `json:"name,omitempty"`
	// A description for display.
	Description string `json:"description,omitempty"`
	// Timeout in milliseconds. 0: 60,000.
	Timeout int `json:"timeout,omitempty" jsonschema:"minimum=0,maximum=86400000"`
	// Whether it is confined, as commands are in the sandbox. It then receives no
	// key of a model provider, and does not run where it cannot be confined.
	Sandbox bool `json:"sandbox,omitempty"`
	// Additional environment variables for it.
	Env map[string]string `json:"env,omitempty"`
}

// HooksConfig contains settings of all hooks together.
type HooksConfig struct {
	// Whether hooks run at all.
	Enabled bool `json:"enabled" set:"project=trusted,default=true"`
	// Names of hooks that do not run.
	Disabled []string `json:"disabled" set:"merge=union,project=trusted"`
	// Whether the user sees that a hook runs.
	Notifications bool `json:"notifications" set:"project=true,default=true"`
}

// Agents contains settings of subagents.
type Agents struct {
	// Whether subagents can be called.
	Enabled bool `json:"enabled" set:"project=false,switch,default=true"`
}

// Skills contains settings of skills.
type Skills struct {
	// Whether skills can be activated.
	Enabled bool `json:"enabled" set:"project=false,switch,default=true"`
	// Names of skills that cannot be activated.
	Disabled []string `json:"disabled" set:"merge=union,project=add,switch"`
}

// Extensions contains settings of extensions.
type Extensions struct {
	// Names of extensions that contribute nothing.
	Disabled []string `json:"disabled" set:"merge=union,project=trusted"`
	// Whether the commands, agents and skills in .claude are read, those of the
	// home directory and those of a trusted project.
	ClaudeDirectories bool `json:"claudeDirectories" set:"project=trusted,default=true"`
}

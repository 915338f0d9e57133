package settings

// MCP are settings of all MCP servers together.
type MCP struct {
	// Whether MCP servers are started at all.
	Enabled bool `json:"enabled" set:"project=false,switch,default=true"`
	// A command that starts one more server, named mcp.
	ServerCommand string `json:"serverCommand" set:"project=trusted,outside"`
	// The servers that may start, by name in any case of letters; * is all. Not given: all.
	Allowed []string `json:"allowed" set:"project=within,switch"`
	// Servers that may not start, even if allowed; likewise.
	Excluded []string `json:"excluded" set:"merge=union,project=add,switch"`
}

// MCPServer is how an MCP server is reached (EX-15). One of command, url and
// httpUrl is needed; an entry with none only adds to what an extension says of
// the server.
type MCPServer struct {
	// The program that is the server, spoken to over stdin and stdout.
	Command string `json:"command,omitempty"`
	// Its arguments.
	Args []string `json:"args,omitempty"`
	// Variables of its environment, beside the few that every program needs, as PATH and HOME. Nothing else of fettle's own environment is handed on.
	Env map[string]string `json:"env,omitempty"`
	// The directory that it runs in.
	Cwd string `json:"cwd,omitempty"`
	// The address of a server that runs elsewhere.
	URL string `json:"url,omitempty"`
	// How that server is spoken to. Not given: http, then sse.
	Type string `json:"type,omitempty" jsonschema:"enum=stdio,enum=http,enum=sse"`
	// The address of a server that speaks streamable HTTP; goes before url.
	HTTPURL string `json:"httpUrl,omitempty"`
	// Headers of requests to the server by name.
	Headers map[string]string `json:"headers,omitempty"`
	// The address of a WebSocket server, which is not supported and told.
	TCP string `json:"tcp,omitempty"`
	// How long a request may take, and connecting, in milliseconds. 0: 600,000 for a request, 30,000 for connecting.
	Timeout int `json:"timeout,omitempty" jsonschema:"minimum=0,maximum=86400000"`
	// Whether its tools run without asking, but in plan mode. Rules that somebody has written go before it.
	Trust bool `json:"trust,omitempty"`
	// What the server is, for people.
	Description string `json:"description,omitempty"`
	// The tools of the server to register, by its own names. Not given: all; empty: none.
	IncludeTools []string `json:"includeTools,omitempty"`
	// Tools of the server not to register, * for any characters; goes before includeTools.
	ExcludeTools []string `json:"excludeTools,omitempty"`
	// How a person signs in to the server: enabled opens the page when the server asks for it; the rest is needed where the server does not say it itself.
	OAuth *OAuth `json:"oauth,omitempty"`
	// Where the server's tokens come from. A server with another than dynamic_discovery is not used.
	AuthProviderType string `json:"authProviderType,omitempty" jsonschema:"enum=dynamic_discovery,enum=google_credentials,enum=service_account_impersonation"`
	// The audience of tokens of a service account; not supported.
	TargetAudience string `json:"targetAudience,omitempty"`
	// The service account that tokens are made for; not supported.
	TargetServiceAccount string `json:"targetServiceAccount,omitempty"`
}

// OAuth says how a person signs in to an MCP server.
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

// HookGroup are hooks that take part in the same calls.
type HookGroup struct {
	// The tools, or other subjects of the event, that the hooks are for. Empty: all.
	Matcher string `json:"matcher,omitempty"`
	// Whether the hooks run one after the other.
	Sequential bool `json:"sequential,omitempty"`
	// The hooks.
	Hooks []Hook `json:"hooks"`
}

// Hook is one program that takes part.
type Hook struct {
	// The only type is command.
	Type string `json:"type" jsonschema:"enum=command"`
	// The shell command to run.
	Command string `json:"command" jsonschema:"minLength=1"`
	// The hook's name, under which it can be disabled.
	Name string `json:"name,omitempty"`
	// What it does, for people.
	Description string `json:"description,omitempty"`
	// How long it may take, in milliseconds. 0: 60,000.
	Timeout int `json:"timeout,omitempty" jsonschema:"minimum=0,maximum=86400000"`
	// Further environment variables for it.
	Env map[string]string `json:"env,omitempty"`
}

// HooksConfig are settings of all hooks together.
type HooksConfig struct {
	// Whether hooks run at all.
	Enabled bool `json:"enabled" set:"project=trusted,default=true"`
	// Names of hooks that do not run.
	Disabled []string `json:"disabled" set:"merge=union,project=trusted"`
	// Whether a person sees that a hook runs.
	Notifications bool `json:"notifications" set:"project=true,default=true"`
}

// Agents are settings of subagents.
type Agents struct {
	// Whether subagents can be called.
	Enabled bool `json:"enabled" set:"project=false,switch,default=true"`
}

// Skills are settings of skills.
type Skills struct {
	// Whether skills can be activated.
	Enabled bool `json:"enabled" set:"project=false,switch,default=true"`
	// Names of skills that cannot.
	Disabled []string `json:"disabled" set:"merge=union,project=add,switch"`
}

// Extensions are settings of extensions.
type Extensions struct {
	// Names of extensions that contribute nothing.
	Disabled []string `json:"disabled" set:"merge=union,project=trusted"`
}

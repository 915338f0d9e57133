package settings

import "time"

// Tools are settings of the tools and of what they may do.
type Tools struct {
	// The built-in tools to register, exactly. run_shell_command(git) denies every command that does not begin so; any other
	// entry with brackets selects nothing. Not given: the default set.
	Core []string `json:"core" set:"project=within,switch"`
	// Tools that run without asking, as name, or run_shell_command(git status) for commands that begin so.
	Allowed []string `json:"allowed" set:"project=trusted"`
	// Tools that are asked about even if allowed elsewhere, in the form of allowed. An entry beats core, allowed, your
	// rules and the mode yolo; what is denied stays denied.
	ConfirmationRequired []string `json:"confirmationRequired" set:"project=add"`
	// Tools not to register, and denied. An entry beats every other list. run_shell_command(rm) denies the commands that begin
	// so; with any other tool's name brackets mean the whole tool.
	Exclude []string `json:"exclude" set:"merge=union,project=add,switch"`
	// A command that prints the declarations of further tools as JSON; callCommand is needed beside it.
	DiscoveryCommand string `json:"discoveryCommand" set:"project=trusted,outside"`
	// The command that runs such a tool: it is given the name as its argument and the parameters as JSON on stdin.
	CallCommand string `json:"callCommand" set:"project=trusted,outside"`
	// Whether ripgrep may do a search.
	UseRipgrep bool `json:"useRipgrep" set:"project=trusted,unused,default=true"`
	// How many characters of a tool's output a model is given. 0 or less: all. Until it is read, of a command's output
	// the first 8,000 and the last 32,000 bytes are given, and other tools have limits of their own.
	TruncateToolOutputThreshold int `json:"truncateToolOutputThreshold" set:"project=lower,unused,default=40000"`
	// How many bytes the declarations of MCP servers' and discovered tools may have together before they are held back: the
	// model is told their names, and finds the rest with tool_search. 1: always. 0 or less: never. docs/deferred-tools.md has more.
	DeferSchemasAbove int `json:"deferSchemasAbove" jsonschema:"maximum=1000000000" set:"project=trusted,default=32768"`
	// How many bytes a file may have for which the result of safe_patch, write_file or edit shows the whole. Of a larger one, in
	// a state that the model knew whole, it is shown version, hash and the changed regions, unless they take as much; when such a
	// change is refused as well. 0 or less: always the whole, which is the default with the layout gemini. docs/context-cost.md has more.
	ChangedRegionsAbove int `json:"changedRegionsAbove" jsonschema:"maximum=1000000000" set:"project=trusted,env=CHANGED_REGIONS_ABOVE,default=16384"`
	// How many bytes of text one result of a tool may have, as JSON; less than 1,000 is 1,000. A longer read is given in pages. Not
	// given, or 0: 262,144, and in mcp serve what the client passes on whole, as docs/mcp.md has it.
	MaxResultBytes int `json:"maxResultBytes" jsonschema:"minimum=0,maximum=1000000000" set:"project=trusted,env=MAX_RESULT_BYTES"`
	// Whether reads are not remembered: no placeholders, no prior-read checks. Hashes still hold.
	FileReadCacheDisabled bool    `json:"fileReadCacheDisabled" set:"project=false,env=FILE_READ_CACHE_DISABLED"`
	Sandbox               Sandbox `json:"sandbox"`
	Shell                 Shell   `json:"shell"`
}

// Sandbox says what confines shell commands. In a file it may also be given as
// one value: true is the confinement of the system's kernel, false none, and a
// text is the command.
type Sandbox struct {
	// Whether shell commands are confined. Not given: they are if command or image is.
	Enabled *bool `json:"enabled,omitempty" set:"project=true,always"`
	// What confines them: landlock, the Linux kernel, or the name of a program that runs containers, as docker or podman.
	Command string `json:"command" set:"project=landlock,always,env=SANDBOX_COMMAND"`
	// The image that the container program runs them in.
	Image string `json:"image" set:"project=never,env=SANDBOX_IMAGE"`
	// Further directories in which confined commands may write.
	AllowedPaths []string `json:"allowedPaths" set:"project=never"`
	// Whether confined commands may use the network: under landlock open TCP connections, and in a container reach anything at all.
	NetworkAccess bool `json:"networkAccess" set:"project=false,always,default=true"`
}

// SandboxKind says what confines commands.
type SandboxKind string

// The kinds.
const (
	SandboxNone      SandboxKind = ""          // nothing
	SandboxLandlock  SandboxKind = "landlock"  // the Linux kernel
	SandboxContainer SandboxKind = "container" // the program Command with the image Image; either may be missing or nonsense, and then no command may be run
)

// Kind returns what the settings ask for, whether or not the machine has it.
func (s Sandbox) Kind() SandboxKind {
	switch {
	case s.Enabled != nil && !*s.Enabled:
		return SandboxNone
	case s.Command == string(SandboxLandlock):
		return SandboxLandlock
	case s.Command != "" || s.Image != "":
		return SandboxContainer
	case s.Enabled != nil:
		return SandboxLandlock
	}
	return SandboxNone
}

// Shell are settings of the tool run_shell_command.
type Shell struct {
	// Whether commands run in a terminal of their own, so that programs behave as they do for a person: what is
	// written to one is echoed, long output may come in columns and pages.
	EnableInteractiveShell bool `json:"enableInteractiveShell" set:"project=trusted"`
	// After how many seconds without output a command is ended. 0 or less: never.
	InactivityTimeout int `json:"inactivityTimeout" jsonschema:"maximum=31536000" set:"project=lower,default=300"`
	// After how many seconds a command is ended whatever it prints. 0 or less: never.
	Timeout int `json:"timeout" jsonschema:"maximum=31536000" set:"project=lower,default=3600"`
	// What happens when a background process ends: nothing, a message to the model, or a notice to the person.
	BackgroundCompletionBehavior string `json:"backgroundCompletionBehavior" jsonschema:"enum=silent,enum=inject,enum=notify" set:"project=trusted,unused,default=silent"`
	// The program that shows long output to a command, as the variable PAGER.
	Pager string `json:"pager" set:"project=trusted,unused,default=cat"`
	// Whether a person sees the colours of a command's output.
	ShowColor bool `json:"showColor" set:"project=free,unused,default=true"`
}

// Idle returns InactivityTimeout as a duration, negative for none.
func (s Shell) Idle() time.Duration { return seconds(s.InactivityTimeout) }

// Total returns Timeout as a duration, negative for none.
func (s Shell) Total() time.Duration { return seconds(s.Timeout) }

func seconds(n int) time.Duration {
	if n <= 0 {
		return -1
	}
	return time.Duration(n) * time.Second
}

// Web are settings of the tools that reach the network.
type Web struct {
	// Whether web_fetch may reach addresses of this machine and of private networks.
	AllowPrivateAddresses bool `json:"allowPrivateAddresses" set:"project=false"`
	// Hosts that web_fetch may reach although they are private: a name or an IP address, with or without a port, or a
	// prefix, as wiki.internal, localhost:8080, 10.1.0.0/16.
	AllowedHosts []string `json:"allowedHosts" set:"merge=union,project=trusted"`
	// Whether web_fetch leaves names that cannot be looked up here to the proxy, where there is one. It may then reach what only the
	// proxy can, private networks among it.
	ProxyDecides bool   `json:"proxyDecides" set:"project=false,always"`
	Search       Search `json:"search"`
}

// Search is the service behind web_search: any that answers a request over HTTP
// with JSON.
type Search struct {
	// The address of the service, {query} standing for the words that are searched for. Not given: Gemini, if there is a key in the
	// variable GEMINI_API_KEY, at the address of GOOGLE_GEMINI_BASE_URL, else nobody.
	URL string `json:"url" set:"project=trusted"`
	// The method of the request.
	Method string `json:"method" jsonschema:"enum=GET,enum=POST" set:"project=trusted,default=GET"`
	// Headers of the request by name.
	Headers map[string]string `json:"headers" set:"merge=shallow,project=trusted,cut=1"`
	// The body of the request, {query} standing for the words as a JSON text.
	Body string `json:"body" set:"project=trusted"`
	// Where in the answer the list of results stands, as web.results. Empty: the answer is the list.
	ResultsPath string `json:"resultsPath" set:"project=trusted"`
	// Where in a result its title stands.
	TitlePath string `json:"titlePath" set:"project=trusted"`
	// Where in a result its address stands.
	URLPath string `json:"urlPath" set:"project=trusted"`
	// Where in a result its text stands.
	SnippetPath string `json:"snippetPath" set:"project=trusted"`
	// Where in the answer a text that answers the question stands. Empty: there is none.
	AnswerPath string `json:"answerPath" set:"project=trusted"`
	// How many results are given to the model. 0: the program's choice.
	Limit int `json:"limit" jsonschema:"minimum=0" set:"project=trusted"`
}

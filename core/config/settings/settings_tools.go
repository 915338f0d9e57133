package settings

import "time"

// Tools contains settings of the tools and of their permissions.
type Tools struct {
	// The built-in tools to register. run_shell_command(git) denies every command
	// without that prefix; any other entry with brackets selects nothing. Not
	// given: the default set.
	Core []string `json:"core" set:"project=within,switch"`
	// Tools that run without approval, as name, or run_shell_command(git status)
	// for commands with that prefix.
	Allowed []string `json:"allowed" set:"project=trusted"`
	// Tools that require approval even if allowed elsewhere, in the form of
	// allowed. An entry takes precedence over core, allowed, your rules and the
	// mode yolo; denied calls stay denied.
	ConfirmationRequired []string `json:"confirmationRequired" set:"project=add"`
	// Tools that are not registered, and denied. An entry takes precedence over
	// every other list. run_shell_command(rm) denies the commands with that
	// prefix; with any other tool's name brackets mean the whole tool.
	Exclude []string `json:"exclude" set:"merge=union,project=add,switch"`
	// Whether commands that only read run without approval, if the table of
	// read-only programs lists them with their options; docs/policy-commands.md has it. It
	// has no effect in plan mode.
	ReadOnlyTable bool `json:"readOnlyTable" set:"project=false,default=true"`
	// A command that prints the declarations of further tools as JSON; requires
	// callCommand.
	DiscoveryCommand string `json:"discoveryCommand" set:"project=trusted,outside"`
	// The command that runs such a tool: it receives the name as its argument and
	// the parameters as JSON on stdin.
	CallCommand string `json:"callCommand" set:"project=trusted,outside"`
	// Whether both commands are confined, as commands are in the sandbox. They
	// then receive no key of a model provider, and do not run where they cannot be
	// confined.
	DiscoverySandbox bool `json:"discoverySandbox" set:"project=true,always"`
	// Whether searches may use ripgrep.
	UseRipgrep bool `json:"useRipgrep" set:"project=trusted,unused,default=true"`
	// Maximum number of characters of a tool's output for the model. 0 or less:
	// all. As long as it has no effect, a command's output is shortened to its
	// first 8,000 and last 32,000 bytes, and other tools have limits of their
	// own.
	TruncateToolOutputThreshold int `json:"truncateToolOutputThreshold" set:"project=lower,unused,default=40000"`
	// Total size in bytes of the declarations of MCP and discovered tools above
	// which they are deferred: the model receives their names, and finds the rest
	// with tool_search. 1: always. 0 or less: never. docs/deferred-tools.md has
	// more.
	DeferSchemasAbove int `json:"deferSchemasAbove" jsonschema:"maximum=1000000000" set:"project=trusted,default=32768"`
	// Maximum size in bytes of a file that the result of a patch, write_file
	// or edit shows completely. For a larger one, in a state that the model has
	// seen completely, the result shows version, hash and the changed regions,
	// unless these are as long; the same applies to a refused change. 0 or less:
	// always the whole file, which is the default with the layout gemini.
	// docs/context-cost.md has more.
	ChangedRegionsAbove int `json:"changedRegionsAbove" jsonschema:"maximum=1000000000" set:"project=trusted,env=CHANGED_REGIONS_ABOVE,default=16384"`
	// How a patch is treated if another writer has changed a file of it since the
	// model read that. refuse: it is refused. If the change carries over, the
	// result offers a token that repeats the call. rebase: a change that carries
	// over is made at once, and the result shows the other writer's change.
	// docs/safety-model.md has more.
	StaleEdits string `json:"staleEdits" jsonschema:"enum=refuse,enum=rebase" set:"project=trusted,env=STALE_EDITS,default=refuse"`
	// The tools with which the model changes parts of files, if core is not given:
	// one or more of safe_patch, apply_patch and str_replace_based_edit_tool, or
	// auto. apply_patch takes patches of several files, in the format of OpenAI's
	// models or as a git diff; str_replace_based_edit_tool is Anthropic's text
	// editor. auto selects by the model: str_replace_based_edit_tool for Claude,
	// apply_patch for GPT, Codex and the o-series, safe_patch for others. A single
	// name may be given as a text. docs/edit-dialects.md has more.
	EditDialect []string `json:"editDialect" jsonschema:"enum=auto,enum=safe_patch,enum=apply_patch,enum=str_replace_based_edit_tool" set:"project=trusted,single,default=safe_patch"`
	// Maximum number of bytes of text in one result of a tool, as JSON; values
	// below 1,000 mean 1,000. A longer read is paged. Not given, or 0: 262,144,
	// and in mcp serve the limit of the client, as listed in docs/mcp.md.
	MaxResultBytes int `json:"maxResultBytes" jsonschema:"minimum=0,maximum=1000000000" set:"project=trusted,env=MAX_RESULT_BYTES"`
	// Whether reads are not recorded: no placeholders, no prior-read checks.
	// Hashes are still checked.
	FileReadCacheDisabled bool    `json:"fileReadCacheDisabled" set:"project=false,env=FILE_READ_CACHE_DISABLED"`
	Sandbox               Sandbox `json:"sandbox"`
	Shell                 Shell   `json:"shell"`
}

// Sandbox contains settings of the confinement of shell commands. In a file it may
// also be a single value: auto, none or landlock, true for landlock, false for
// none, or the name of a container program.
type Sandbox struct {
	// Whether shell commands are confined: false means none, and true every
	// command, by landlock unless command is set. Not given: auto, unless
	// command or image is set.
	Enabled *bool `json:"enabled,omitempty" set:"project=true,always"`
	// The confinement. auto: policy decides for each command, which then runs in
	// namespaces of the Linux kernel or, where these do not work, with landlock.
	// none: no command is confined. landlock, or the name of a program that runs
	// containers, such as docker or podman: every command is.
	Command string `json:"command" set:"project=landlock,always,env=SANDBOX_COMMAND"`
	// The image in which the container program runs them.
	Image string `json:"image" set:"project=never,env=SANDBOX_IMAGE"`
	// Further directories to which confined commands may write.
	AllowedPaths []string `json:"allowedPaths" set:"project=never"`
	// Whether confined commands may use the network: under landlock open TCP
	// connections, and in a container any access. With auto the network is
	// 127.0.0.1 only, unless true is set.
	NetworkAccess bool `json:"networkAccess" set:"project=false,always,default=true"`
}

// SandboxKind is a kind of confinement.
type SandboxKind string

// The kinds.
const (
	SandboxNone      SandboxKind = ""          // nothing
	SandboxAuto      SandboxKind = "auto"      // the Linux kernel, for each command for which policy decides so; nothing where the kernel cannot
	SandboxLandlock  SandboxKind = "landlock"  // the Linux kernel
	SandboxContainer SandboxKind = "container" // the program Command with the image Image; if either is missing or invalid, no command may run
)

// Kind returns the configured kind, whether or not the machine supports it.
func (s Sandbox) Kind() SandboxKind {
	switch {
	case s.Enabled != nil && !*s.Enabled, s.Command == sandboxNone:
		return SandboxNone
	case s.Command == string(SandboxAuto):
		return SandboxAuto
	case s.Command == string(SandboxLandlock):
		return SandboxLandlock
	case s.Command != "" || s.Image != "":
		return SandboxContainer
	case s.Enabled != nil:
		return SandboxLandlock
	}
	return SandboxAuto
}

// Confines reports whether every command is confined.
func (s Sandbox) Confines() bool { return s.Kind() != SandboxNone && s.Kind() != SandboxAuto }

// LandlockAlone is the notice about programs with sandbox where namespaces do not
// work.
const LandlockAlone = "Namespaces do not work here, so programs with sandbox are confined by landlock alone: they can write protected paths and read all your files."

// sandboxNone is the command that confines nothing.
const sandboxNone = "none"

// Shell contains settings of the tool run_shell_command.
type Shell struct {
	// Whether commands run in a pseudo-terminal of their own, so that programs
	// behave as in a user's terminal: input is echoed, and long output may be
	// formatted in columns and pages.
	EnableInteractiveShell bool `json:"enableInteractiveShell" set:"project=trusted"`
	// Number of seconds without output after which a command is ended. 0 or less:
	// never.
	InactivityTimeout int `json:"inactivityTimeout" jsonschema:"maximum=31536000" set:"project=lower,default=300"`
	// Number of seconds after which a command is ended regardless of its output.
	// 0 or less: never.
	Timeout int `json:"timeout" jsonschema:"maximum=31536000" set:"project=lower,default=3600"`
	// What happens when a background process ends: nothing, a message to the
	// model, or a notice to the user.
	BackgroundCompletionBehavior string `json:"backgroundCompletionBehavior" jsonschema:"enum=silent,enum=inject,enum=notify" set:"project=trusted,unused,default=silent"`
	// The program that shows long output to a command, as the variable PAGER.
	Pager string `json:"pager" set:"project=trusted,unused,default=cat"`
	// Whether the user sees the colours of a command's output.
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

// Web contains settings of the tools that use the network.
type Web struct {
	// Whether web_fetch may reach addresses of this machine and of private
	// networks.
	AllowPrivateAddresses bool `json:"allowPrivateAddresses" set:"project=false"`
	// Hosts that web_fetch may reach although they are private: a name or an IP
	// address, with or without a port, or a prefix, for example wiki.internal,
	// localhost:8080, 10.1.0.0/16.
	AllowedHosts []string `json:"allowedHosts" set:"merge=union,project=trusted"`
	// Whether web_fetch leaves names that cannot be resolved here to the proxy,
	// if there is one. It may then reach hosts that only the proxy can reach,
	// including private networks.
	ProxyDecides bool   `json:"proxyDecides" set:"project=false,always"`
	Search       Search `json:"search"`
}

// Search contains settings of the service behind web_search: any service that answers
// HTTP requests with JSON.
type Search struct {
	// The address of the service, with {query} for the search terms. Not given:
	// Gemini, if the variable GEMINI_API_KEY contains a key, at the address of
	// GOOGLE_GEMINI_BASE_URL, else no service.
	URL string `json:"url" set:"project=trusted"`
	// The method of the request.
	Method string `json:"method" jsonschema:"enum=GET,enum=POST" set:"project=trusted,default=GET"`
	// Headers of the request by name.
	Headers map[string]string `json:"headers" set:"merge=shallow,project=trusted,cut=1"`
	// The body of the request, with {query} for the search terms as a JSON text.
	Body string `json:"body" set:"project=trusted"`
	// The path of the list of results in the answer, for example web.results.
	// Empty: the answer is the list.
	ResultsPath string `json:"resultsPath" set:"project=trusted"`
	// The path of the title in a result.
	TitlePath string `json:"titlePath" set:"project=trusted"`
	// The path of the address in a result.
	URLPath string `json:"urlPath" set:"project=trusted"`
	// The path of the text in a result.
	SnippetPath string `json:"snippetPath" set:"project=trusted"`
	// The path of a text in the answer that answers the question. Empty: there is
	// none.
	AnswerPath string `json:"answerPath" set:"project=trusted"`
	// Maximum number of results for the model. 0: the program's choice.
	Limit int `json:"limit" jsonschema:"minimum=0" set:"project=trusted"`
}

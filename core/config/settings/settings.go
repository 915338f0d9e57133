// Package settings loads the settings of a session from their layers, and records
// the origin of every value.
package settings

// Settings contains the effective values. Each field is one key of settings.json;
// its comment is the key's description in docs/configuration.md, and its tag
// specifies how layers are merged and which values an untrusted project may set:
//
//	merge=    how a layer's value is merged with those of lower layers; see [Merge]
//	project=  the values that an untrusted directory may set; see [ProjectRule]
//	always    that rule applies to trusted directories, too
//	outside   no directory may set it while commands are confined; see [Key]
//	switch    it determines the available tools, servers, agents or skills
//	env=      the environment variable, without the layout's prefix
//	default=  the value without any layer, the entries of a list separated by |; none: the zero value
//	cut=      in a map, how many steps below the key a mistake removes the value
//	single    a list, for which a single text is accepted as well
//	unused    fettle does not read the key yet; setting it is reported
//
// The zero value is not the default; see [Defaults].
type Settings struct {
	General     General     `json:"general"`
	Output      Output      `json:"output"`
	UI          UI          `json:"ui"`
	Model       Model       `json:"model"`
	Context     Context     `json:"context"`
	Tools       Tools       `json:"tools"`
	Web         Web         `json:"web"`
	MCP         MCP         `json:"mcp"`
	Security    Security    `json:"security"`
	Advanced    Advanced    `json:"advanced"`
	Agents      Agents      `json:"agents"`
	Skills      Skills      `json:"skills"`
	Extensions  Extensions  `json:"extensions"`
	HooksConfig HooksConfig `json:"hooksConfig"`
	Telemetry   Telemetry   `json:"telemetry"`
	Fork        Fork        `json:"fork"`

	// MCP servers by name. A server of a higher layer replaces one of the same
	// name as a whole. Names, environment variables and header names are
	// case-sensitive.
	MCPServers map[string]MCPServer `json:"mcpServers" set:"merge=shallow,project=trusted,outside,cut=1"`
	// Programs that run at events of a session, by event. Those of all layers
	// run.
	Hooks map[string][]HookGroup `json:"hooks" set:"merge=concat,project=trusted,outside,cut=2"`
	// Files and directories of policy rules, in place of the user's policies.toml
	// and policies directory.
	PolicyPaths []string `json:"policyPaths" set:"merge=union,project=trusted"`
	// Whether the tool write_todos is registered.
	UseWriteTodos bool `json:"useWriteTodos" set:"project=false,switch,default=true"`
}

// General contains settings of the session as a whole.
type General struct {
	// Which calls run without approval: default requires approval of every
	// change, auto_edit makes edits without approval, auto also runs confined
	// commands without approval, plan makes no change, yolo requires no approval.
	DefaultApprovalMode string `json:"defaultApprovalMode" jsonschema:"enum=default,enum=auto_edit,enum=autoEdit,enum=auto,enum=plan,enum=yolo" set:"project=stricter,env=APPROVAL_MODE,default=default"`
	// The editor that is opened to change a proposed edit.
	PreferredEditor string `json:"preferredEditor" set:"project=trusted,outside,unused"`
	// Maximum number of attempts of a request to a model, the first one included.
	MaxAttempts int `json:"maxAttempts" jsonschema:"minimum=1,maximum=10" set:"project=lower,default=10"`
	// Whether a request that failed on the way to the model is retried.
	RetryFetchErrors bool             `json:"retryFetchErrors" set:"project=false,default=true"`
	Checkpointing    Checkpointing    `json:"checkpointing"`
	SessionRetention SessionRetention `json:"sessionRetention"`
}

// Fork contains settings of forks.
type Fork struct {
	// Whether new forks are copies of the project's directories, for systems
	// without overlays.
	Copy bool `json:"copy" set:"project=trusted"`
}

// Checkpointing contains settings of the snapshots that fettle restore uses.
type Checkpointing struct {
	// Whether the content of files is kept before a conversation changes them, so
	// that fettle restore can restore it.
	Enabled bool `json:"enabled" set:"project=true,default=true"`
	// Larger files are not kept when a command runs, in MB. 0: 5.
	MaxFileMegabytes int `json:"maxFileMegabytes" jsonschema:"minimum=0" set:"project=trusted"`
	// Maximum total size of a project's current files that are kept, in MB. 0:
	// 500.
	MaxTotalMegabytes int `json:"maxTotalMegabytes" jsonschema:"minimum=0" set:"project=trusted"`
	// Maximum size of all kept content of a project, in MB; the oldest sessions
	// are removed first. 0: 2048.
	MaxStoreMegabytes int `json:"maxStoreMegabytes" jsonschema:"minimum=0" set:"project=trusted"`
}

// SessionRetention contains settings of the removal of old recordings.
type SessionRetention struct {
	// Whether old recordings are removed.
	Enabled bool `json:"enabled" set:"project=trusted,default=true"`
	// The age beyond which recordings are removed, for example 30d: hours h, days
	// d, weeks w, months m of 30 days.
	MaxAge string `json:"maxAge" jsonschema:"pattern=^([0-9]+[hdwm])?$" set:"project=trusted,default=30d"`
	// Maximum number of recordings. 0: any number.
	MaxCount int `json:"maxCount" jsonschema:"minimum=0" set:"project=trusted"`
	// The age below which no recording is removed, in the form of maxAge.
	MinRetention string `json:"minRetention" jsonschema:"pattern=^([0-9]+[hdwm])?$" set:"project=trusted,default=1d"`
}

// Output contains settings of the output of a run without a terminal.
type Output struct {
	// The output format of the answer to a single prompt.
	Format string `json:"format" jsonschema:"enum=text,enum=json,enum=stream-json" set:"project=free,default=text"`
}

// UI contains settings of the terminal.
type UI struct {
	// The name of a colour theme: default (light or dark, like the terminal),
	// light, dark, ansi (the terminal's own sixteen colours), none. Empty:
	// default.
	Theme string `json:"theme" set:"project=free"`
	// Whether fettle shows animations while it works. Without them, slow
	// terminals have less to draw.
	Animations bool `json:"animations" set:"project=free,default=true"`
	// How a session in a terminal notifies you when a question waits, or when a
	// turn of ten seconds or more has ended, unless its window has the focus.
	// auto: the bell, if the terminal reports that its window has lost the
	// focus. osc9, osc777: a notification of the desktop, by that sequence of
	// the terminal. With --plain only bell has an effect.
	Notifications string `json:"notifications" jsonschema:"enum=auto,enum=off,enum=bell,enum=osc9,enum=osc777" set:"project=trusted,default=auto"`
	// How much of an error is shown.
	ErrorVerbosity string        `json:"errorVerbosity" jsonschema:"enum=low,enum=full" set:"project=trusted,unused,default=low"`
	Accessibility  Accessibility `json:"accessibility"`
}

// Accessibility contains settings for users of screen readers.
type Accessibility struct {
	// Whether a session at the terminal is plain text in reading order, as with
	// --plain.
	ScreenReader bool `json:"screenReader" set:"project=free"`
}

// Model contains settings of the model and of turns with it.
type Model struct {
	// The model. auto: the program's choice.
	Name string `json:"name" jsonschema:"minLength=1" set:"project=trusted,env=MODEL,default=auto"`
	// Maximum number of turns of a session. -1: any number.
	MaxSessionTurns int `json:"maxSessionTurns" jsonschema:"minimum=-1" set:"project=lower,default=-1"`
	// Maximum number of tokens of a request. 0: the known limit of the model.
	TokenLimit int `json:"tokenLimit" jsonschema:"minimum=0,maximum=1000000000" set:"project=lower"`
	// The share of the model's context, from 0 to 1, above which the conversation
	// is compressed.
	CompressionThreshold float64 `json:"compressionThreshold" jsonschema:"minimum=0,maximum=1" set:"project=trusted,default=0.5"`
	// Whether a model that repeats itself is not stopped.
	DisableLoopDetection bool `json:"disableLoopDetection" set:"project=false"`
	// Whether the check for the next speaker is skipped.
	SkipNextSpeakerCheck bool `json:"skipNextSpeakerCheck" set:"project=trusted,unused,default=true"`
	// By tool name, the number of tokens to which its output is summarised before
	// the model sees it.
	SummarizeToolOutput map[string]Summary `json:"summarizeToolOutput" set:"project=trusted,cut=1,unused"`
	// Prices of models for /stats, by the name of a model as /stats shows it, or
	// by its start; the longest match applies, and an empty name is the start of
	// all. A price of a higher layer replaces
	// one of the same name as a whole. All prices are in one currency, by
	// convention US dollars.
	Prices map[string]Price `json:"prices" set:"merge=shallow,project=trusted,cut=1"`
}

// Price contains the prices of one model, per million tokens.
type Price struct {
	// Price of a million tokens of the prompt.
	Input float64 `json:"input,omitempty" jsonschema:"minimum=0"`
	// Price of a million tokens of the answer, thoughts included.
	Output float64 `json:"output,omitempty" jsonschema:"minimum=0"`
	// Price of a million tokens of the prompt that the provider had cached. 0:
	// that of input.
	CachedInput float64 `json:"cachedInput,omitempty" jsonschema:"minimum=0"`
}

// Summary configures the summary of a tool's output.
type Summary struct {
	// Maximum number of tokens of the summary. 0: the program's choice.
	TokenBudget int `json:"tokenBudget,omitempty" jsonschema:"minimum=0,maximum=1000000000"`
}

// Context contains settings of the information about the project for the model.
type Context struct {
	// Names of the instruction files for the model, or a single name. None: the
	// layout's, such as FETTLE.md, and AGENTS.md.
	FileName []string `json:"fileName" set:"project=trusted,single"`
	// How imports in such files are shown.
	ImportFormat string `json:"importFormat" jsonschema:"enum=tree,enum=flat" set:"project=trusted,default=tree"`
	// Whether the model receives the names of the project's files.
	IncludeDirectoryTree bool `json:"includeDirectoryTree" set:"project=trusted,unused,default=true"`
	// Maximum number of directories that are searched for such files.
	DiscoveryMaxDirs int `json:"discoveryMaxDirs" jsonschema:"minimum=0" set:"project=lower,unused,default=200"`
	// Names that mark the directory at which the upward search for such files
	// ends. None: only the directory itself is searched.
	MemoryBoundaryMarkers []string `json:"memoryBoundaryMarkers" set:"project=trusted,default=.git"`
	// Further directories that the tools may access. A missing one is ignored
	// with a warning.
	IncludeDirectories []string `json:"includeDirectories" set:"merge=concat,project=trusted,outside"`
	// Whether those directories' context files are loaded as well.
	LoadMemoryFromIncludeDirectories bool          `json:"loadMemoryFromIncludeDirectories" set:"project=trusted,unused"`
	FileFiltering                    FileFiltering `json:"fileFiltering"`
}

// FileFiltering contains settings of the files that search tools and lists find.
type FileFiltering struct {
	// Whether files ignored by git are omitted: by .gitignore files, including
	// those above a project that is part of a repository, and by
	// .git/info/exclude. core.excludesFile and ~/.config/git/ignore are not read.
	RespectGitIgnore bool `json:"respectGitIgnore" set:"project=true,default=true"`
	// Whether files named in the layout's own ignore file, such as .fettleignore,
	// are omitted.
	RespectFettleIgnore bool `json:"respectFettleIgnore" set:"project=true,default=true"`
	// Further ignore files, absolute or relative to the project. An earlier one
	// takes precedence over a later one, and all over .gitignore.
	CustomIgnoreFilePaths []string `json:"customIgnoreFilePaths" set:"merge=union,project=add"`
	// Maximum number of files in one answer.
	MaxFileCount int `json:"maxFileCount" jsonschema:"minimum=1" set:"project=lower,default=20000"`
	// Whether the directories of the project are watched, so that completion of
	// file names is quick.
	EnableFileWatcher bool `json:"enableFileWatcher" set:"project=trusted,unused"`
	// Whether completion of file names searches subdirectories.
	EnableRecursiveFileSearch bool `json:"enableRecursiveFileSearch" set:"project=trusted,unused,default=true"`
	// Whether completion of file names matches letters that are not adjacent.
	EnableFuzzySearch bool `json:"enableFuzzySearch" set:"project=trusted,unused,default=true"`
}

// Package settings reads the settings of a session from their layers, and tells
// of every value where it comes from.
package settings

// Settings are the values in force. Each field is one key of settings.json; its
// comment is the key's description in docs/configuration.md, and its tag says
// how layers combine and what a project may say that is not trusted:
//
//	merge=    how a layer's value joins those of lower layers; see [Merge]
//	project=  what a directory that is not trusted may set; see [ProjectRule]
//	always    that rule holds for trusted directories, too
//	outside   no directory may set it while commands are confined; see [Key]
//	switch    it says which tools, servers, agents or skills there are
//	env=      the environment variable, without the layout's prefix
//	default=  what holds where no layer gives a value, the entries of a list with | between them; none: the zero value
//	cut=      in a map, how many steps below the key lies what one mistake takes away
//	single    a list, for which a text alone is taken as well
//	unused    nothing in fettle reads the key yet; giving it is told
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

	// MCP servers by name. A server of a higher layer takes the place of one of the same name as a whole.
	// Names, environment and header names keep their case.
	MCPServers map[string]MCPServer `json:"mcpServers" set:"merge=shallow,project=trusted,outside,cut=1"`
	// Programs that take part in a session, by event. Those of all layers run.
	Hooks map[string][]HookGroup `json:"hooks" set:"merge=concat,project=trusted,outside,cut=2"`
	// Files and directories of policy rules, in place of the user's policies.toml and policies directory.
	PolicyPaths []string `json:"policyPaths" set:"merge=union,project=trusted"`
	// Whether the tool write_todos is registered.
	UseWriteTodos bool `json:"useWriteTodos" set:"project=false,switch,default=true"`
}

// General are settings of the session as a whole.
type General struct {
	// What is done without asking: default asks before every change, auto_edit makes edits without asking,
	// plan makes no change, yolo asks nothing.
	DefaultApprovalMode string `json:"defaultApprovalMode" jsonschema:"enum=default,enum=auto_edit,enum=autoEdit,enum=plan,enum=yolo" set:"project=stricter,env=APPROVAL_MODE,default=default"`
	// The editor that is opened to change a proposed edit.
	PreferredEditor string `json:"preferredEditor" set:"project=trusted,outside,unused"`
	// How often a request to a model is tried, the first time included.
	MaxAttempts int `json:"maxAttempts" jsonschema:"minimum=1,maximum=10" set:"project=lower,default=10"`
	// Whether a request that failed on the way to the model is tried again.
	RetryFetchErrors bool             `json:"retryFetchErrors" set:"project=false,default=true"`
	Checkpointing    Checkpointing    `json:"checkpointing"`
	SessionRetention SessionRetention `json:"sessionRetention"`
}

// Checkpointing are settings of the snapshots that fettle restore goes back to.
type Checkpointing struct {
	// Whether what files hold is kept before a conversation changes them, so that fettle restore can bring it back.
	Enabled bool `json:"enabled" set:"project=true,default=true"`
	// Files that are larger are not kept when a command runs, in MB. 0: 5.
	MaxFileMegabytes int `json:"maxFileMegabytes" jsonschema:"minimum=0" set:"project=trusted"`
	// How much of the files of a project as it is now is kept, in MB. 0: 500.
	MaxTotalMegabytes int `json:"maxTotalMegabytes" jsonschema:"minimum=0" set:"project=trusted"`
	// How much is kept of a project in all, in MB; the oldest sessions go first. 0: 2048.
	MaxStoreMegabytes int `json:"maxStoreMegabytes" jsonschema:"minimum=0" set:"project=trusted"`
}

// SessionRetention says how long recorded sessions are kept.
type SessionRetention struct {
	// Whether old recordings are removed at all.
	Enabled bool `json:"enabled" set:"project=trusted,default=true"`
	// The age beyond which recordings are removed, as 30d: hours h, days d, weeks w, months m of 30 days.
	MaxAge string `json:"maxAge" jsonschema:"pattern=^([0-9]+[hdwm])?$" set:"project=trusted,default=30d"`
	// How many recordings are kept. 0: any number.
	MaxCount int `json:"maxCount" jsonschema:"minimum=0" set:"project=trusted"`
	// The age below which no recording is removed, in the form of maxAge.
	MinRetention string `json:"minRetention" jsonschema:"pattern=^([0-9]+[hdwm])?$" set:"project=trusted,default=1d"`
}

// Output are settings of what a run without a terminal prints.
type Output struct {
	// The form in which the answer to one prompt is printed.
	Format string `json:"format" jsonschema:"enum=text,enum=json,enum=stream-json" set:"project=free,default=text"`
}

// UI are settings of the terminal.
type UI struct {
	// The name of a colour theme: default (light or dark, as the terminal is), light, dark, ansi (the terminal's
	// own sixteen colours), none. Empty: default.
	Theme string `json:"theme" set:"project=free"`
	// Whether something moves on the screen while fettle works. Without, slow terminals have less to draw.
	Animations bool `json:"animations" set:"project=free,default=true"`
	// How much of an error is shown.
	ErrorVerbosity string        `json:"errorVerbosity" jsonschema:"enum=low,enum=full" set:"project=trusted,unused,default=low"`
	Accessibility  Accessibility `json:"accessibility"`
}

// Accessibility are settings for people who do not see the screen.
type Accessibility struct {
	// Whether a session at the terminal is plain text in reading order, as with --plain.
	ScreenReader bool `json:"screenReader" set:"project=free"`
}

// Model are settings of the model and of turns with it.
type Model struct {
	// The model. auto: the program's choice.
	Name string `json:"name" jsonschema:"minLength=1" set:"project=trusted,env=MODEL,default=auto"`
	// How many turns a session may have. -1: any number.
	MaxSessionTurns int `json:"maxSessionTurns" jsonschema:"minimum=-1" set:"project=lower,default=-1"`
	// How many tokens a request may have. 0: what the model is known to take.
	TokenLimit int `json:"tokenLimit" jsonschema:"minimum=0,maximum=1000000000" set:"project=lower"`
	// How full the model's context may be before the conversation is compressed, as a share from 0 to 1.
	CompressionThreshold float64 `json:"compressionThreshold" jsonschema:"minimum=0,maximum=1" set:"project=trusted,default=0.5"`
	// Whether a model that repeats itself is not stopped.
	DisableLoopDetection bool `json:"disableLoopDetection" set:"project=false"`
	// Whether the model is not asked who speaks next.
	SkipNextSpeakerCheck bool `json:"skipNextSpeakerCheck" set:"project=trusted,unused,default=true"`
	// By tool name, into how many tokens of summary its output is turned before the model sees it.
	SummarizeToolOutput map[string]Summary `json:"summarizeToolOutput" set:"project=trusted,cut=1,unused"`
}

// Summary says how a tool's output is summarised.
type Summary struct {
	// How many tokens the summary may have. 0: the program's choice.
	TokenBudget int `json:"tokenBudget,omitempty" jsonschema:"minimum=0,maximum=1000000000"`
}

// Context are settings of what the model is told of the project.
type Context struct {
	// Names of the files that steer the model, or one name. None: the layout's, as FETTLE.md, and AGENTS.md.
	FileName []string `json:"fileName" set:"project=trusted,single"`
	// How imports in such files are shown.
	ImportFormat string `json:"importFormat" jsonschema:"enum=tree,enum=flat" set:"project=trusted,default=tree"`
	// Whether the model is told the names of the project's files.
	IncludeDirectoryTree bool `json:"includeDirectoryTree" set:"project=trusted,unused,default=true"`
	// How many directories are looked through for such files.
	DiscoveryMaxDirs int `json:"discoveryMaxDirs" jsonschema:"minimum=0" set:"project=lower,unused,default=200"`
	// Names that, where a directory holds one, end the search for such files upwards. None: only the directory itself.
	MemoryBoundaryMarkers []string `json:"memoryBoundaryMarkers" set:"project=trusted,default=.git"`
	// Further directories that the tools may touch. One that is not there is left out, with a warning.
	IncludeDirectories []string `json:"includeDirectories" set:"merge=concat,project=trusted,outside"`
	// Whether those directories' context files are loaded as well.
	LoadMemoryFromIncludeDirectories bool          `json:"loadMemoryFromIncludeDirectories" set:"project=trusted,unused"`
	FileFiltering                    FileFiltering `json:"fileFiltering"`
}

// FileFiltering says which files are found by search tools and lists (CF-04).
type FileFiltering struct {
	// Whether what git ignores is left out: by .gitignore files, those above a project that is part of a repository
	// included, and by .git/info/exclude. core.excludesFile and ~/.config/git/ignore are not read.
	RespectGitIgnore bool `json:"respectGitIgnore" set:"project=true,default=true"`
	// Whether what the layout's own ignore file names, as .fettleignore, is left out.
	RespectFettleIgnore bool `json:"respectFettleIgnore" set:"project=true,default=true"`
	// Further ignore files, absolute or relative to the project. The first goes before the next, and all before .gitignore.
	CustomIgnoreFilePaths []string `json:"customIgnoreFilePaths" set:"merge=union,project=add"`
	// How many files one answer lists.
	MaxFileCount int `json:"maxFileCount" jsonschema:"minimum=1" set:"project=lower,default=20000"`
	// Whether the directories of the project are watched, so that completion of file names is quick.
	EnableFileWatcher bool `json:"enableFileWatcher" set:"project=trusted,unused"`
	// Whether completion of file names looks into directories below.
	EnableRecursiveFileSearch bool `json:"enableRecursiveFileSearch" set:"project=trusted,unused,default=true"`
	// Whether completion of file names takes letters that are not side by side.
	EnableFuzzySearch bool `json:"enableFuzzySearch" set:"project=trusted,unused,default=true"`
}

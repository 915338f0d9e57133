package settings

// Security contains settings that protect the user's machine and data.
type Security struct {
	// Whether the approval mode yolo is refused.
	DisableYoloMode bool `json:"disableYoloMode" set:"project=true"`
	// Whether approvals apply to one call only. Permanent approvals given before
	// are ignored.
	DisableAlwaysAllow bool `json:"disableAlwaysAllow" set:"project=true"`
	// Whether approvals can be saved for later sessions.
	EnablePermanentToolApproval bool `json:"enablePermanentToolApproval" set:"project=false,default=true"`
	// Whether saving is the first choice offered.
	AutoAddToPolicyByDefault bool `json:"autoAddToPolicyByDefault" set:"project=false,unused"`
	// Whether installing extensions from a repository is forbidden.
	BlockGitExtensions bool `json:"blockGitExtensions" set:"project=true"`
	// Regular expressions of the addresses from which extensions may be
	// installed. None: any.
	AllowedExtensions []string    `json:"allowedExtensions" set:"project=trusted"`
	FolderTrust       FolderTrust `json:"folderTrust"`
	// Which environment variables are withheld from commands.
	EnvironmentVariableRedaction Redaction `json:"environmentVariableRedaction"`
}

// FolderTrust contains settings of trusted directories.
type FolderTrust struct {
	// Whether directories are untrusted until the user trusts them. Otherwise all
	// directories are trusted unless the user has marked them as untrusted. A
	// project's own file cannot set it.
	Enabled bool `json:"enabled" set:"project=never,default=true"`
}

// Redaction selects the environment variables withheld from commands.
type Redaction struct {
	// Whether variables that look secret, by their name or by the beginning of
	// their value, are withheld from commands.
	Enabled bool `json:"enabled" set:"project=true"`
	// Variables that are passed to commands in spite of that.
	Allowed []string `json:"allowed" set:"project=trusted"`
	// Further variables to withhold from commands, even if they are allowed.
	Blocked []string `json:"blocked" set:"project=add"`
}

// Advanced contains rarely used settings.
type Advanced struct {
	// Variables that are not read from a project's plain .env file.
	ExcludedEnvVars []string `json:"excludedEnvVars" set:"merge=union,project=add,default=DEBUG|DEBUG_MODE"`
	// Whether plain .env files are read from the home directory only.
	IgnoreLocalEnv bool `json:"ignoreLocalEnv" set:"project=true"`
}

// Telemetry contains settings for recording data about a session for its owner.
// In a file it may also be a single value, which sets enabled.
type Telemetry struct {
	// Whether events and metrics are recorded.
	Enabled bool `json:"enabled" set:"project=trusted,env=TELEMETRY_ENABLED"`
	// Whether traces are recorded too.
	Traces bool `json:"traces" set:"project=trusted,env=TELEMETRY_TRACES_ENABLED"`
	// The destination.
	Target string `json:"target" jsonschema:"enum=local,enum=gcp" set:"project=trusted,env=TELEMETRY_TARGET,unused,default=local"`
	// The address of a collector.
	OTLPEndpoint string `json:"otlpEndpoint" set:"project=trusted,env=TELEMETRY_OTLP_ENDPOINT,unused,default=http://localhost:4317"`
	// The protocol of the collector.
	OTLPProtocol string `json:"otlpProtocol" jsonschema:"enum=grpc,enum=http" set:"project=trusted,env=TELEMETRY_OTLP_PROTOCOL,unused,default=grpc"`
	// Whether content is recorded as well: prompts, answers, arguments and
	// results, with secrets masked. It has an effect only if it is set
	// explicitly.
	LogPrompts bool `json:"logPrompts" set:"project=trusted,env=TELEMETRY_LOG_PROMPTS,default=true"`
	// The output file, absolute or relative to the project. Without it nothing is
	// recorded.
	Outfile string `json:"outfile" set:"project=trusted,env=TELEMETRY_OUTFILE"`
	// Whether an external collector is used.
	UseCollector bool `json:"useCollector" set:"project=trusted,env=TELEMETRY_USE_COLLECTOR,unused"`
	// Whether the user's own sign-in is used for it.
	UseCLIAuth bool `json:"useCliAuth" set:"project=trusted,env=TELEMETRY_USE_CLI_AUTH,unused"`
}

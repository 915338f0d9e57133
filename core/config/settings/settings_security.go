package settings

// Security are settings that protect the person's machine and data.
type Security struct {
	// Whether the approval mode yolo is refused.
	DisableYoloMode bool `json:"disableYoloMode" set:"project=true"`
	// Whether nothing can be approved for longer than one call. What was approved for good before does not count either.
	DisableAlwaysAllow bool `json:"disableAlwaysAllow" set:"project=true"`
	// Whether approvals can be saved for later sessions.
	EnablePermanentToolApproval bool `json:"enablePermanentToolApproval" set:"project=false,default=true"`
	// Whether saving is what is offered first.
	AutoAddToPolicyByDefault bool `json:"autoAddToPolicyByDefault" set:"project=false,unused"`
	// Whether extensions cannot be installed from a repository.
	BlockGitExtensions bool `json:"blockGitExtensions" set:"project=true"`
	// Regular expressions of the addresses that extensions may be installed from. None: any.
	AllowedExtensions []string    `json:"allowedExtensions" set:"project=trusted"`
	FolderTrust       FolderTrust `json:"folderTrust"`
	// Which environment variables commands are not given.
	EnvironmentVariableRedaction Redaction `json:"environmentVariableRedaction"`
}

// FolderTrust are settings of trusted directories.
type FolderTrust struct {
	// Whether directories are not trusted until somebody says so. If not, all are that nobody has called untrusted. The
	// project's own file has no say.
	Enabled bool `json:"enabled" set:"project=never,default=true"`
}

// Redaction says which environment variables commands are not given.
type Redaction struct {
	// Whether variables that look secret, by their name or by how their value begins, are kept from commands.
	Enabled bool `json:"enabled" set:"project=true"`
	// Variables that commands are given all the same.
	Allowed []string `json:"allowed" set:"project=trusted"`
	// Further variables to keep from commands, even if they are allowed.
	Blocked []string `json:"blocked" set:"project=add"`
}

// Advanced are settings that few people need.
type Advanced struct {
	// Variables that are not taken from a project's plain .env file.
	ExcludedEnvVars []string `json:"excludedEnvVars" set:"merge=union,project=add,default=DEBUG|DEBUG_MODE"`
	// Whether plain .env files are read from the home directory only.
	IgnoreLocalEnv bool `json:"ignoreLocalEnv" set:"project=true"`
}

// Telemetry are settings of what is recorded about a session, for its owner. In
// a file it may also be given as one value, which is enabled.
type Telemetry struct {
	// Whether events and metrics are recorded.
	Enabled bool `json:"enabled" set:"project=trusted,env=TELEMETRY_ENABLED"`
	// Whether traces are recorded too.
	Traces bool `json:"traces" set:"project=trusted,env=TELEMETRY_TRACES_ENABLED"`
	// Where they go.
	Target string `json:"target" jsonschema:"enum=local,enum=gcp" set:"project=trusted,env=TELEMETRY_TARGET,unused,default=local"`
	// The address of a collector.
	OTLPEndpoint string `json:"otlpEndpoint" set:"project=trusted,env=TELEMETRY_OTLP_ENDPOINT,unused,default=http://localhost:4317"`
	// How the collector is spoken to.
	OTLPProtocol string `json:"otlpProtocol" jsonschema:"enum=grpc,enum=http" set:"project=trusted,env=TELEMETRY_OTLP_PROTOCOL,unused,default=grpc"`
	// Whether what is said is recorded as well: prompts, answers, arguments and results, with secrets masked. It counts
	// only where somebody sets it.
	LogPrompts bool `json:"logPrompts" set:"project=trusted,env=TELEMETRY_LOG_PROMPTS,default=true"`
	// The file that is written, absolute or relative to the project. Without it nothing is recorded.
	Outfile string `json:"outfile" set:"project=trusted,env=TELEMETRY_OUTFILE"`
	// Whether an external collector is used.
	UseCollector bool `json:"useCollector" set:"project=trusted,env=TELEMETRY_USE_COLLECTOR,unused"`
	// Whether the person's own sign-in is used for it.
	UseCLIAuth bool `json:"useCliAuth" set:"project=trusted,env=TELEMETRY_USE_CLI_AUTH,unused"`
}

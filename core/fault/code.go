package fault

// Code is the class of an [Error], the error.type of every result. Codes are
// API: added, never renamed or reused.
type Code string

// Codes about a call as a whole.
const (
	Unknown            Code = "unknown"
	UnhandledException Code = "unhandled_exception" // a defect: a panic, or an error without a class
	InvalidToolParams  Code = "invalid_tool_params"
	ToolNotRegistered  Code = "tool_not_registered"
	PolicyViolation    Code = "policy_violation"
	ExecutionFailed    Code = "execution_failed"
	DeniedByUser       Code = "denied_by_user"
	NobodyToAsk        Code = "nobody_to_ask"           // a confirmation is due and no front end can answer
	NotRemembered      Code = "approval_not_remembered" // an "always" that no rule can hold (AR-21)
	Cancelled          Code = "cancelled"               // the context ended
	StopExecution      Code = "stop_execution"          // a step before the call ended the turn
	ShellExecuteError  Code = "shell_execute_error"     // a command could not be started, or was ended by a limit
	NotInitialized     Code = "not_initialized"
	InvalidConfig      Code = "invalid_config"   // construction parameters that cannot be used
	UntrustedFolder    Code = "untrusted_folder" // refused because the folder is recorded as untrusted (CF-09)
	ModelError         Code = "model_error"      // a model's provider failed; the reason is the kind of failure
	LimitReached       Code = "limit_reached"    // a limit on turns, time or tokens ended the work
	LoopDetected       Code = "loop_detected"    // a model repeated itself
	InvalidStream      Code = "invalid_stream"   // a model's answer cannot be used, as often as it was asked
	SessionNotFound    Code = "session_not_found"
	SessionUnreadable  Code = "session_unreadable" // a recording cannot be read or written
	AgentFailed        Code = "agent_execution_error"
	CheckpointFailed   Code = "checkpoint_failed"    // what files held cannot be kept, or was not kept whole
	CheckpointNotFound Code = "checkpoint_not_found" // there is no such turn or call
	RestoreRefused     Code = "restore_refused"      // work that came later would be lost, or what is needed was not kept
)

// Codes about files and folders.
const (
	FileNotFound         Code = "file_not_found"
	FileWriteFailure     Code = "file_write_failure"
	ReadContentFailure   Code = "read_content_failure"
	FileTooLarge         Code = "file_too_large"
	PermissionDenied     Code = "permission_denied"
	NoSpaceLeft          Code = "no_space_left"
	TargetIsDirectory    Code = "target_is_directory"
	PathNotInWorkspace   Code = "path_not_in_workspace"
	PathIsNotADirectory  Code = "path_is_not_a_directory"
	NotARegularFile      Code = "not_a_regular_file"
	LSExecutionError     Code = "ls_execution_error"
	GlobExecutionError   Code = "glob_execution_error"
	GrepExecutionError   Code = "grep_execution_error"
	ReadManyFilesSearch  Code = "read_many_files_search_error"
	AttemptToCreateExist Code = "attempt_to_create_existing_file"
)

// Codes about what other tools reach.
const (
	WebFetchProcessing   Code = "web_fetch_processing_error"
	WebSearchFailed      Code = "web_search_failed"
	MemoryToolExecution  Code = "memory_tool_execution_error"
	DiscoveredToolFailed Code = "discovered_tool_execution_error"
	MCPToolError         Code = "mcp_tool_error"         // an MCP server answered with an error
	MCPServerUnavailable Code = "mcp_server_unavailable" // it cannot be reached, or was lost
	MCPSignInRequired    Code = "mcp_sign_in_required"   // it wants to know first who asks
	MCPResourceNotFound  Code = "mcp_resource_not_found"
)

// Codes about verified file state and changes.
const (
	EditRequiresPriorRead       Code = "edit_requires_prior_read"
	FileChangedSinceRead        Code = "file_changed_since_read"
	PriorReadVerificationFailed Code = "prior_read_verification_failed"
	BaseHashRequired            Code = "base_hash_required"
	InvalidDiff                 Code = "invalid_diff"
	AmbiguousDiff               Code = "ambiguous_diff"
	PatchApplyFailed            Code = "patch_apply_failed"
	EditNoOccurrenceFound       Code = "edit_no_occurrence_found"
	EditOccurrenceMismatch      Code = "edit_expected_occurrence_mismatch"
	EditNoChange                Code = "edit_no_change"
	EditPreparationFailure      Code = "edit_preparation_failure"
)

// Reason narrows a [Code] (PR-25). Reasons are API like codes.
type Reason string

// Reasons of the prior-read decision and the commit step.
const (
	NeverRead     Reason = "never_read"
	PartialRead   Reason = "partial_read"
	NonText       Reason = "non_text"
	SpecialFile   Reason = "special_file"
	Changed       Reason = "changed"
	Disappeared   Reason = "disappeared"
	Unverifiable  Reason = "unverifiable"
	NoSession     Reason = "no_session"     // nothing that was read is remembered, so that only a hash proves
	LaterWork     Reason = "later_work"     // a change that came later would be lost with an earlier one
	NotKept       Reason = "not_kept"       // the content to go back to was never kept
	OpenElsewhere Reason = "open_elsewhere" // another program holds the file open for writing (FS-59)
)

// Reasons of commands that were ended.
const (
	IdleLimit  Reason = "idle_limit"  // it printed nothing for too long
	TotalLimit Reason = "total_limit" // it ran for too long
)

// PrivateAddress is the reason of a web request that was refused because its
// host is at a private or loopback address.
const PrivateAddress Reason = "private_address"

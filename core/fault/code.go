package fault

// Code is the class of an [Error]; results carry it as error.type. Codes are API: they are added, never renamed or
// reused. docs/reference/errors.md is generated from the comments below: first the meaning, then, after "Remedy:", the
// usual next step. The remedy of an error itself is specific to its case.
type Code string

// Codes about a call as a whole.
const (
	// The error has no class. The tools of fettle never return it; telemetry and CodeOf use it for errors of other
	// packages.
	// Remedy: read the message.
	Unknown Code = "unknown"
	// An internal error: a tool panicked or returned an error without a code. Only this call has ended.
	// Remedy: report it, with the stack from the log of --debug-file. Other arguments may work.
	UnhandledException Code = "unhandled_exception"
	// The arguments violate the schema or the rules of the tool. From the program: the command line is invalid.
	// Remedy: correct the arguments. The message holds the path, the expected value and that part of the schema.
	InvalidToolParams Code = "invalid_tool_params"
	// No tool of that name is registered in this session: the name is misspelled, settings or flags exclude the tool, or
	// its server is not connected.
	// Remedy: use a tool from the list (fettle tools). The message names the setting that excludes it, or similar names.
	ToolNotRegistered Code = "tool_not_registered"
	// A policy rule denies the call, or a setting forbids it.
	// Remedy: use another approach, or change the rule that the message names. fettle policy check explains the
	// decision.
	PolicyViolation Code = "policy_violation"
	// A program that fettle ran failed, such as git while an extension was fetched.
	// Remedy: read the output of the program in the message.
	ExecutionFailed Code = "execution_failed"
	// The user denied the call. The result includes the user's feedback.
	// Remedy: follow the feedback, and do not request the same call again.
	DeniedByUser Code = "denied_by_user"
	// An approval or an answer is required, and no front end is connected to give it.
	// Remedy: run the program at a terminal, or allow the call beforehand with the flag or rule that the message names.
	NoApprover Code = "nobody_to_ask"
	// A lasting approval could not be stored: no rule can express it, or saving is not possible. The call itself has
	// run.
	// Remedy: approve each call, or write the rule by hand.
	NotRemembered Code = "approval_not_remembered"
	// The context of the call ended: the user pressed Ctrl-C, the client disconnected, or the session closed.
	// Remedy: none is needed. Files are unchanged unless the message reports otherwise.
	Cancelled Code = "cancelled"
	// A hook or a middleware of the embedding program ended the turn.
	// Remedy: stop, and report the message to the user.
	StopExecution Code = "stop_execution"
	// A command could not be started, or a limit ended it.
	// Remedy: check the command and its directory, do less in one call, or start it in the background.
	ShellExecuteError Code = "shell_execute_error"
	// A Config, or a part of it, is used before Initialize or after Close.
	// Remedy: correct the embedding program: call Initialize first, and make no calls after Close.
	NotInitialized Code = "not_initialized"
	// Invalid parameters, settings, files or flags: a path that is not a directory, a model without a key, an invalid
	// value.
	// Remedy: correct the entry that the message names. fettle config validate lists all problems.
	InvalidConfig Code = "invalid_config"
	// A command or an action is not possible in a fork on this system or in this directory.
	// Remedy: set fork.copy to true, so that the fork is a copy of the directories.
	ForkUnsupported Code = "fork_unsupported"
	// The directory is recorded as untrusted, and the request requires trust, such as the approval mode yolo.
	// Remedy: run fettle trust if you trust the content of the directory, or use another approval mode.
	UntrustedFolder Code = "untrusted_folder"
	// The model provider failed or refused the request, after all retries. The reason is the kind of failure.
	// Remedy: depending on the reason, wait, check the key, or use another model.
	ModelError Code = "model_error"
	// A limit on requests, time, length or stored data was reached.
	// Remedy: continue with a new prompt, raise the limit that the message names, or shorten the conversation.
	LimitReached Code = "limit_reached"
	// The model repeated the same call or the same text.
	// Remedy: describe the obstacle, or ask for something else.
	LoopDetected Code = "loop_detected"
	// The responses of the model were empty, malformed or blocked, after all retries.
	// Remedy: rephrase the prompt, or use another model.
	InvalidStream Code = "invalid_stream"
	// No recorded session matches the given id, index or prefix.
	// Remedy: choose a session from fettle sessions list.
	SessionNotFound Code = "session_not_found"
	// A recording cannot be read or written: it is damaged, another process holds it, or its directory is not
	// accessible.
	// Remedy: end the other process, or start a new session. The message names the file.
	SessionUnreadable Code = "session_unreadable"
	// A local or remote subagent ended without a report. The result holds its output and the files it changed.
	// Remedy: give it a smaller or clearer task, or do the task without it.
	AgentFailed Code = "agent_execution_error"
	// The content of files before a change could not be stored, or a stored checkpoint is incomplete.
	// Remedy: repair the directory that the message names. Until then fettle cannot undo changes.
	CheckpointFailed Code = "checkpoint_failed"
	// No turn or call with a checkpoint matches the request.
	// Remedy: list the checkpoints with fettle restore.
	CheckpointNotFound Code = "checkpoint_not_found"
	// Undoing the change would discard later work, or its checkpoint is missing. Nothing was changed.
	// Remedy: undo the later change first, or restore the other files. The message names both.
	RestoreRefused Code = "restore_refused"
)

// Codes about files and directories.
const (
	// No file or directory exists at the path.
	// Remedy: list the directory, or search for the name.
	FileNotFound Code = "file_not_found"
	// The new content could not be written, or could not be kept in place. The message states the content on disk.
	// Remedy: as the message states, wait for the other program, free space, or read the file again.
	FileWriteFailure Code = "file_write_failure"
	// A file could not be read: a disk error, or an unsupported format.
	// Remedy: check that the file exists and is readable. Use a command for an unusual format.
	ReadContentFailure Code = "read_content_failure"
	// The file, or the data to store or send, exceeds the size limit.
	// Remedy: read a range with offset and limit, or use a command.
	FileTooLarge Code = "file_too_large"
	// The operating system denies this user access to the file.
	// Remedy: change its mode or owner, or name another file. fettle does not bypass file permissions.
	PermissionDenied Code = "permission_denied"
	// The disk or the quota is full. The file is unchanged.
	// Remedy: free space, then repeat the call.
	NoSpaceLeft Code = "no_space_left"
	// The path is a directory; a file was expected.
	// Remedy: name a file in it. list_directory shows its entries.
	TargetIsDirectory Code = "target_is_directory"
	// The path, after following symbolic links, is outside of the session's directories.
	// Remedy: name a path inside, or add the directory with --include-directories.
	PathNotInWorkspace Code = "path_not_in_workspace"
	// The path is not a directory, or one of its parents is a file; a directory was expected.
	// Remedy: name a directory. read_file reads files.
	PathIsNotADirectory Code = "path_is_not_a_directory"
	// The path is a pipe, a socket or a device.
	// Remedy: name a regular file, or use a command to read the stream.
	NotARegularFile Code = "not_a_regular_file"
	// A directory could not be listed.
	// Remedy: read the message, or list the parent directory.
	LSExecutionError Code = "ls_execution_error"
	// The search for file names failed.
	// Remedy: read the message, or use a simpler pattern or another directory.
	GlobExecutionError Code = "glob_execution_error"
	// The search in files failed.
	// Remedy: read the message, or use a simpler pattern or another directory.
	GrepExecutionError Code = "grep_execution_error"
	// The files to read could not be determined.
	// Remedy: name the files one by one.
	ReadManyFilesSearch Code = "read_many_files_search_error"
	// The target already exists: a file of the same name, or an extension.
	// Remedy: read and change the existing one, or choose another name.
	AttemptToCreateExist Code = "attempt_to_create_existing_file"
)

// Codes about web pages, discovered tools and MCP servers.
const (
	// A page could not be fetched or converted to text.
	// Remedy: check the address. Private addresses are fetched only if settings allow it.
	WebFetchProcessing Code = "web_fetch_processing_error"
	// The search service failed or refused the request.
	// Remedy: try again later, or fetch a known page.
	WebSearchFailed Code = "web_search_failed"
	// A fact could not be saved in the user's context file.
	// Remedy: ask the user to check the file that the message names.
	MemoryToolExecution Code = "memory_tool_execution_error"
	// A discovered tool, which is a program of the project, failed or returned an invalid result.
	// Remedy: read its output, then correct the arguments or the program.
	DiscoveredToolFailed Code = "discovered_tool_execution_error"
	// An MCP server answered the call with an error.
	// Remedy: read the error, and correct the arguments.
	MCPToolError Code = "mcp_tool_error"
	// An MCP server is not reachable, or disconnected during a call.
	// Remedy: diagnose the server with fettle mcp test NAME. Check the effects of the call before repeating it.
	MCPServerUnavailable Code = "mcp_server_unavailable"
	// An MCP server requires sign-in.
	// Remedy: run fettle mcp auth NAME.
	MCPSignInRequired Code = "mcp_sign_in_required"
	// No MCP server has the resource.
	// Remedy: list the resources, and choose one of them.
	MCPResourceNotFound Code = "mcp_resource_not_found"
)

// Codes about verified file state and changes.
const (
	// The conversation has not read the whole file, or the file cannot be edited as text. The reason says which.
	// Remedy: read the whole file, then repeat the change.
	EditRequiresPriorRead Code = "edit_requires_prior_read"
	// The file has changed since the content that the change is based on was read. The result holds the current state
	// unless it may not be shown.
	// Remedy: compute the change again from the state in the result, and pass its hash.
	FileChangedSinceRead Code = "file_changed_since_read"
	// The prior read could not be verified, because the state of the file is not accessible.
	// Remedy: check the path and its permissions, then read the file.
	PriorReadVerificationFailed Code = "prior_read_verification_failed"
	// Overwriting an existing file requires the hash of its content.
	// Remedy: pass base_content_sha256 of the newest state object; read the file if there is none.
	BaseHashRequired Code = "base_hash_required"
	// The text is not a valid unified diff of this file: it cannot be parsed, or its lines are not in the file.
	// Remedy: compare context and removed lines with the content in the result, character by character.
	InvalidDiff Code = "invalid_diff"
	// A hunk matches several places in the file.
	// Remedy: add unchanged lines around the change until only one place matches.
	AmbiguousDiff Code = "ambiguous_diff"
	// The corrected diff could not be applied.
	// Remedy: read the file again and create a new diff, or write the whole file.
	PatchApplyFailed Code = "patch_apply_failed"
	// The text to replace is not in the file.
	// Remedy: copy it from the content in the result, including white space.
	EditNoOccurrenceFound Code = "edit_no_occurrence_found"
	// The text to replace occurs more or fewer times than stated.
	// Remedy: include more of the surrounding text, or state the number of occurrences.
	EditOccurrenceMismatch Code = "edit_expected_occurrence_mismatch"
	// The change would leave the file unchanged.
	// Remedy: none is needed if the file already has the wanted content; otherwise send another change.
	EditNoChange Code = "edit_no_change"
	// A change could not be prepared. The tools of fettle return more specific codes; this one is for tools of other
	// programs.
	// Remedy: read the message.
	EditPreparationFailure Code = "edit_preparation_failure"
)

// Reason narrows a [Code]. Reasons are API like codes. Other packages define further reasons next to the code that
// returns them.
type Reason string

// Reasons of prior-read checks and of commits.
const (
	NeverRead      Reason = "never_read"       // the conversation has not read the file
	PartialRead    Reason = "partial_read"     // it has read only part of the file
	NonText        Reason = "non_text"         // the file is not text, so it has no hash
	SpecialFile    Reason = "special_file"     // it is a pipe, a socket or a device
	Changed        Reason = "changed"          // the file differs from the version that was read, planned or approved
	Disappeared    Reason = "disappeared"      // the file was read, and no longer exists
	Unverifiable   Reason = "unverifiable"     // the operating system did not report the state of the file
	NoSession      Reason = "no_session"       // no session records reads, so only a hash can verify the file
	LaterWork      Reason = "later_work"       // undoing this change would discard a later one
	NotKept        Reason = "not_kept"         // the previous content was not stored
	OpenElsewhere  Reason = "open_elsewhere"   // another program has the file open for writing
	NothingToRetry Reason = "nothing_to_retry" // the retry token was used, or was not offered for this state of the file
)

// Reasons of commands that were ended.
const (
	IdleLimit  Reason = "idle_limit"  // no output for longer than the limit
	TotalLimit Reason = "total_limit" // the command ran longer than the limit
)

// PrivateAddress is the reason of a web request that was refused because its host is at a private or loopback address.
const PrivateAddress Reason = "private_address"

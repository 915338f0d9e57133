package fault

// Code is the class of an [Error], the error.type of every result. Codes are
// API: added, never renamed or reused. docs/reference/errors.md is written from
// the comments below: what happened, and behind "Remedy:" what usually helps. The
// error itself says it for its case.
type Code string

// Codes about a call as a whole.
const (
	// An error has no class of its own. None of fettle's tools gives it; telemetry and CodeOf do for errors of other programs.
	// Remedy: read the message.
	Unknown Code = "unknown"
	// A defect: a tool panicked, or returned an error that has no class. Only this call has ended.
	// Remedy: report it; the log of --debug-file has the stack. Other arguments may work.
	UnhandledException Code = "unhandled_exception"
	// Arguments do not fit the tool's schema or its own rules; of the program: the command line cannot be understood.
	// Remedy: send arguments that fit. The message holds the path, what was expected, and that part of the schema.
	InvalidToolParams Code = "invalid_tool_params"
	// There is no tool of that name in this session: it is misspelled, left out by settings or flags, or of a server that is not connected.
	// Remedy: use a tool of the list (fettle tools); the message names what left it out, or names that are near.
	ToolNotRegistered Code = "tool_not_registered"
	// A rule denies it, or a setting forbids it.
	// Remedy: do it in another way, or change the rule that the message names; fettle policy check explains the decision.
	PolicyViolation Code = "policy_violation"
	// Something that had to be run did not end well, as git when an extension is fetched.
	// Remedy: read what it said; the message holds it.
	ExecutionFailed Code = "execution_failed"
	// A person was asked and said no. What the person said goes with it.
	// Remedy: do as the person says; do not ask the same again.
	DeniedByUser Code = "denied_by_user"
	// A confirmation or a question is due, and no front end is there to answer.
	// Remedy: run it at a terminal, or allow it beforehand by the flag or the rule that the message names.
	NobodyToAsk Code = "nobody_to_ask"
	// A yes that was meant to last cannot be kept: no rule can hold it, or saving is not possible (AR-21). The call itself has run.
	// Remedy: approve each time, or write the rule by hand.
	NotRemembered Code = "approval_not_remembered"
	// The context of the call ended: somebody pressed Ctrl-C, the client went, or the session closed.
	// Remedy: none is needed. A file is as it was, unless the message says more.
	Cancelled Code = "cancelled"
	// A hook, or a step of the embedding program, has ended the turn.
	// Remedy: do not go on; tell the person what the message says.
	StopExecution Code = "stop_execution"
	// A command could not be started, or was ended by a limit.
	// Remedy: check the command and its directory; do less at once, or start it in the background.
	ShellExecuteError Code = "shell_execute_error"
	// A Config, or a part of it, is used before Initialize or after Close.
	// Remedy: a mistake of the embedding program: call Initialize first, and nothing after Close.
	NotInitialized Code = "not_initialized"
	// Parameters, settings, files or flags that no session can be made of: a directory that is none, a model without a key, a value that cannot be used.
	// Remedy: mend what the message names; fettle config validate finds the rest.
	InvalidConfig Code = "invalid_config"
	// The directory is recorded as untrusted, and what was asked for needs trust, as the approval mode yolo (CF-09).
	// Remedy: fettle trust, if you trust what is in the directory; else another approval mode.
	UntrustedFolder Code = "untrusted_folder"
	// The model's provider failed or refused, as often as it made sense to ask. The reason is the kind of failure.
	// Remedy: by the reason: wait, check the key, or use another model.
	ModelError Code = "model_error"
	// A limit on requests, time, length or what is kept was reached.
	// Remedy: go on with a new prompt, raise the limit that the message names, or shorten the conversation.
	LimitReached Code = "limit_reached"
	// The model has made the same call, or said the same, again and again.
	// Remedy: say what is in the way, or ask for something else.
	LoopDetected Code = "loop_detected"
	// The model's answers were empty, broken or withheld, as often as it was asked.
	// Remedy: ask again, in another way, or use another model.
	InvalidStream Code = "invalid_stream"
	// No recorded session fits the id, index or beginning that was given.
	// Remedy: take one of fettle sessions list.
	SessionNotFound Code = "session_not_found"
	// A recording cannot be read or written: it is damaged, another process has it, or its directory is not usable.
	// Remedy: end the other process, or begin a new session; the message names the file.
	SessionUnreadable Code = "session_unreadable"
	// A subagent, here or at another server, ended without a report. The result holds what it said and which files it changed.
	// Remedy: give it a smaller or clearer piece of work, or do the work without it.
	AgentFailed Code = "agent_execution_error"
	// What files held before a change could not be kept, or what was kept is not whole.
	// Remedy: mend the directory that the message names. Until then changes cannot be taken back by fettle.
	CheckpointFailed Code = "checkpoint_failed"
	// There is no such turn or call to be taken back.
	// Remedy: fettle restore lists those that there are.
	CheckpointNotFound Code = "checkpoint_not_found"
	// Taking it back would lose work that came later, or what is needed for it was not kept. Nothing was changed.
	// Remedy: take back the later change first, or restore the other files; the message names both.
	RestoreRefused Code = "restore_refused"
)

// Codes about files and directories.
const (
	// There is no file or directory at the path.
	// Remedy: list the directory, or search for the name.
	FileNotFound Code = "file_not_found"
	// The new content could not be put in place, or not be kept in place. What is on the disk is as the message says.
	// Remedy: by the message: wait for the other program, free space, or read the file again.
	FileWriteFailure Code = "file_write_failure"
	// A file could not be read: an error of the disk, or a form that is not understood.
	// Remedy: check that it is there and readable; read it with a command, if it is in an unusual form.
	ReadContentFailure Code = "read_content_failure"
	// The file, or what is to be kept or sent, is above the limit.
	// Remedy: read a range by offset and limit, or use a command.
	FileTooLarge Code = "file_too_large"
	// The system does not let this user read or write it.
	// Remedy: change its mode or owner, or name another file. fettle does not get round a file's mode.
	PermissionDenied Code = "permission_denied"
	// The disk, or the quota, is full. The file is as it was.
	// Remedy: free space, and make the call again.
	NoSpaceLeft Code = "no_space_left"
	// A file was wanted, and the path is a directory.
	// Remedy: name a file in it; list_directory shows what it holds.
	TargetIsDirectory Code = "target_is_directory"
	// The path, once links are followed, leads out of the session's directories.
	// Remedy: name a path inside, or give the directory by --include-directories.
	PathNotInWorkspace Code = "path_not_in_workspace"
	// A directory was wanted, and the path is none, or runs through a file.
	// Remedy: name the directory; read_file reads a file.
	PathIsNotADirectory Code = "path_is_not_a_directory"
	// The path is a pipe, a socket or a device.
	// Remedy: name a regular file, or use a command if the stream itself is wanted.
	NotARegularFile Code = "not_a_regular_file"
	// A directory could not be listed.
	// Remedy: read the message; list the directory above it.
	LSExecutionError Code = "ls_execution_error"
	// Files could not be searched for by name.
	// Remedy: read the message; use a simpler pattern or another directory.
	GlobExecutionError Code = "glob_execution_error"
	// Files could not be searched.
	// Remedy: read the message; use a simpler pattern or another directory.
	GrepExecutionError Code = "grep_execution_error"
	// Which files to read could not be found out.
	// Remedy: name the files one by one.
	ReadManyFilesSearch Code = "read_many_files_search_error"
	// Something was to be made where something is already: a file of the same name, or an extension.
	// Remedy: read and change what is there, or take another name.
	AttemptToCreateExist Code = "attempt_to_create_existing_file"
)

// Codes about what other tools reach.
const (
	// A page could not be fetched, or no text be made of it.
	// Remedy: check the address. A private one is asked only where settings allow it.
	WebFetchProcessing Code = "web_fetch_processing_error"
	// The search service failed or refused.
	// Remedy: try again later, or fetch a page that is known.
	WebSearchFailed Code = "web_search_failed"
	// A fact could not be saved in the person's context file.
	// Remedy: ask the person to look at the file that the message names.
	MemoryToolExecution Code = "memory_tool_execution_error"
	// A program of the project, which a discovered tool is, failed or gave no usable answer.
	// Remedy: read what it printed; correct the arguments or the program.
	DiscoveredToolFailed Code = "discovered_tool_execution_error"
	// An MCP server answered the call with an error.
	// Remedy: read what it says, and correct the arguments.
	MCPToolError Code = "mcp_tool_error"
	// An MCP server cannot be reached, or was lost in the middle of a call.
	// Remedy: fettle mcp test NAME says what is wrong. Look at what the call has done before it is made again.
	MCPServerUnavailable Code = "mcp_server_unavailable"
	// An MCP server wants to know first who asks.
	// Remedy: fettle mcp auth NAME.
	MCPSignInRequired Code = "mcp_sign_in_required"
	// No MCP server has that resource.
	// Remedy: list the resources, and take one of them.
	MCPResourceNotFound Code = "mcp_resource_not_found"
)

// Codes about verified file state and changes.
const (
	// The conversation has not seen the file as a whole, or it is of a kind that is not changed as text. The reason says which.
	// Remedy: read the file whole, then make the change again.
	EditRequiresPriorRead Code = "edit_requires_prior_read"
	// The file is not what the change was worked out from. The result holds it as it is now, where it may be shown.
	// Remedy: work out the change anew from the state in the result, and quote its hash.
	FileChangedSinceRead Code = "file_changed_since_read"
	// Whether the file was read could not be found out, as its state cannot be looked at.
	// Remedy: check the path and its permissions, then read the file.
	PriorReadVerificationFailed Code = "prior_read_verification_failed"
	// An existing file was to be overwritten without the hash of what it holds (FS-52).
	// Remedy: pass base_content_sha256 of the newest state object; read the file if there is none.
	BaseHashRequired Code = "base_hash_required"
	// The text is no unified diff of this file: it cannot be parsed, or its lines are not in the file.
	// Remedy: compare context and removed lines with the content in the result, character by character.
	InvalidDiff Code = "invalid_diff"
	// A hunk fits the file in several places.
	// Remedy: give it more unchanged lines around the change, until one place is left.
	AmbiguousDiff Code = "ambiguous_diff"
	// The corrected diff could not be applied.
	// Remedy: read the file again and make the diff anew, or write the whole file.
	PatchApplyFailed Code = "patch_apply_failed"
	// The text to be replaced is not in the file.
	// Remedy: copy it from the content in the result, blanks included.
	EditNoOccurrenceFound Code = "edit_no_occurrence_found"
	// The text to be replaced is in the file more or less often than was said.
	// Remedy: take in more of what stands around it, or say how often it is meant.
	EditOccurrenceMismatch Code = "edit_expected_occurrence_mismatch"
	// The change would leave the file as it is.
	// Remedy: none is needed, if the file already is as wanted; else say another change.
	EditNoChange Code = "edit_no_change"
	// A change could not be prepared. It is kept for other programs' tools; fettle's own say more exactly what went wrong.
	// Remedy: read the message.
	EditPreparationFailure Code = "edit_preparation_failure"
)

// Reason narrows a [Code] (PR-25). Reasons are API like codes; packages have
// more of them, each beside what gives it.
type Reason string

// Reasons of the prior-read decision and the commit step.
const (
	NeverRead     Reason = "never_read"     // the conversation has not read the file
	PartialRead   Reason = "partial_read"   // it has seen a part of the file only
	NonText       Reason = "non_text"       // the file is not text, so no hash of it was given
	SpecialFile   Reason = "special_file"   // it is a pipe, a socket or a device
	Changed       Reason = "changed"        // it is another one than was seen, planned or approved
	Disappeared   Reason = "disappeared"    // it was seen, and is not there any more
	Unverifiable  Reason = "unverifiable"   // the system did not say what state it is in
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

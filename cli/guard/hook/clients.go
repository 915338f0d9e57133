package hook

import (
	"maps"

	"github.com/fettle-dev/fettle/core/policy"
)

// event is what an event of a client means.
type event int

const (
	_        event = iota
	toolCall       // a call with the name and the arguments of a tool
	command        // a command line
	readFile       // a file that is read
	mcpCall        // a call of an MCP server's tool
	approval       // a call for which the client asks its user
	after          // not before a call: nothing can be decided
)

// support states whether a client can express an answer.
type support int

const (
	no support = iota
	yes
)

// client describes the hooks of a client.
type client struct {
	events map[string]event // by name
	// asks and grants are the events with an answer that asks the user, or that
	// allows. Elsewhere a question is a denial, and a permission is silence.
	asks, grants map[string]support
	variables    []string // environment variables with the project's directory
	tools        map[string]tool
	form         func(event string, v policy.Verdict, reason string) any
	silence      any  // the answer without an opinion; nil: none is printed
	blocksByJSON bool // a denial for an error is also printed
}

// clients returns the clients by name.
func clients() map[string]*client {
	claudeTools := claude()
	codexTools := maps.Clone(claudeTools)
	maps.Copy(codexTools, codex())
	cursorTools := maps.Clone(claudeTools)
	maps.Copy(cursorTools, cursor())
	return map[string]*client{
		"claude": {
			events:    map[string]event{"PreToolUse": toolCall, "PermissionRequest": approval},
			asks:      map[string]support{"PreToolUse": yes},
			grants:    map[string]support{"PreToolUse": yes, "PermissionRequest": yes},
			variables: []string{"CLAUDE_PROJECT_DIR"},
			tools:     claudeTools, form: claudeForm,
		},
		"codex": { // neither allow nor ask exists in its PreToolUse
			events: map[string]event{"PreToolUse": toolCall, "PermissionRequest": approval},
			grants: map[string]support{"PermissionRequest": yes},
			tools:  codexTools, form: claudeForm,
		},
		"gemini": {
			events:    map[string]event{"BeforeTool": toolCall},
			asks:      map[string]support{"BeforeTool": yes},
			grants:    map[string]support{"BeforeTool": yes},
			variables: []string{"GEMINI_PROJECT_DIR"},
			tools:     gemini(), form: geminiForm, silence: struct{}{},
		},
		"cursor": {
			events: map[string]event{
				"beforeShellExecution": command, "beforeMCPExecution": mcpCall, "beforeReadFile": readFile, "beforeTabFileRead": readFile,
				"preToolUse": toolCall, "afterFileEdit": after, "afterTabFileEdit": after,
			},
			asks:      map[string]support{"beforeShellExecution": yes, "beforeMCPExecution": yes},
			grants:    map[string]support{"beforeShellExecution": yes, "beforeMCPExecution": yes, "beforeReadFile": yes, "beforeTabFileRead": yes, "preToolUse": yes},
			variables: []string{"CURSOR_PROJECT_DIR"},
			tools:     cursorTools, form: cursorForm, silence: struct{}{}, blocksByJSON: true,
		},
	}
}

// word returns a verdict as clients spell it.
func word(v policy.Verdict) string {
	if v == policy.AskUser {
		return "ask"
	}
	return string(v)
}

// claudeForm is the answer of Claude Code, and of Codex.
func claudeForm(event string, v policy.Verdict, reason string) any {
	if event == "PermissionRequest" {
		decision := map[string]string{"behavior": word(v)}
		if v == policy.Deny {
			decision["message"] = reason
		}
		return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": event, "decision": decision}}
	}
	return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": event, "permissionDecision": word(v), "permissionDecisionReason": reason}}
}

func geminiForm(_ string, v policy.Verdict, reason string) any {
	return map[string]any{"decision": word(v), "reason": reason}
}

func cursorForm(_ string, v policy.Verdict, reason string) any {
	answer := map[string]any{"permission": word(v)}
	if v != policy.Allow {
		answer["user_message"], answer["agent_message"] = reason, reason
	}
	return answer
}

package hookrun

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// claudeTool is a tool as Claude Code knows it.
type claudeTool struct {
	name   string
	params map[string]string // names of arguments there, by those here
}

// claudeTools are the tools with a counterpart, by name.
var claudeTools = map[string]claudeTool{
	"run_shell_command":           {"Bash", map[string]string{"is_background": "run_in_background"}},
	"read_file":                   {"Read", nil},
	"read_many_files":             {"Read", nil},
	"write_file":                  {"Write", nil},
	"edit":                        {"Edit", nil},
	"replace":                     {"Edit", nil},
	"safe_patch":                  {"Edit", nil},
	"apply_patch":                 {"Edit", nil},
	"str_replace_based_edit_tool": {"Edit", map[string]string{"path": "file_path", "old_str": "old_string", "new_str": "new_string", "file_text": "content"}},
	"glob":                        {"Glob", map[string]string{"dir_path": "path"}},
	"search_file_content":         {"Grep", map[string]string{"dir_path": "path", "include_pattern": "glob"}},
	"grep_search":                 {"Grep", map[string]string{"dir_path": "path", "include_pattern": "glob"}},
	"list_directory":              {"LS", map[string]string{"dir_path": "path"}},
	"web_fetch":                   {"WebFetch", nil},
	"web_search":                  {"WebSearch", nil},
	"google_web_search":           {"WebSearch", nil},
	"write_todos":                 {"TodoWrite", nil},
	"activate_skill":              {"Skill", map[string]string{"name": "skill"}},
	"ask_user":                    {"AskUserQuestion", nil},
	"exit_plan_mode":              {"ExitPlanMode", nil},
	"enter_plan_mode":             {"EnterPlanMode", nil},
}

// claudeCall is a call in the form of Claude Code.
type claudeCall struct {
	name   string
	input  map[string]json.RawMessage
	tool   claudeTool
	partly bool // input does not show all files of the call

	derived []string // names in input that are no arguments here
}

// claudeCallOf translates a call.
func claudeCallOf(in hooks.Input, s Subject) claudeCall {
	args := membersOf(in.ToolInput)
	if args == nil {
		args = map[string]json.RawMessage{}
	}
	c := claudeCall{name: in.ToolName, input: map[string]json.RawMessage{}, tool: claudeTools[in.ToolName]}
	switch {
	case in.MCPContext != nil:
		c.name = "mcp__" + in.MCPContext.ServerName + "__" + in.MCPContext.ToolName
	case slices.Contains(s.Names, anyAgent):
		c.name, c.tool.params = "Task", map[string]string{"query": "prompt"}
		c.set("subagent_type", in.ToolName)
	case c.tool.name != "":
		c.name = c.tool.name
	}
	for name, value := range args {
		if theirs, ok := c.tool.params[name]; ok {
			name = theirs
		}
		c.input[name] = value
	}
	switch in.ToolName {
	case "safe_patch":
		before, after := sides(textOf(args["unified_diff"]))
		c.set("old_string", before)
		c.set("new_string", after)
	case "apply_patch":
		c.patch(args)
	case "str_replace_based_edit_tool":
		switch textOf(args["command"]) {
		case "create":
			c.name = "Write"
		case "view":
			c.name = "Read"
		}
	case "read_many_files":
		var paths []string
		_ = json.Unmarshal(args["paths"], &paths) // invalid arguments are refused later
		if len(paths) > 0 {
			c.set("file_path", paths[0])
		}
		c.partly = len(paths) != 1 || strings.ContainsAny(paths[0], "*?[{")
	}
	return c
}

func (c *claudeCall) set(name, value string) {
	if name != "subagent_type" {
		c.derived = append(c.derived, name)
	}
	c.input[name], _ = json.Marshal(value) // a text can be encoded
}

// lost reports whether changed input has a change that no argument of the call can have.
func (c claudeCall) lost(updated map[string]json.RawMessage) bool {
	return slices.ContainsFunc(c.derived, func(name string) bool {
		value, given := updated[name]
		return given && textOf(value) != textOf(c.input[name])
	})
}

func textOf(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text) // anything else is no text
	return text
}

var patchedFile = lazyregexp.New(`(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?)([^\t\n]+)`)

// patch adds the first file of a patch of files.
func (c *claudeCall) patch(args map[string]json.RawMessage) {
	var files []string
	for _, value := range args {
		text := textOf(value)
		for _, m := range patchedFile().FindAllStringSubmatch(text, -1) {
			if !slices.Contains(files, m[1]) {
				files = append(files, m[1])
			}
		}
		if len(files) > 0 {
			before, after := sides(text)
			c.set("old_string", before)
			c.set("new_string", after)
		}
	}
	if len(files) > 0 {
		c.set("file_path", files[0])
	}
	c.partly = len(files) != 1
}

// sides returns the lines before and after a unified diff.
func sides(diff string) (before, after string) {
	var was, is strings.Builder
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "***"):
		case strings.HasPrefix(line, "-"):
			was.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			is.WriteString(line[1:])
		case strings.HasPrefix(line, " "):
			was.WriteString(line[1:])
			is.WriteString(line[1:])
		}
	}
	return was.String(), is.String()
}

// ours returns arguments with the names that they have here.
func (c claudeCall) ours(theirs map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, value := range theirs {
		for our, their := range c.tool.params {
			if their == name {
				name = our
			}
		}
		all[name] = value
	}
	if c.name == "Task" {
		delete(all, "subagent_type")
	}
	return all
}

// claudeInput is the input of a hook in the form of Claude Code. The names of the fields
// are those of its documentation.
func claudeInput(h *hooks.Hook, in hooks.Input, call claudeCall) map[string]any {
	event := claudeEvent(h)
	all := map[string]any{"session_id": in.SessionID, "transcript_path": in.TranscriptPath, "cwd": in.CWD, "hook_event_name": event}
	switch event {
	case "PreToolUse":
		all["tool_name"], all["tool_input"] = call.name, call.input
	case "PostToolUse":
		all["tool_name"], all["tool_input"], all["tool_response"] = call.name, call.input, claudeResponse(in, call)
	case subagentStop:
		all["stop_hook_active"], all["agent_type"] = false, in.ToolName
		if in.ToolResponse != nil {
			all["last_assistant_message"] = plainContent(in.ToolResponse.LLMContent)
		}
	case "UserPromptSubmit":
		all["prompt"] = valueOf(in.Prompt)
	case "Stop":
		all["stop_hook_active"], all["last_assistant_message"] = in.StopHookActive != nil && *in.StopHookActive, valueOf(in.PromptResponse)
	case "SessionStart":
		all["source"] = in.Source
	case "SessionEnd":
		if all["reason"] = in.Reason; in.Reason == "exit" {
			all["reason"] = "other"
		}
	case "PreCompact":
		all["trigger"], all["custom_instructions"] = in.Trigger, ""
	case "Notification":
		all["message"], all["notification_type"] = in.Message, permissionPrompt
	}
	return all
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// claudeResponse is the result of a call. Its content is that for the model.
func claudeResponse(in hooks.Input, call claudeCall) map[string]any {
	all := map[string]any{}
	if in.ToolResponse == nil {
		return all
	}
	content := plainContent(in.ToolResponse.LLMContent)
	failed := len(in.ToolResponse.Error) > 0 && string(in.ToolResponse.Error) != "null"
	all["content"], all["success"] = content, !failed
	switch call.name {
	case "Bash":
		all["stdout"], all["stderr"], all["interrupted"] = content, "", false
	case "Write", "Edit", "Read":
		all["filePath"] = call.input["file_path"]
	}
	if failed {
		all["error"] = in.ToolResponse.Error
	}
	return all
}

// plainContent returns the text of content for a model: a text, or parts with texts.
func plainContent(raw json.RawMessage) any {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return raw
}

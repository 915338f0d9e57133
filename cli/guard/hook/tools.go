package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/jsonkeys"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// tool is fettle's tool for a tool of a client.
type tool struct {
	name string
	keys map[string]string // of arguments with another name: the client's to fettle's
}

var (
	shellKeys  = map[string]string{"run_in_background": "is_background", "workdir": "dir_path", "working_directory": "dir_path", "directory": "dir_path"}
	fileKeys   = map[string]string{"path": "file_path", "notebook_path": "file_path", "absolute_path": "file_path", "target_file": "file_path"}
	searchKeys = map[string]string{"path": "dir_path", "glob": "include_pattern", "include": "include_pattern", "target_directory": "dir_path"}
)

// claude returns the tools of Claude Code.
func claude() map[string]tool {
	return map[string]tool{
		"Bash": {"run_shell_command", shellKeys}, "PowerShell": {"run_shell_command", shellKeys}, "Monitor": {"run_shell_command", shellKeys},
		"BashOutput": {"read_background_output", nil}, "TaskOutput": {"read_background_output", nil},
		"KillBash": {"stop_background_process", nil}, "KillShell": {"stop_background_process", nil}, "TaskStop": {"stop_background_process", nil},
		"Read": {"read_file", fileKeys}, "NotebookRead": {"read_file", fileKeys},
		"Write": {"write_file", fileKeys}, "Edit": {"edit", fileKeys}, "MultiEdit": {"edit", fileKeys}, "NotebookEdit": {"edit", fileKeys},
		"Glob": {"glob", searchKeys}, "Grep": {"search_file_content", searchKeys}, "LS": {"list_directory", searchKeys},
		"WebFetch": {"web_fetch", nil}, "WebSearch": {"web_search", nil},
		"Task": {"invoke_agent", map[string]string{"subagent_type": "agent_name"}}, "Agent": {"invoke_agent", map[string]string{"subagent_type": "agent_name"}},
		"TodoWrite": {"write_todos", nil}, "TodoRead": {"write_todos", nil}, "TaskCreate": {"tracker_create_task", nil}, "TaskUpdate": {"tracker_update_task", nil},
		"TaskGet": {"tracker_get_task", nil}, "TaskList": {"tracker_list_tasks", nil},
		"AskUserQuestion": {"ask_user", nil}, "EnterPlanMode": {"enter_plan_mode", nil}, "ExitPlanMode": {"exit_plan_mode", nil},
		"Skill": {"activate_skill", map[string]string{"skill": "name"}}, "ToolSearch": {"tool_search", nil},
		"ListMcpResourcesTool": {"list_mcp_resources", nil}, "ReadMcpResourceTool": {"read_mcp_resource", nil},
	}
}

// ClaudeTool returns fettle's name of a tool of Claude Code.
func ClaudeTool(name string) (string, bool) {
	t, ok := claude()[name]
	return t.name, ok
}

// codex returns the tools of Codex that Claude Code does not have.
func codex() map[string]tool {
	return map[string]tool{
		"shell": {"run_shell_command", shellKeys}, "local_shell": {"run_shell_command", shellKeys}, "shell_command": {"run_shell_command", shellKeys},
		"exec_command": {"run_shell_command", map[string]string{"cmd": "command", "workdir": "dir_path"}}, "unified_exec": {"run_shell_command", shellKeys},
		"write_stdin": {"write_background_input", nil},
		"apply_patch": {"apply_patch", map[string]string{"command": "input", "patch": "input"}},
		"update_plan": {"write_todos", nil}, "list_dir": {"list_directory", searchKeys}, "grep_files": {"search_file_content", searchKeys},
		"view_image": {"read_file", fileKeys},
	}
}

// cursor returns the tools of Cursor that Claude Code does not have.
func cursor() map[string]tool {
	return map[string]tool{
		"Shell": {"run_shell_command", shellKeys}, "Delete": {"edit", fileKeys}, "StrReplace": {"edit", fileKeys},
	}
}

// gemini returns the tools of Gemini CLI whose arguments have other names; the names
// of the tools are fettle's.
func gemini() map[string]tool {
	return map[string]tool{
		"run_shell_command": {"run_shell_command", shellKeys},
		"read_file":         {"read_file", fileKeys}, "write_file": {"write_file", fileKeys}, "replace": {"edit", fileKeys}, "edit": {"edit", fileKeys},
		"list_directory": {"list_directory", searchKeys}, "glob": {"glob", searchKeys},
		"grep_search": {"search_file_content", searchKeys}, "search_file_content": {"search_file_content", searchKeys},
	}
}

// calls returns the calls of a request, in fettle's names: one, or one for each file of
// a patch.
func (c *client) calls(r *request, kind event, dir string) ([]decide.Call, error) {
	switch kind {
	case command:
		r.Tool, r.Input = "Shell", object("command", r.Command)
	case readFile:
		r.Tool, r.Input = "Read", object("file_path", r.File)
	case mcpCall:
		if r.Tool == "" {
			return nil, fmt.Errorf("the request names no tool")
		}
		if !strings.HasPrefix(r.Tool, "MCP:") && !strings.HasPrefix(r.Tool, "mcp__") {
			r.Tool = "mcp__unknown__" + r.Tool // a server's tool may have the name of a built-in one
		}
	}
	if r.Tool == "" {
		return nil, fmt.Errorf("the request names no tool")
	}
	args, err := arguments(r.Input)
	if err != nil {
		return nil, fmt.Errorf("the arguments of %.60q: %w", r.Tool, err)
	}
	if call, ok := ofServer(r); ok {
		call.Args = r.Input
		if text := (*string)(nil); json.Unmarshal(r.Input, &text) == nil { // JSON in a text
			call.Args = encode(args)
		}
		return []decide.Call{call}, nil
	}
	t, known := c.tools[r.Tool]
	if !known {
		t = tool{name: r.Tool}
	}
	for _, from := range slices.Sorted(maps.Keys(t.keys)) {
		value, ok := args[from]
		if !ok {
			continue
		}
		to := t.keys[from]
		if given, ok := args[to]; ok && !reflect.DeepEqual(given, value) { // the client may read either
			return nil, fmt.Errorf("the arguments of %.60q have two values of %s", r.Tool, to)
		}
		args[to] = value
		delete(args, from)
	}
	return inDirectory(t.name, args, r.Cwd, dir)
}

// ofServer returns the call of an MCP server's tool, without its arguments.
func ofServer(r *request) (decide.Call, bool) {
	server, name := "", ""
	switch {
	case r.MCP != nil && r.MCP.Server != "" && r.MCP.Tool != "":
		server, name = r.MCP.Server, r.MCP.Tool
	case strings.HasPrefix(r.Tool, "mcp__"):
		server, name, _ = strings.Cut(strings.TrimPrefix(r.Tool, "mcp__"), "__")
	case strings.HasPrefix(r.Tool, "MCP:"):
		rest := strings.TrimPrefix(r.Tool, "MCP:")
		var named bool
		if server, name, named = strings.Cut(rest, ":"); !named {
			server, name = "unknown", rest
		}
	default:
		return decide.Call{}, false
	}
	call := decide.Call{Tool: "mcp_" + server + "_" + name, Server: server, ServerTool: name}
	if server == "unknown" || strings.Contains(name, "__") && r.MCP == nil { // another division is possible
		call.Server, call.ServerTool = "", ""
	}
	return call, true
}

// arguments returns the arguments of a call, which Cursor may pass as JSON in a text.
func arguments(input json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(input) == 0 || string(input) == "null" {
		return args, nil
	}
	var text string
	if json.Unmarshal(input, &text) == nil {
		input = json.RawMessage(text)
	}
	if err := jsonkeys.Check(input, 1); err != nil {
		return nil, err
	}
	if !json.Valid(input) { // the decoder reads the first of several values
		return nil, fmt.Errorf("they are not an object")
	}
	decoder := json.NewDecoder(strings.NewReader(string(input)))
	decoder.UseNumber()
	if err := decoder.Decode(&args); err != nil || args == nil {
		return nil, fmt.Errorf("they are not an object")
	}
	return args, nil
}

// inDirectory completes the arguments with the directory in which the client works, if
// it is not the project's, and divides a patch into its files.
func inDirectory(name string, args map[string]any, cwd, dir string) ([]decide.Call, error) {
	elsewhere := cwd != "" && filepath.Clean(cwd) != filepath.Clean(dir)
	switch name {
	case "run_shell_command":
		line, err := commandLine(args["command"])
		if err != nil {
			return nil, err
		}
		args["command"] = line
		if given, _ := args["dir_path"].(string); elsewhere && !filepath.IsAbs(given) {
			args["dir_path"] = filepath.Join(cwd, given)
		}
	case "apply_patch":
		text, _ := args["input"].(string)
		files := patchFiles(text)
		if len(files) == 0 {
			return nil, fmt.Errorf("the patch names no file")
		}
		var calls []decide.Call
		for _, file := range files {
			args["file_path"] = absolute(file, cwd)
			calls = append(calls, decide.Call{Tool: name, Args: encode(args)})
		}
		return calls, nil
	default:
		if _, given := args["dir_path"]; elsewhere && !given && slices.Contains([]string{"glob", "search_file_content", "list_directory"}, name) {
			args["dir_path"] = cwd
		}
		for _, key := range []string{"file_path", "dir_path"} {
			if path, ok := args[key].(string); ok && elsewhere {
				args[key] = absolute(path, cwd)
			}
		}
	}
	return []decide.Call{{Tool: name, Args: encode(args)}}, nil
}

func absolute(path, cwd string) string {
	if cwd == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cwd, path)
}

// commandLine returns a command as one line: clients pass it as text, or as words, of
// which the first may be a shell with its script.
func commandLine(command any) (string, error) {
	if line, ok := command.(string); ok {
		return line, nil
	}
	list, ok := command.([]any)
	if !ok || len(list) == 0 {
		return "", fmt.Errorf("the request has no command")
	}
	words := make([]string, len(list))
	for i, w := range list {
		if words[i], ok = w.(string); !ok {
			return "", fmt.Errorf("the command is not a list of texts")
		}
	}
	if len(words) == 3 && slices.Contains([]string{"bash", "sh", "/bin/bash", "/bin/sh"}, words[0]) && slices.Contains([]string{"-c", "-lc"}, words[1]) {
		return words[2], nil
	}
	return shell.Quote(words), nil
}

// patchFiles returns the files that a patch of apply_patch names.
func patchFiles(text string) []string {
	var files []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, header := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if file, ok := strings.CutPrefix(line, header); ok {
				files = append(files, strings.TrimSpace(file))
			}
		}
	}
	return files
}

func object(key, value string) json.RawMessage { return encode(map[string]any{key: value}) }

// encode encodes arguments that were decoded from JSON.
func encode(args map[string]any) json.RawMessage {
	text, err := json.Marshal(args)
	if err != nil {
		panic("guard: arguments cannot be encoded: " + err.Error())
	}
	return text
}

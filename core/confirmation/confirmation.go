// Package confirmation has the details of a call that needs approval, and the
// decision about a call, as plain data: what the call would change, run or send,
// and why it is allowed, denied or asked about. The packages tools and policy name
// its types as their own, so that a tool author needs tools alone. The messages of
// package bus contain them.
package confirmation

import "encoding/json"

// Type is the kind of the details.
type Type string

// The types.
const (
	Edit Type = "edit"
	Exec Type = "exec"
	MCP  Type = "mcp"
	Info Type = "info"
)

// EditDetails describes a change of one file. Applying FileDiff to OriginalContent, without fuzz, yields NewContent.
type EditDetails struct {
	FileName        string    `json:"fileName"`        // base name
	FilePath        string    `json:"filePath"`        // absolute
	FileDiff        string    `json:"fileDiff"`        // unified diff, 3 lines of context
	OriginalContent *string   `json:"originalContent"` // nil: a new file
	NewContent      string    `json:"newContent"`
	DiffStat        *DiffStat `json:"diffStat,omitempty"`
}

// ExecDetails describes a command line.
type ExecDetails struct {
	Command      string   `json:"command"`
	RootCommand  string   `json:"rootCommand"`     // names of all programs, for display
	RootCommands []string `json:"rootCommands"`    // the same, one entry a program
	Parts        []Part   `json:"parts,omitempty"` // the commands and writes of the line, each with its decision; set by the scheduler
}

// DiffStat counts changed lines and characters (runes), by author.
type DiffStat struct {
	ModelAddedLines   int `json:"model_added_lines"`
	ModelRemovedLines int `json:"model_removed_lines"`
	ModelAddedChars   int `json:"model_added_chars"`
	ModelRemovedChars int `json:"model_removed_chars"`
	UserAddedLines    int `json:"user_added_lines"`
	UserRemovedLines  int `json:"user_removed_lines"`
	UserAddedChars    int `json:"user_added_chars"`
	UserRemovedChars  int `json:"user_removed_chars"`
}

// MCPDetails describes a call to an MCP server. The server's description of its tool is not verified.
type MCPDetails struct {
	ServerName          string          `json:"serverName"`
	ToolName            string          `json:"toolName"` // name of the tool at the server, if known
	ToolDisplayName     string          `json:"toolDisplayName"`
	ToolArgs            json.RawMessage `json:"toolArgs,omitempty"` // arguments of the call
	ToolDescription     string          `json:"toolDescription,omitempty"`
	ToolParameterSchema json.RawMessage `json:"toolParameterSchema,omitempty"`
}

// InfoDetails describes a plain question.
type InfoDetails struct {
	Prompt string   `json:"prompt"`
	URLs   []string `json:"urls,omitempty"`
}

// FileVersion identifies the content that a change was computed from.
type FileVersion struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // lower-case hex; the hash of empty input for a missing file
}

package bus

import "encoding/json"

// Confirmation describes a call that needs approval. Type selects exactly one of the embedded details. In JSON the
// fields of the details are on the same level as the others, in the form of tools.Confirmation.
type Confirmation struct {
	Type          ConfirmationType `json:"type"`
	Title         string           `json:"title"`
	SystemMessage string           `json:"systemMessage,omitempty"` // additional information for the approver, from a hook or the previous answer

	*EditDetails
	*ExecDetails
	*MCPDetails
	*InfoDetails

	Paths []string      `json:"paths,omitempty"` // absolute paths that the call would change
	Bases []FileVersion `json:"bases,omitempty"` // the versions that the change is computed from; execution fails if they changed
}

// ConfirmationType selects the details of a [Confirmation].
type ConfirmationType string

// The types.
const (
	ConfirmEdit ConfirmationType = "edit"
	ConfirmExec ConfirmationType = "exec"
	ConfirmMCP  ConfirmationType = "mcp"
	ConfirmInfo ConfirmationType = "info"
)

// EditDetails describes a change of one file. Applying FileDiff to OriginalContent yields NewContent.
type EditDetails struct {
	FileName        string    `json:"fileName"`        // base name
	FilePath        string    `json:"filePath"`        // absolute
	FileDiff        string    `json:"fileDiff"`        // unified diff, 3 lines of context
	OriginalContent *string   `json:"originalContent"` // nil: a new file
	NewContent      string    `json:"newContent"`
	DiffStat        *DiffStat `json:"diffStat,omitempty"`
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

// ExecDetails describes a command line.
type ExecDetails struct {
	Command      string   `json:"command"`
	RootCommand  string   `json:"rootCommand"`     // names of all programs, for display
	RootCommands []string `json:"rootCommands"`    // the same, one entry a program
	Parts        []Part   `json:"parts,omitempty"` // the commands and writes of the line, each with its decision
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

// Explanation is a policy decision and its origin, in the form of policy.Decision. Fields that do not apply are empty.
type Explanation struct {
	Decision string `json:"decision"` // allow, deny or ask_user
	Rule     string `json:"rule"`
	Tier     string `json:"tier"`
	Source   string `json:"source"`             // file, flag or table of the rule
	Line     int    `json:"line"`               // 1-based, in Source; 0: not in a file
	Reason   string `json:"reason"`             // reason, for the user
	Remedy   string `json:"remedy,omitempty"`   // a change that would lead to another decision
	Message  string `json:"message,omitempty"`  // message of the denying rule
	Confined string `json:"confined,omitempty"` // confinement of the command, such as "landlock"; "": none
	Previews bool   `json:"preview,omitempty"`  // plan mode previews the call instead of running it
	Parts    []Part `json:"parts"`              // of a command line
}

// Part is the decision on one part of a command line.
type Part struct {
	Text     string `json:"text"`
	Decision string `json:"decision"`
	Rule     string `json:"rule,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

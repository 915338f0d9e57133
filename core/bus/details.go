package bus

import "encoding/json"

// Confirmation is what a person is asked to approve (AR-19). Exactly one of
// the embedded details goes with Type; in JSON their fields stand beside the
// others, in the form of tools.Confirmation.
type Confirmation struct {
	Type          ConfirmationType `json:"type"`
	Title         string           `json:"title"`
	SystemMessage string           `json:"systemMessage,omitempty"` // what else to know before answering, from a hook or the last answer

	*EditDetails
	*ExecDetails
	*MCPDetails
	*InfoDetails

	Paths []string      `json:"paths,omitempty"` // absolute paths that would change
	Bases []FileVersion `json:"bases,omitempty"` // what the change is computed from; execution refuses if it moved
}

// ConfirmationType names the details of a [Confirmation].
type ConfirmationType string

// The types.
const (
	ConfirmEdit ConfirmationType = "edit"
	ConfirmExec ConfirmationType = "exec"
	ConfirmMCP  ConfirmationType = "mcp"
	ConfirmInfo ConfirmationType = "info"
)

// EditDetails show a change of one file. FileDiff applies to OriginalContent
// and gives NewContent.
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

// ExecDetails show a command line.
type ExecDetails struct {
	Command      string   `json:"command"`
	RootCommand  string   `json:"rootCommand"`     // names of all programs, for people
	RootCommands []string `json:"rootCommands"`    // the same, one by one
	Parts        []Part   `json:"parts,omitempty"` // everything that the line runs or writes, each with its verdict
}

// MCPDetails show a call to an MCP server. What the server says of its tool is
// not verified.
type MCPDetails struct {
	ServerName          string          `json:"serverName"`
	ToolName            string          `json:"toolName"` // the tool's own at the server, as far as it is known
	ToolDisplayName     string          `json:"toolDisplayName"`
	ToolArgs            json.RawMessage `json:"toolArgs,omitempty"` // what the call would be made with
	ToolDescription     string          `json:"toolDescription,omitempty"`
	ToolParameterSchema json.RawMessage `json:"toolParameterSchema,omitempty"`
}

// InfoDetails show a plain question.
type InfoDetails struct {
	Prompt string   `json:"prompt"`
	URLs   []string `json:"urls,omitempty"`
}

// FileVersion is a file's content that a change was computed from.
type FileVersion struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // lower-case hex; that of empty input for an absent file
}

// Explanation is a decision of policy and where it comes from, in the form of
// policy.Decision. Empty fields have nothing to name.
type Explanation struct {
	Decision string `json:"decision"` // allow, deny or ask_user
	Rule     string `json:"rule"`
	Tier     string `json:"tier"`
	Source   string `json:"source"`             // file, flag or table that holds the rule
	Line     int    `json:"line"`               // 1-based, in Source; 0: not in a file
	Reason   string `json:"reason"`             // for a person
	Remedy   string `json:"remedy,omitempty"`   // what would change the decision
	Message  string `json:"message,omitempty"`  // the denying rule's own words
	Confined string `json:"confined,omitempty"` // what confines the command, as "landlock"; "" is nothing
	Previews bool   `json:"preview,omitempty"`  // plan mode shows what the call would do instead
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

package tools

import (
	"cmp"
	"encoding/json"
)

// Confirmation is what a person is asked to approve (AR-19), as plain data:
// whoever answers needs nothing else. Exactly one of the embedded details
// goes with Type; in JSON their fields stand beside the others.
type Confirmation struct {
	Type  ConfirmationType `json:"type"`
	Title string           `json:"title"`

	*EditDetails
	*ExecDetails
	*MCPDetails
	*InfoDetails

	// ForPeople marks details that the model must not see, as they hold bytes
	// that it may not read (PR-29).
	ForPeople bool `json:"-"`
	// ForModel is what the model is told in place of details that are ForPeople,
	// in full sentences; "" is the usual, that it may not read the file.
	ForModel string `json:"-"`

	// IfDeclined is the next step of a model whose call a person refuses with
	// words of what to do instead, as a full sentence; "" is the usual one, to
	// act on these words.
	IfDeclined string `json:"-"`

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

// PreviewSchema is the JSON schema of what a call of a tool that changes something
// gives in plan mode, where it is not run: a notice and, as far as the model may
// see it, the [Confirmation]. The OutputSchema of such a tool allows it beside the
// tool's own result.
const PreviewSchema = `{"type":"object","properties":{"notice":{"type":"string"},` +
	`"preview":{"type":"object","description":"what would be done, in the form of a confirmation"}},` +
	`"required":["notice"],"additionalProperties":false}`

// EditDetails show a change of one file. FileDiff applies strictly to
// OriginalContent and gives NewContent (FS-44).
type EditDetails struct {
	FileName        string    `json:"fileName"`
	FilePath        string    `json:"filePath"`
	FileDiff        string    `json:"fileDiff"`
	OriginalContent *string   `json:"originalContent"` // nil: a new file (FS-56)
	NewContent      string    `json:"newContent"`
	DiffStat        *DiffStat `json:"diffStat,omitempty"`
}

// ExecDetails show a command line.
type ExecDetails struct {
	Command      string   `json:"command"`
	RootCommand  string   `json:"rootCommand"`
	RootCommands []string `json:"rootCommands"`
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

// DefaultConfirmation is the question where a tool brings none (AR-15): for a
// tool of an MCP server its names, the arguments and what its server says of it
// (AR-19), else what the call will do.
func DefaultConfirmation(spec Spec, inv ToolInvocation) *Confirmation {
	if spec.Origin.Server != "" {
		return &Confirmation{
			Type:  ConfirmMCP,
			Title: "Confirm: " + spec.Display(),
			MCPDetails: &MCPDetails{
				ServerName: spec.Origin.Server, ToolName: cmp.Or(spec.Origin.Tool, spec.Name), ToolDisplayName: spec.Display(),
				ToolArgs: inv.Params(), ToolDescription: spec.Description, ToolParameterSchema: spec.Schema,
			},
		}
	}
	return &Confirmation{
		Type:        ConfirmInfo,
		Title:       "Confirm: " + spec.Display(),
		InfoDetails: &InfoDetails{Prompt: inv.Description()},
	}
}

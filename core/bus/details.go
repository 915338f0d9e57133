package bus

import "github.com/fettle-dev/fettle/core/confirmation"

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

// The details of a [Confirmation].
type (
	ConfirmationType = confirmation.Type        // selects the details
	EditDetails      = confirmation.EditDetails // a change of one file
	DiffStat         = confirmation.DiffStat    // counts of a change
	MCPDetails       = confirmation.MCPDetails  // a call to an MCP server
	InfoDetails      = confirmation.InfoDetails // a plain question
	FileVersion      = confirmation.FileVersion // the content that a change was computed from
)

// The values of a ConfirmationType.
const (
	ConfirmEdit = confirmation.Edit
	ConfirmExec = confirmation.Exec
	ConfirmMCP  = confirmation.MCP
	ConfirmInfo = confirmation.Info
)

// ExecDetails describes a command line.
type ExecDetails struct {
	Command      string   `json:"command"`
	RootCommand  string   `json:"rootCommand"`     // names of all programs, for display
	RootCommands []string `json:"rootCommands"`    // the same, one entry a program
	Parts        []Part   `json:"parts,omitempty"` // the commands and writes of the line, each with its decision
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

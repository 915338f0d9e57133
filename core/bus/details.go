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
	ExecDetails      = confirmation.ExecDetails // a command line
	DiffStat         = confirmation.DiffStat    // counts of a change
	MCPDetails       = confirmation.MCPDetails  // a call to an MCP server
	InfoDetails      = confirmation.InfoDetails // a plain question
	FileVersion      = confirmation.FileVersion // the content that a change was computed from
)

// The decision about a call.
type (
	Explanation = confirmation.Explanation // a verdict with its reason and origin
	Part        = confirmation.Part        // the decision on one part of a command line
)

// The values of a ConfirmationType.
const (
	ConfirmEdit = confirmation.Edit
	ConfirmExec = confirmation.Exec
	ConfirmMCP  = confirmation.MCP
	ConfirmInfo = confirmation.Info
)

package tools

import (
	"cmp"

	"github.com/fettle-dev/fettle/core/confirmation"
)

// Confirmation describes a call that needs approval, as plain data. Type selects exactly one of the embedded details. In
// JSON the fields of the details are on the same level as the others.
type Confirmation struct {
	Type  confirmation.Type `json:"type"`
	Title string            `json:"title"`

	*EditDetails
	*ExecDetails
	*MCPDetails
	*InfoDetails

	// UserOnly marks details that only the user may see, because they contain content that the model may not read.
	UserOnly bool `json:"-"`
	// ForModel replaces details that are UserOnly in the model's result, in full sentences; "" is the default text,
	// that the model may not read the file.
	ForModel string `json:"-"`

	// IfDeclined is the next step for a model whose call is denied with feedback, as a full sentence; "" is the default,
	// to follow the feedback.
	IfDeclined string `json:"-"`

	Paths []string      `json:"paths,omitempty"` // absolute paths that the call would change
	Bases []FileVersion `json:"bases,omitempty"` // the versions that the change is computed from; execution fails if they changed
}

// The details of a [Confirmation].
type (
	EditDetails = confirmation.EditDetails // a change of one file
	ExecDetails = confirmation.ExecDetails // a command line; a tool leaves its Parts empty
	DiffStat    = confirmation.DiffStat    // counts of a change
	MCPDetails  = confirmation.MCPDetails  // a call to an MCP server
	InfoDetails = confirmation.InfoDetails // a plain question
	FileVersion = confirmation.FileVersion // the content that a change was computed from
)

// The values of a confirmation.Type.
const (
	ConfirmEdit = confirmation.Edit
	ConfirmExec = confirmation.Exec
	ConfirmMCP  = confirmation.MCP
	ConfirmInfo = confirmation.Info
)

// PreviewSchema is the JSON schema of the plan mode result of a mutating tool, which plan mode does not run: a notice
// and, as far as the model may see it, the [Confirmation]. The OutputSchema of such a tool allows it in addition to the
// tool's own result.
const PreviewSchema = `{"type":"object","properties":{"notice":{"type":"string"},` +
	`"preview":{"type":"object","description":"the change that would be made, as a confirmation"}},` +
	`"required":["notice"],"additionalProperties":false}`

// DefaultConfirmation returns the confirmation of a tool that has none of its own. For a tool of an MCP server it shows
// its names, the arguments and the server's description, else the description of the call.
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

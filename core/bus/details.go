package bus

import "github.com/fettle-dev/fettle/core/confirmation"

// Confirmation describes a call that needs approval. Type selects exactly one of the embedded details. In JSON the
// fields of the details are on the same level as the others, in the form of tools.Confirmation.
type Confirmation struct {
	Type          confirmation.Type `json:"type"`
	Title         string            `json:"title"`
	SystemMessage string            `json:"systemMessage,omitempty"` // additional information for the approver, from a hook or the previous answer

	*confirmation.EditDetails
	*confirmation.ExecDetails
	*confirmation.MCPDetails
	*confirmation.InfoDetails

	Paths []string                   `json:"paths,omitempty"` // absolute paths that the call would change
	Bases []confirmation.FileVersion `json:"bases,omitempty"` // the versions that the change is computed from; execution fails if they changed
}

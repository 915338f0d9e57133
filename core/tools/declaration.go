package tools

import "encoding/json"

// FunctionDeclaration is the declaration of a tool for a model.
type FunctionDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"` // a JSON schema; must not be modified
}

// Declaration returns the declaration of a tool with this Spec.
func (s Spec) Declaration() FunctionDeclaration {
	return FunctionDeclaration{Name: s.Name, Description: s.Description, Parameters: s.Schema}
}

// Bytes returns the length of the declaration: name, description and schema.
func (d FunctionDeclaration) Bytes() int {
	return len(d.Name) + len(d.Description) + len(d.Parameters)
}

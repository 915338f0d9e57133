package tools

import "encoding/json"

// FunctionDeclaration is what a model is told of a tool.
type FunctionDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"` // a JSON schema; must not be changed
}

// Declaration returns what a model is told of a tool with this Spec.
func (s Spec) Declaration() FunctionDeclaration {
	return FunctionDeclaration{Name: s.Name, Description: s.Description, Parameters: s.Schema}
}

// Bytes is how long the declaration is: name, description and schema.
func (d FunctionDeclaration) Bytes() int {
	return len(d.Name) + len(d.Description) + len(d.Parameters)
}

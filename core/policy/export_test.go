package policy

import "encoding/json"

// ProtectedPaths returns the table of protected paths.
func ProtectedPaths() []ProtectedPath { return protectedRows }

// CanonicalArgs returns the text in which an ArgsPattern is searched.
func CanonicalArgs(params json.RawMessage) (string, error) { return canonicalArgs(params) }

package policy

import "encoding/json"

// CanonicalArgs returns the text in which an ArgsPattern is searched.
func CanonicalArgs(params json.RawMessage) (string, error) { return canonicalArgs(params) }

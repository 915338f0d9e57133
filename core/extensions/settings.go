package extensions

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Setting is a setting that an extension declares.
type Setting struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	EnvVar      string `json:"envVar"` // variable in the environment of its programs
	Sensitive   bool   `json:"sensitive,omitempty"`
}

// Scope is the scope of an extension's setting or enablement.
type Scope string

// The scopes.
const (
	ScopeUser      Scope = "user"
	ScopeWorkspace Scope = "workspace"
	// ScopeEnvironment is the scope of a value from the process environment. Nothing can
	// be stored there.
	ScopeEnvironment Scope = "environment"
)

// Value is a text that may be secret. A sensitive one is printed and encoded as ***. The
// zero value is the empty text.
type Value struct {
	reveal    func() string // nil: ""; a function, which printing does not evaluate
	sensitive bool
}

// NewValue returns a value.
func NewValue(text string, sensitive bool) Value {
	return Value{func() string { return text }, sensitive}
}

// Reveal returns the value itself, which must not be printed.
func (v Value) Reveal() string {
	if v.reveal == nil {
		return ""
	}
	return v.reveal()
}

const masked = "***"

// String returns the value, or *** for a sensitive one.
func (v Value) String() string {
	if v.sensitive {
		return masked
	}
	return v.Reveal()
}

// GoString is as String.
func (v Value) GoString() string { return fmt.Sprintf("%q", v.String()) }

// MarshalJSON encodes what String returns.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// LogValue is as String.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// ResolvedSetting is a setting with its value.
type ResolvedSetting struct {
	Setting
	Value Value `json:"value"`
	Scope Scope `json:"scope"` // scope of the value
}

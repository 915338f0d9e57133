package extensions

import "context"

// Scope says for whom something of an extension holds.
type Scope string

// The scopes.
const (
	ScopeUser      Scope = "user"
	ScopeWorkspace Scope = "workspace"
)

// Value is the value of a setting. A sensitive one shows as ***, however it is
// printed or encoded.
type Value struct {
	reveal    func() string // nil: ""
	sensitive bool
}

// ResolvedSetting is a setting with its value.
type ResolvedSetting struct {
	Setting
	Value Value `json:"value"`
	Scope Scope `json:"scope"` // where the value was found
}

// SetSetting keeps the value of a setting of e: a sensitive one in a file of the
// user's, mode 0600, any other in the .env file of the extension, or of the
// workspace. The error is of code invalid_config where e has no such setting or
// the value cannot be one, file_write_failure or cancelled; none holds the value.
func (s *Store) SetSetting(ctx context.Context, e Extension, variable, value string, scope Scope) error {
	return nil
}

// UnsetSetting forgets the value of a setting, also of one that the extension no
// longer has. The error is as that of SetSetting.
func (s *Store) UnsetSetting(ctx context.Context, e Extension, variable string, scope Scope) error {
	return nil
}

// ForgetSettings forgets all sensitive values of an extension. The error is of
// code file_write_failure or cancelled.
func (s *Store) ForgetSettings(ctx context.Context, id string) error { return nil }

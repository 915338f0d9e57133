package extensions

import "context"

// EnablementFile says which extensions are active where, in the extensions folder.
const EnablementFile = "extension-enablement.json"

// SetEnabled turns an extension on or off for the home folder (ScopeUser) or the
// workspace, and all folders below. Rules for folders below that go. The name
// need not be one of an extension that is there. The error is of code
// invalid_config where the scope's folder is not known or the file cannot be
// used, file_write_failure or cancelled.
func (s *Store) SetEnabled(ctx context.Context, name string, scope Scope, on bool) error { return nil }

// ForgetEnablement removes all that is said of a name. The error is as that of
// SetEnabled.
func (s *Store) ForgetEnablement(ctx context.Context, name string) error { return nil }

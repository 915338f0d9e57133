package decide

import (
	"bytes"
	"os"
)

// Lasting reports whether a user may approve more than one call at once. Settings
// can forbid that; a file that might contain such a setting counts as one.
func (e *Engine) Lasting() bool {
	for _, name := range e.policy.Beyond() {
		text, err := os.ReadFile(name) //nolint:gosec // a settings file of the session
		if err != nil || bytes.Contains(text, []byte("isableAlwaysAllow")) || bytes.Contains(text, []byte(`\u`)) {
			return false
		}
	}
	return true
}

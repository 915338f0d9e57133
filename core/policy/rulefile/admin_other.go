//go:build !unix

package rulefile

import "github.com/fettle-dev/fettle/core/fault"

// CheckAdmin returns nil. File modes do not describe write access on Windows, and the
// default rights of the administrator's directory exclude other users.
func CheckAdmin(string) *fault.Problem { return nil }

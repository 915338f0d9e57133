package extensionstore

import (
	"context"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// Names of files that tests damage.
const (
	EnablementFile = enablementFile
	IntegrityFile  = integrityFile
)

// Variables give the tests the variables in texts of an extension.
type Variables struct {
	ExtensionPath, WorkspacePath string
	Settings                     map[string]string
	Getenv                       func(name string) (string, bool)
}

// ParseManifest gives the tests the reader of manifests.
func ParseManifest(data []byte, dir string, v Variables) (manifest, []fault.Problem) { //nolint:revive // its fields are exported
	return parseManifest(data, dir, variables{extensionPath: v.ExtensionPath, workspacePath: v.WorkspacePath, settings: v.Settings, getenv: v.Getenv})
}

// CheckName gives the tests the check of names.
func CheckName(name string) string { return checkName(name) }

// IDOf gives the tests the ids of extensions.
func IDOf(name string, m *extensions.InstallMetadata) string { return idOf(name, m) }

// ForgetEnablement gives the tests a step of Uninstall.
func (s *Store) ForgetEnablement(ctx context.Context, name string) error {
	return s.forgetEnablement(ctx, name)
}

// ForgetSettings gives the tests a step of Uninstall.
func (s *Store) ForgetSettings(ctx context.Context, id string) error {
	return s.forgetSettings(ctx, id)
}

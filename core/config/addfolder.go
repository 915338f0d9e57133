package config

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// AddFolder adds a folder to the workspace of this Config and all derived from the
// same one, as Parameters.IncludeDirs do; a relative path counts from the target.
// Commands that are confined cannot write there before the next session. The error
// is of code not_initialized, invalid_config where there is no such folder,
// untrusted_folder for one that is recorded as untrusted, or that of
// Parameters.TrustOf.
func (c *Config) AddFolder(ctx context.Context, path string) error {
	sh, err := c.services("AddFolder")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(sh.workspace.Target(), path)
	}
	if trustOf := c.given.TrustOf; trustOf != nil {
		state, err := trustOf(ctx, []string{sh.workspace.Target(), path})
		if err != nil {
			return err
		}
		if state == trust.Untrusted && c.Trust() != trust.Untrusted {
			return fault.New(fault.UntrustedFolder, "config.addFolder", fmt.Sprintf("%s is recorded as untrusted, and was not added.", path),
				"Trust it with fettle trust, or begin a session there.")
		}
	}
	if err := sh.workspace.Add(path); err != nil {
		return err
	}
	sh.rules.setRoots(sh.workspace)
	sh.rules.repos.Add(path)
	if sh.servers.Load() != nil {
		sh.servers.Load().RootsChanged()
	}
	return nil
}

// setRoots has rules judge by the folders that the workspace has now.
func (r *rules) setRoots(ws *workspace.Workspace) {
	roots := ws.Folders()
	for _, real := range ws.RealFolders() {
		if !slices.Contains(roots, real) {
			roots = append(roots, real)
		}
	}
	r.roots.Store(&roots)
}

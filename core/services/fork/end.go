package fork

import (
	"context"
	"errors"
	"path/filepath"
)

// DataDir returns the directory for the data of sessions that work on the fork, which is removed with it.
func (f *Fork) DataDir() string { return filepath.Join(f.dir, "data") }

// End closes the fork, and drops it unless it has changes that are not merged.
func (f *Fork) End(ctx context.Context) error {
	if err := f.merged(ctx); err != nil {
		return f.Close()
	}
	return errors.Join(f.drop(ctx), f.Close())
}

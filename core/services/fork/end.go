package fork

import (
	"context"
	"errors"
	"path/filepath"
)

// DataDir returns the directory for the data of sessions that work on the fork, which is removed with it.
func (f *Fork) DataDir() string { return filepath.Join(f.dir, "data") }

// Uppers returns the upper directories by the directories that show them; nil in mode Copy.
func (f *Fork) Uppers() map[string]string {
	if f.Mode == Copy {
		return nil
	}
	all := make(map[string]string)
	for _, l := range f.Layers() {
		all[l.Dir] = l.Upper
	}
	return all
}

// End closes the fork, and drops it unless it has changes that are not merged. ignored, if not nil, reports whether
// git ignores an absolute path: such a change does not keep the fork.
func (f *Fork) End(ctx context.Context, ignored func(path string) bool) error {
	if n, err := f.unmerged(ctx, ignored); err != nil || n > 0 {
		return f.Close()
	}
	return errors.Join(f.drop(ctx), f.Close())
}

// unmerged returns the number of changes that are not in the directories, without those of ignored files.
func (f *Fork) unmerged(ctx context.Context, ignored func(path string) bool) (int, error) {
	r, err := f.Compare(ctx, ignored)
	if err != nil {
		return 0, err
	}
	return r.count(func(i File) bool { return !i.Ignored && (i.Verdict == Clean || i.Verdict == Conflict) }), nil
}

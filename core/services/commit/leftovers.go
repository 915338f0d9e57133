package commit

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// sweep looks for what killed runs left in the folder, once for each folder
// and Committer. The folder's lock is held, so no temporary file in it belongs
// to a commit under way. Rubbish is removed: unnamed parts, and whole files
// that hold one of the two versions that their name tells. Anything else is
// somebody's work that a commit displaced and could not judge any more: it
// stays where it is and is reported.
func (t *transaction) sweep(ctx context.Context, folder folderID) {
	t.mu.Lock()
	_, done := t.swept[folder]
	t.swept[folder] = struct{}{}
	t.mu.Unlock()
	if done {
		return
	}
	names, err := t.dir.Readdirnames(-1)
	if err != nil {
		t.log.Warn("folder could not be searched for leftovers", "folder", t.folderPath(), "error", err)
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		if partPattern.MatchString(name) {
			t.discard(name)
			continue
		}
		versions := tempPattern.FindStringSubmatch(name)
		switch {
		case versions == nil:
		case t.isRubbish(ctx, name, versions[1:]):
			t.discard(name)
			t.log.Info("removed a leftover of an interrupted write", "path", filepath.Join(t.folderPath(), name))
		default:
			t.reportKept(name)
		}
	}
}

// isRubbish says that nobody misses the file: it holds one of the versions,
// and nobody can write to it.
func (t *transaction) isRubbish(ctx context.Context, name string, versions []string) bool {
	found, err := t.system.look(t.dir, name)
	if err != nil || !found.mode.IsRegular() {
		return false
	}
	file, err := t.system.openRead(t.dir, name)
	if err != nil {
		return false
	}
	w := &watch{system: t.system, file: file}
	defer w.end()
	if info, err := workspace.InfoOf(file); err != nil || !info.Mode.IsRegular() {
		return false
	}
	if err := w.takeLease(ctx, 0); err != nil {
		return false
	}
	if w.want, err = hashOf(file); err != nil {
		return false
	}
	for _, version := range versions {
		if strings.HasPrefix(w.want, version) {
			return w.quiet()
		}
	}
	return false
}

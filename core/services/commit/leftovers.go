package commit

import (
	"context"
	"io"
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
	t.mu.Unlock()
	if done {
		return
	}
	leftovers, err := t.leftovers(ctx)
	if err != nil {
		t.log.Warn("folder could not be searched for leftovers", "folder", t.folderPath(), "error", err)
		return
	}
	for _, name := range leftovers {
		if partPattern.MatchString(name) {
			t.discard(name)
			continue
		}
		versions := tempPattern.FindStringSubmatch(name)
		rubbish := t.isRubbish(ctx, name, versions[1:])
		switch {
		case ctx.Err() != nil:
			return // it could not be judged
		case rubbish:
			t.discard(name)
			t.log.Info("removed a leftover of an interrupted write", "path", filepath.Join(t.folderPath(), name))
		default:
			t.reportKept(name)
		}
	}
	t.mu.Lock()
	t.swept[folder] = struct{}{}
	t.mu.Unlock()
}

// leftovers lists the folder's files whose names are those of our temporaries.
func (t *transaction) leftovers(ctx context.Context) ([]string, error) {
	const batch = 1000
	var found []string
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		names, err := t.system.list(t.dir, batch)
		for _, name := range names {
			if partPattern.MatchString(name) || tempPattern.MatchString(name) {
				found = append(found, name)
			}
		}
		switch {
		case err == io.EOF:
			return found, nil
		case err != nil:
			return nil, err
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
	w := &watch{system: t.system, file: file, want: content{size: unlimited}}
	defer w.end()
	if info, err := workspace.InfoOf(file); err != nil || !info.Mode.IsRegular() {
		return false
	}
	if err := w.takeLease(ctx, 0); err != nil {
		return false
	}
	if w.want.sum, err = hashOf(ctx, file, unlimited); err != nil {
		return false
	}
	for _, version := range versions {
		if strings.HasPrefix(w.want.sum, version) {
			return w.quiet(ctx)
		}
	}
	return false
}

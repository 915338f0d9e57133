package rules

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/policy"
)

// tree finds the files in directories that confined commands must not read. It caches
// the entries of each directory until the directory changes. The zero value is
// empty; it is safe for concurrent use.
type tree struct {
	mu    sync.Mutex
	known map[string]*listing
	rules int // version of the rules that decided about withheld files
}

// listing is the relevant content of a directory.
type listing struct {
	state    state
	read     time.Time
	below    []string // directories to search, by path
	withheld []string
}

// state is the identity of a directory and the time of its last change, which
// programs cannot set.
type state struct {
	dev, ino uint64
	changed  time.Time
}

// settled is the age of a directory's change time from which every further change of
// the directory gives it a later time.
const settled = 2 * time.Second

// Withheld returns the existing files in some directories that read_file may not show
// without approval. It also returns the directories that cannot be searched for such
// files, because a command could make them readable. The error has code cancelled.
func (r *Rules) Withheld(ctx context.Context, dirs []string) ([]string, error) {
	if !r.withholds() {
		return nil, nil
	}
	t := &r.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if version := len(r.Engine.Rules()); t.known == nil || t.rules != version {
		t.known, t.rules = map[string]*listing{}, version
	}
	var withheld []string
	seen := map[string]bool{}
	for queue := slices.Clone(dirs); len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if l := t.list(dir, r); l != nil && !seen[dir] {
			seen[dir] = true
			withheld, queue = append(withheld, l.withheld...), append(queue, l.below...)
		}
	}
	for dir, upper := range r.uppers {
		added, err := r.withheldIn(ctx, dir, upper)
		if err != nil {
			return nil, err
		}
		withheld = append(withheld, added...)
	}
	slices.Sort(withheld)
	return slices.Compact(withheld), nil
}

// withheldIn returns the withheld files in the upper directory of a forked one, by their names in that one.
func (r *Rules) withheldIn(ctx context.Context, dir, upper string) (withheld []string, err error) {
	return withheld, filepath.WalkDir(upper, func(name string, e fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, name[len(upper):])
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			withheld = append(withheld, path) // it cannot be searched
		case e.Type().IsRegular() && r.refuses(path):
			withheld = append(withheld, path)
		}
		return nil
	})
}

// IsProtected reports whether an absolute path without links is protected.
func (r *Rules) IsProtected(path string) bool {
	return r.Engine.Protects(path, r.Roots()) || gitdir.IsMember(path)
}

// Steering returns the paths in the workspace, outside of .git, that determine which
// programs git runs in the repositories of some absolute paths named .git, and of the
// workspace directories; see [gitdir.Watch.Steering].
func (r *Rules) Steering(existing []string) (paths []string) {
	roots := r.Roots()
	tops := slices.Clone(roots)
	for _, path := range existing {
		if filepath.Base(path) == ".git" {
			tops = append(tops, filepath.Dir(path))
		}
	}
	slices.Sort(tops)
	for _, top := range slices.Compact(tops) {
		for _, path := range r.repos.Steering(top) {
			inside := slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(path, root+string(filepath.Separator)) })
			if inside && !slices.Contains(strings.Split(path, string(filepath.Separator)), ".git") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Repositories returns the directories that linked work trees in exactly some
// directories share with their repositories; see [gitdir.SharedDirectory].
func (*Rules) Repositories(dirs []string) (shared []string) {
	for _, dir := range dirs {
		if path := gitdir.SharedDirectory(dir); path != "" {
			shared = append(shared, path)
		}
	}
	return shared
}

// list returns the listing of a directory, nil if it does not exist.
func (t *tree) list(dir string, r *Rules) *listing {
	now, ok := stateOf(dir)
	if !ok {
		return nil
	}
	if l := t.known[dir]; l != nil && l.state == now && l.read.Sub(now.changed) > settled {
		return l
	}
	l := &listing{state: now, read: time.Now()}
	t.known[dir] = l
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) || !searchable(dir) {
		l.withheld = []string{dir}
		return l
	}
	if err != nil {
		delete(t.known, dir)
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			l.below = append(l.below, path)
		case e.Type().IsRegular() && r.refuses(path):
			l.withheld = append(l.withheld, path)
		}
	}
	return l
}

// withholds reports whether a rule may deny or ask about a file that read_file would
// show.
func (r *Rules) withholds() bool {
	return slices.ContainsFunc(r.Engine.Rules(), func(rule policy.Rule) bool {
		return rule.Decision != policy.Allow && rule.ArgsPattern != "" && rule.Server == "" &&
			slices.ContainsFunc(rule.Tools, func(tool string) bool { return strings.Contains(tool, "*") || strings.Contains(tool, "read") })
	})
}

// refuses reports whether the rules deny, or ask about, showing a file.
func (r *Rules) refuses(path string) bool {
	args, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		return true
	}
	call, _ := policy.WellKnown("read_file")
	call.Params, call.Dir, call.Roots = args, r.workspace.Target(), r.Roots()
	return r.Engine.Decide(call).Decision != policy.Allow
}

package discovery

import (
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxIgnoreFile limits the bytes read of one ignore file.
const maxIgnoreFile = 1 << 20

// readSmall reads and closes a file that was just opened; ok is false if that failed or it is not a
// regular file.
func readSmall(f *os.File, err error) (text string, ok bool) {
	if err != nil {
		return "", false
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := workspace.InfoOf(f); err != nil || !info.Mode.IsRegular() {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	return string(data), err == nil
}

// readExclude reads info/exclude of the repository whose root directory is open. If .git is a file,
// it names the repository's git directory, which is used if it is below the root.
func readExclude(root *workspace.Dir) (text string, ok bool) {
	git := gitName
	if text, ok := readSmall(root.Open(gitName)); ok {
		to, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
		git = path.Clean(filepath.ToSlash(to))
		if !ok || path.IsAbs(git) || filepath.IsAbs(to) || git == ".." || strings.HasPrefix(git, "../") {
			return "", false
		}
	}
	info, err := root.Below(path.Join(git, "info"))
	if err != nil {
		return "", false
	}
	defer info.Close()
	return readSmall(info.Open("exclude"))
}

// outermost returns the scope above a workspace directory: custom ignore files, whose anchored
// rules start at the workspace directory, and those of git further up.
func (f *Finder) outermost(top string) *Scope {
	s := &Scope{top: top, git: f.options.above(top)}
	for _, name := range f.options.CustomFiles {
		p, err := f.files.Resolve(name)
		if err != nil {
			continue
		}
		text, ok := readSmall(f.files.OpenRead(p))
		if file := newRuleFile(p.String(), "", text); ok && file != nil {
			s.custom = append(s.custom, level{file, file.anchored})
		}
	}
	return s
}

// scopeOf returns the scope of the directory dir, and dir itself, open. Rules are read on the path
// from its workspace directory. If named, an ignored directory on that path counts as named by the
// caller. If dir cannot be opened the scope is returned with the error, unless ctx has ended.
func (f *Finder) scopeOf(ctx context.Context, dir workspace.Path, named bool) (*Scope, *workspace.Dir, error) {
	top, err := f.files.Resolve(dir.Root())
	if err != nil {
		return nil, nil, err
	}
	directory, err := f.files.OpenDir(top)
	scope := f.options.enter(f.outermost(top.Root()), directory, "", markersOf(directory))
	if dir.Rel() == "." {
		return scope, directory, err
	}
	at := ""
	for element := range strings.SplitSeq(dir.Rel(), "/") {
		if directory != nil {
			directory.Close()
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, cancelled(err)
		}
		verdict := scope.Directory
		if v := scope.Check(element, true); v.Ignored {
			if !verdict.Ignored {
				verdict = v
			}
			if named {
				scope = &Scope{top: scope.top, inGit: scope.inGit}
			}
		}
		at = join(at, element)
		p, errOf := f.files.Resolve(filepath.Join(top.Root(), filepath.FromSlash(at)))
		if errOf != nil {
			return nil, nil, errOf
		}
		directory, err = f.files.OpenDir(p)
		scope = f.options.enter(scope, directory, at, markersOf(directory))
		scope.Directory = verdict
	}
	return scope, directory, err
}

// markersOf returns the names to try in a directory that is not listed; none if it could not be
// opened.
func markersOf(directory *workspace.Dir) markers {
	if directory == nil {
		return markers{}
	}
	_, err := directory.Lstat(gitName)
	return markers{gitIgnore: true, own: true, repository: err == nil}
}

func cancelled(err error) error {
	return fault.Wrap(fault.Cancelled, "discovery.walk", "The search was cancelled.", "", err)
}

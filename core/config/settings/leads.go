package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// SetIn is [Set] for the file of a project, which may be untrusted: a file that
// leaves the directory by a link, even a dangling one, is not changed. The error
// has code invalid_config then.
func SetIn(ctx context.Context, dir, file, key string, value any) error {
	if to, out := leadsOut(file, dir); out {
		return fault.New(fault.InvalidConfig, "settings.set", fmt.Sprintf("Nothing was changed: the project's settings file %s is a link out of the project, to %s.", file, to),
			"Replace the link by a file.")
	}
	return Set(ctx, file, key, value)
}

// elsewhere returns the problem of a project's file that leaves the project by a
// link. The target is not read, because it may be confidential.
func elsewhere(f File, to string) fault.Problem {
	return fault.Problem{Path: f.Path, Layer: f.Layer, Kind: KindFileRead, Severity: Error, Open: true,
		Message: fmt.Sprintf("It cannot be read (it is a link out of the project, to %s); none of its settings applies.", to),
		Remedy:  "Replace the link by a file."}
}

// leadsOut reports whether a path below a directory leaves it by a link, and
// returns the target; "somewhere" if it cannot be determined.
func leadsOut(path, dir string) (to string, out bool) {
	to, err := leadsTo(path, new(int))
	if err != nil {
		return "somewhere", true
	}
	top, err := leadsTo(dir, new(int))
	if err != nil {
		return to, true
	}
	rel, err := filepath.Rel(top, to)
	return to, err != nil || !filepath.IsLocal(rel)
}

// leadsTo resolves all links of a path, including dangling ones. links counts the
// resolved links, which bounds the work.
func leadsTo(path string, links *int) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path, nil
	}
	if dir, err = leadsTo(dir, links); err != nil {
		return "", err
	}
	path = filepath.Join(dir, filepath.Base(path))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode()&fs.ModeSymlink == 0:
		return path, nil
	case err != nil:
		return "", err
	}
	if *links++; *links > lockedfile.MaxLinks {
		return "", lockedfile.ErrLoop
	}
	link, err := os.Readlink(path)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(link) {
		link = filepath.Join(dir, link)
	}
	return leadsTo(link, links)
}

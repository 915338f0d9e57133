package workspace

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
)

// Overlay shows the directory Dir together with the changes of a fork in Upper.
type Overlay struct {
	Dir   string // absolute, without links
	Upper string // likewise, outside of Dir; in the format of overlayfs with the option userxattr

	// Touch, if set, is called before a file of Dir is changed, created or removed in Upper while Upper has
	// no entry for it. Its error is that of the call. It may be called several times for a file, at the same
	// time, and for a change that is not made then.
	Touch func(Touched) error
}

// Touched describes a file that is about to be changed in a fork.
type Touched struct {
	Path   string      // relative to Dir, with slashes
	Absent bool        // Dir has no such file
	Mode   fs.FileMode // type and permissions
	Target string      // of a link
	// Open opens the bytes of a regular file of Dir for reading: those that the fork gets.
	Open func() (*os.File, error)
	// Check returns an error if the file of Dir is not the one that Open opens any more.
	Check func() error
}

// OpenOverlays is [Open] for directories that are shown with the changes of a fork: changes of files go to
// the upper directories, and nothing else is written. Directories without an Overlay are read-only. Names are
// those of the directories; the upper directories have none. Repositories (.git) are read-only.
//
// Errors have the code invalid_config, also for directories that contain each other, or fork_unsupported on
// systems other than Linux.
func OpenOverlays(overlays []Overlay, dirs ...string) (*Workspace, error) {
	const op = "workspace.open"
	if len(dirs) == 0 {
		return Open()
	}
	places := make(map[string]Overlay, len(overlays))
	for i, o := range overlays {
		for _, dir := range []string{o.Dir, o.Upper} {
			if _, real, err := checkDir(dir); err != nil {
				return nil, err
			} else if real != dir {
				return nil, fault.New(fault.InvalidConfig, op, "The directory "+show(dir)+" of a fork is not absolute, or contains a link.",
					"Use its name without links.")
			}
		}
		for _, other := range overlays[:i+1] {
			if nested(o.Upper, other.Dir) || nested(o.Dir, other.Upper) || other.Dir != o.Dir && nested(o.Dir, other.Dir) {
				return nil, fault.New(fault.InvalidConfig, op, "Two directories of a fork contain each other: "+show(o.Dir)+" and "+show(other.Dir)+".",
					"Use the outer directory only.")
			}
		}
		places[o.Dir] = o
	}
	w := &Workspace{openDir: openDirectory, forked: true}
	for _, dir := range dirs {
		_, real, err := checkDir(dir)
		if err != nil {
			return nil, err
		}
		var openDir func(string) (directory, error)
		o, ok := places[real]
		if ok {
			if openDir, err = o.opener(); err != nil {
				return nil, err
			}
		}
		if err := w.add(dir, !ok, openDir); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// nested reports whether one of two directories contains the other.
func nested(a, b string) bool {
	_, in := below(filepath.Clean(a), b)
	_, out := below(filepath.Clean(b), a)
	return in || out
}

func unsupportedFork(why string, err error) error {
	return fault.Wrap(fault.ForkUnsupported, "workspace.open", "A fork cannot be shown: "+why+".",
		"Set fork.copy to true, so that the fork is a copy of the directories.", err)
}

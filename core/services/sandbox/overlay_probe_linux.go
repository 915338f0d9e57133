//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ProbeOverlay returns the reason why commands cannot see a directory with an [Overlay] whose Upper lies
// in the directory state; nil if they can. It creates and removes a directory in state. A file system
// on which files can change without a new time, as a server's, is refused.
func ProbeOverlay(dir, state string) (err error) {
	if err := Probe(); err != nil {
		return err
	}
	if !onLocal(dir) {
		return &Error{Step: "use an overlay on " + dir, Err: errors.New("its file system is not known to record the time of each change")}
	}
	mounts, err := mountTable()
	if err != nil {
		return err
	}
	if m := mounts.below(dir); m != "" {
		return &Error{Step: "use an overlay on " + dir, Err: fmt.Errorf("another file system is mounted on %s", m)}
	}
	top, err := os.MkdirTemp(state, ".probe-")
	if err != nil {
		return &Error{Step: "try an overlay", Err: err}
	}
	defer func() { err = errors.Join(err, removeProbe(top)) }()
	o := Overlay{Dir: filepath.Join(top, "dir"), Upper: filepath.Join(top, "upper"), Work: filepath.Join(top, "work")}
	temp := filepath.Join(top, "temp")
	for _, d := range []string{filepath.Join(o.Dir, "d", "e"), filepath.Join(o.Dir, "f"), o.Upper, o.Work, temp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return &Error{Step: "try an overlay", Err: err}
		}
	}
	s := &Session{limit: ownLimit}
	defer s.Close()
	cmd := exec.Command(shell, "-c", "rm -r f d && mkdir d && >g") //nolint:noctx // ends at once
	cmd.Dir, cmd.Env = o.Dir, []string{"PATH=/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.Start(cmd, Rules{Writable: []string{o.Dir}, Temp: temp, Overlays: []Overlay{o}}); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return &Error{Step: "run a command in an overlay", Err: err}
	}
	info, err := os.Lstat(filepath.Join(o.Upper, "f"))
	if err != nil || !isWhiteout(info) {
		return &Error{Step: "use an overlay in " + state, Err: errors.New("its file system does not record removals")}
	}
	if !opaque(filepath.Join(o.Upper, "d")) {
		return &Error{Step: "use an overlay in " + state, Err: errors.New("its file system does not record replaced directories")}
	}
	return nil
}

// onLocal reports whether a directory is on a file system that records the time of each change.
func onLocal(dir string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(dir, &stat) == nil && (isLocal(stat.Type) || stat.Type == unix.OVERLAYFS_SUPER_MAGIC)
}

// removeProbe removes the directory of a probe. A directory of the kernel in it is not readable.
func removeProbe(top string) error {
	_ = os.Chmod(filepath.Join(top, "work", "work"), 0o700) //nolint:gosec // it is empty
	return os.RemoveAll(top)
}

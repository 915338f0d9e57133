//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// watches report the directories of a Tree that have changed, so that a scan reads only these.
// inotify queues an event before the system call that changes a directory returns. So when a command
// has ended, the events of all its changes are queued.
//
// A nil *watches is valid: nothing is watched.
type watches struct {
	fd       int                  // of inotify
	mounts   int                  // /proc/self/mountinfo: a mount changes the content of paths without an event
	left     int                  // how many more directories may be watched
	byNumber map[int32]*directory // the watched directories
	local    map[uint64]bool      // by device: whether all changes are made by this machine
}

// unwatchable is the number of a directory that cannot be watched.
const unwatchable = -1

// maxWatches is the maximum number of watched directories. Each takes about a kilobyte of the
// kernel's memory. Not more than a quarter of the user's limit is used, because editors need some.
const maxWatches = 1 << 14

// newWatches returns nil if the machine has none to offer.
func newWatches() *watches {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(limit)))
	if err != nil {
		return nil
	}
	w := &watches{left: min(maxWatches, n/4), byNumber: make(map[int32]*directory), local: make(map[uint64]bool)}
	if w.mounts, err = unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil
	}
	if w.fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		_ = unix.Close(w.mounts)
		return nil
	}
	return w
}

func (w *watches) close() {
	if w == nil {
		return
	}
	_ = unix.Close(w.fd)
	_ = unix.Close(w.mounts)
	for _, d := range w.byNumber {
		d.watch = 0
	}
}

// drain marks the directories that have changed as dirty. It reports whether any directory may have
// changed, because events were dropped or something was mounted.
func (w *watches) drain() (all bool) {
	if w == nil {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(w.mounts), Events: unix.POLLPRI}} //nolint:gosec // a descriptor
	if n, err := unix.Poll(poll, 0); n > 0 || err != nil {
		all = true
	}
	var space [16 << 10]byte
	for {
		n, err := unix.Read(w.fd, space[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return all || err != unix.EAGAIN
		}
		for events := space[:n]; len(events) >= unix.SizeofInotifyEvent; {
			number, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:]) //nolint:gosec // as in the kernel
			events = events[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(events[12:]):]
			d := w.byNumber[number]
			switch {
			case mask&unix.IN_Q_OVERFLOW != 0:
				all = true
			case d == nil: // not watched any more
			case mask&unix.IN_IGNORED != 0: // it was removed
				delete(w.byNumber, number)
				w.left++
				d.watch, d.dirty = 0, true
			default:
				d.dirty = true
			}
		}
	}
}

// add watches an open directory, before it is read.
func (w *watches) add(fd int, d *directory) {
	if w == nil {
		return
	}
	d.watch = unwatchable
	if w.left <= 0 || !w.isLocal(fd, d.id.dev) {
		return
	}
	const changes = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR
	number, err := unix.InotifyAddWatch(w.fd, procPath(fd), changes)
	if err != nil {
		return
	}
	n := int32(number) //nolint:gosec // as in the kernel
	if before := w.byNumber[n]; before != nil {
		before.watch = unwatchable // the same directory, read before or by another path
	} else {
		w.left--
	}
	w.byNumber[n], d.watch = d, n
}

// isLocal reports whether each change of a file system causes an event on this machine, which is
// known of some.
func (w *watches) isLocal(fd int, device uint64) bool {
	local, known := w.local[device]
	if !known {
		var stat unix.Statfs_t
		if unix.Fstatfs(fd, &stat) == nil {
			local = isLocal(stat.Type)
		}
		w.local[device] = local
	}
	return local
}

// isLocal reports whether all changes of a type of file system are made by this machine.
func isLocal(fsType int64) bool {
	switch fsType {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// end ends the watch of a directory.
func (w *watches) end(d *directory) {
	if w != nil && d.watch > 0 && w.byNumber[d.watch] == d {
		_, _ = unix.InotifyRmWatch(w.fd, uint32(d.watch)) //nolint:gosec // as in the kernel
		delete(w.byNumber, d.watch)
		w.left++
	}
	d.watch = 0
}

// endAll ends the watches of a directory, which may be nil, and of those in it.
func (w *watches) endAll(d *directory) {
	if w == nil || d == nil {
		return
	}
	w.end(d)
	for _, sub := range d.dirs {
		w.endAll(sub)
	}
}

package fork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// mounting is the state of the directories when a mount was prepared.
type mounting struct {
	roots []int    // descriptors of the directories, which cannot be replaced unnoticed
	file  *os.File // the first of the files mounted
	start moment
}

// moment is a time of the clock by which file systems stamp changes, and of one that is never set.
type moment struct{ files, boot time.Duration }

func now() (m moment, err error) {
	var files, boot unix.Timespec
	err = errors.Join(unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &files), unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot))
	return moment{time.Duration(files.Nano()), time.Duration(boot.Nano())}, err
}

// setBack reports whether the clock of files was set back between two moments.
func (m moment) setBack(later moment) bool {
	const resolution = 20 * time.Millisecond
	passed := later.boot - m.boot
	return later.files-m.files < passed-passed/100-resolution
}

// lockMounts locks the files mounted: for this mount alone, or shared with other mounts.
func (m *Mount) lock(ctx context.Context, alone bool) (unlock func(), err error) {
	f := m.f
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	var files []*os.File
	unlock = func() {
		for _, file := range files {
			lockedfile.Unlock(file) // a child that is being started may have the descriptor
			_ = file.Close()
		}
	}
	for n := range f.Dirs {
		file, err := os.OpenFile(f.place(n, "mounted"), os.O_RDWR|os.O_CREATE, lockedfile.FileMode)
		if err == nil {
			files = append(files, file)
			err = flock(ctx, file, how)
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
	m.on.file = files[0]
	return unlock, nil
}

func flock(ctx context.Context, file *os.File, how int) error {
	const longest = 20 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// begin prepares the work directories, and remembers the directories as they are.
func (m *Mount) begin(ctx context.Context) error {
	if m.write {
		if err := m.enter(ctx); err != nil {
			return err
		}
		if err := m.f.doubtLeft(ctx); err != nil {
			return err
		}
		for n := range m.f.Dirs {
			if err := emptied(m.f.place(n, "work")); err != nil {
				return err
			}
		}
	}
	for _, dir := range m.f.Dirs {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: dir, Err: err}
		}
		m.on.roots = append(m.on.roots, fd)
	}
	var err error
	m.on.start, err = now()
	return err
}

// enter marks the file mounted. If an earlier mount has left its mark, its process was killed, and so the
// processes of its command are about to end: enter waits until none of them has an overlay mounted.
func (m *Mount) enter(ctx context.Context) error {
	info, err := m.on.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		_, err = m.on.file.WriteString("in use\n")
		return err
	}
	const longest, pause = 2 * time.Second, 5 * time.Millisecond // another fork may be mounted on the same directory
	for begun := time.Now(); isMounted(m.f.Dirs) && time.Since(begun) < longest; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// isMounted reports whether a process has an overlay mounted on one of the directories.
func isMounted(dirs []string) bool {
	tables, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	escape := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)
	for _, name := range tables {
		table, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			if len(fields) > 4 && strings.Contains(line, " - overlay ") && slices.ContainsFunc(dirs, func(dir string) bool { return escape.Replace(dir) == fields[4] }) {
				return true
			}
		}
	}
	return false
}

// doubtLeft records that the base of each file is in doubt that an earlier command has changed without
// a record: its process was killed, or could not write the records.
func (f *Fork) doubtLeft(ctx context.Context) error {
	f.mu.Lock()
	complete := f.complete
	f.complete = false // until the end of the mount
	f.mu.Unlock()
	if complete {
		return nil
	}
	for n := range f.Dirs {
		fd, err := unix.Open(f.Dirs[n], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: f.Dirs[n], Err: err}
		}
		s := &scan{f: f, dir: n}
		err = s.top(ctx, fd, "an earlier command was ended before its changes were recorded")
		_ = unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// emptied removes what an earlier mount has left in a work directory.
func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// end records the bases.
func (m *Mount) end(ctx context.Context) error {
	if !m.write {
		return nil
	}
	later, err := now()
	if err != nil {
		return err
	}
	for n, dir := range m.f.Dirs {
		doubt := ""
		switch {
		case m.on.start.setBack(later):
			doubt = "the clock was set back while the command ran"
		case !leadsTo(dir, m.on.roots[n]):
			doubt = "the directory " + dir + " was replaced while the command ran"
		}
		s := &scan{f: m.f, dir: n, start: m.on.start.files}
		if err := s.top(ctx, m.on.roots[n], doubt); err != nil {
			return err
		}
	}
	m.f.mu.Lock()
	m.f.complete = true
	m.f.mu.Unlock()
	return m.on.file.Truncate(0)
}

// leadsTo reports whether a path is that of an open directory.
func leadsTo(path string, fd int) bool {
	var a, b unix.Stat_t
	return unix.Lstat(path, &a) == nil && unix.Fstat(fd, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

func (m *Mount) release() {
	for _, fd := range m.on.roots {
		_ = unix.Close(fd)
	}
	m.on.roots = nil
	if m.unlock != nil {
		m.unlock()
		m.unlock = nil
	}
}

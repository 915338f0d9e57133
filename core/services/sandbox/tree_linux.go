//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Tree knows the protected names in the writable directories of a session, and moves away those
// that confined commands create. It is safe for concurrent use.
//
// A scan reads the directories that have changed. It costs one system call for each directory that
// cannot be watched, and none for the others. Protected directories are not searched.
// A directory with a path of more than longest bytes is protected too, because names in it could be
// out of reach.
type Tree struct {
	isProtected func(path string) bool
	alive       func() bool // whether processes of ended commands still run
	recovery    func() (string, error)

	mu       sync.Mutex
	roots    map[string]*directory
	watches  *watches // nil before the first Begin and after Close
	all      bool     // watched directories may have changed without an event
	known    map[string]identity
	also     []string    // protected paths that isProtected does not report
	active   int         // commands between Begin and End
	lasting  int         // those of them that last
	paused   int         // unconfined commands between Pause and adopt
	timer    *time.Timer // of the next Watch; nil: none
	shared   bool        // confined processes may have run since the last scan
	keeping  bool        // the scan keeps new names
	sockets  map[string]*socket
	expected map[string]int    // paths that approved changes are creating, with their number
	removed  []string          // not reported yet
	failed   map[string]error  // why paths were not removed; not reported yet
	stuck    map[identity]bool // files that could not be moved away, and so never become the user's
}

// longest leaves room for one more name in a path that the kernel accepts.
const longest = 3800

// identity is a file, independent of its path. The inode of a removed file can be used again, but not
// its time of birth.
type identity struct {
	dev, ino uint64
	born     unix.StatxTimestamp // zero for directories that are searched
}

// identityOf returns the identity of a file; false if there is none.
func identityOf(path string) (identity, bool) {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &s) != nil {
		return identity{}, false
	}
	return identity{unix.Mkdev(s.Dev_major, s.Dev_minor), s.Ino, s.Btime}, true
}

// directory is the content of a directory when it was read.
type directory struct {
	id      identity
	changed unix.Timespec         // the time of its last change
	again   bool                  // it may have changed since within the resolution of that time
	watch   int32                 // number of its watch; 0: none; or unwatchable
	dirty   bool                  // it has changed
	dirs    map[string]*directory // by path
	names   map[string]identity   // its protected entries, by path
	sockets map[string]identity   // by path
}

// NewTree returns a Tree of protected paths as isProtected reports them. alive reports whether
// processes of ended commands still run. recovery returns the directory to which created paths are
// moved, and creates it; commands must not be able to write in it.
func NewTree(isProtected func(path string) bool, alive func() bool, recovery func() (string, error)) *Tree {
	return &Tree{isProtected: isProtected, alive: alive, recovery: recovery, roots: make(map[string]*directory), known: make(map[string]identity), sockets: make(map[string]*socket), expected: make(map[string]int), stuck: make(map[identity]bool), failed: make(map[string]error)}
}

// Begin returns the protected paths that exist in the directories, before a command that may write
// in them. Paths that have appeared since the last call belong to the user, unless a confined
// process has been running in the meantime: then they are moved away, and the next End reports
// them.
//
// also returns further protected paths, which need not exist, given the existing ones; nil: there
// are none. One that is new in its answer belongs to the user if it exists.
func (t *Tree) Begin(dirs []string, also func(existing []string) []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watches == nil {
		t.watches = newWatches()
	}
	for _, dir := range dirs {
		if t.roots[dir] == nil {
			t.roots[dir] = new(directory) // not read before, so all in it is the user's
			t.keeping = true
			t.scan(dir)
		}
	}
	t.settle(!t.shared)
	t.active++
	t.shared = true
	t.wait(period)
	if also != nil {
		t.extend(dirs, also(slices.Sorted(maps.Keys(t.known))))
	}
	return slices.Sorted(maps.Keys(t.known))
}

// Existing returns the protected paths that exist in the directories, in which no command may write. They
// are the user's. A Tree has either calls of Existing or of Begin.
func (t *Tree) Existing(dirs []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watches == nil {
		t.watches = newWatches()
	}
	t.all, t.keeping = t.watches.drain(), true
	for _, dir := range dirs {
		if t.roots[dir] == nil {
			t.roots[dir] = new(directory)
		}
		t.scan(dir)
	}
	return slices.Sorted(maps.Keys(t.known))
}

// extend replaces the additional protected paths by those of paths that lie in the directories.
func (t *Tree) extend(dirs, paths []string) {
	before := t.also
	t.also = nil
	for _, path := range paths {
		inside := slices.ContainsFunc(dirs, func(dir string) bool { return dir != path && Below(dir, path) })
		if !inside || t.isProtected(path) || slices.ContainsFunc(dirs, func(dir string) bool { return Below(path, dir) }) {
			continue
		}
		t.also = append(t.also, path)
		if id, exists := identityOf(path); exists && !slices.Contains(before, path) {
			t.known[path] = id
		}
	}
}

// End moves away the protected paths that have appeared since Begin, and returns them and those
// that Begin moved. It is called once for each Begin, when the command has ended. If a path could
// not be moved, it is reported, and the error is the reason.
func (t *Tree) End() ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active--
	t.settle(false)
	return t.report()
}

// report returns the paths that were moved away and not reported yet.
func (t *Tree) report() ([]string, error) {
	removed := t.removed
	t.removed = nil
	slices.Sort(removed)
	return slices.Compact(removed), t.failure()
}

// failure returns the reasons why paths were not removed that were not reported yet.
func (t *Tree) failure() error {
	var all []error
	for _, path := range slices.Sorted(maps.Keys(t.failed)) {
		all = append(all, t.failed[path])
	}
	clear(t.failed)
	return errors.Join(all...)
}

// Cancel replaces End if the command was not started. It does not scan.
func (t *Tree) Cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active--
}

// Pause moves away the protected paths that confined processes have created, before an unconfined
// command that may create some. The next End reports them. adopt is called after the command and
// keeps the names that have appeared in the meantime.
func (t *Tree) Pause() (adopt func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shared {
		return func() {} // the next Begin keeps what it finds
	}
	t.settle(false)
	t.paused++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.paused--
		t.settle(true)
	}
}

// Expect keeps the given paths, and the protected directories that contain them, if they appear
// before the returned function is called.
func (t *Tree) Expect(paths []string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared {
		t.settle(false) // an earlier path of that name is not the expected one
	}
	for _, path := range paths {
		t.expected[path]++
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.shared {
			t.settle(false)
		}
		for _, path := range paths {
			if t.expected[path]--; t.expected[path] == 0 {
				delete(t.expected, path)
			}
		}
	}
}

// isExpected reports whether a protected path is expected or contains an expected one.
func (t *Tree) isExpected(path string) bool {
	for expected := range t.expected {
		if Below(path, expected) {
			return true
		}
	}
	return false
}

// Remove moves away the protected paths that running confined processes have created, and returns
// them and those that were not reported yet.
func (t *Tree) Remove() ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared {
		t.settle(false)
	}
	return t.report()
}

// Close moves away the protected paths that confined processes have created since the last scan.
// Processes that still run are those of commands whose End follows. It releases the resources that
// Begin has allocated. The error is the reason why a path could not be moved.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(!t.shared)
	if t.timer != nil && !t.shared {
		t.timer.Stop()
		t.timer = nil
	}
	t.watches.close()
	t.watches = nil
	return t.failure()
}

// Lasting changes the number of active commands that last, such as servers and background
// processes. While no other confined process runs, names are moved away every second or, in large
// directories, less often. A command that runs for a short time may use such names until it ends.
func (t *Tree) Lasting(change int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lasting += change
}

// period is the time between the scans while only processes run that last.
const period = time.Second

// wait starts the timer of the next scan.
func (t *Tree) wait(d time.Duration) {
	if t.timer == nil {
		t.timer = time.AfterFunc(d, t.look)
	}
}

// look scans the directories if only processes run that last, or that ended commands have left. It
// takes at most a twentieth of the time.
func (t *Tree) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil || !t.shared {
		t.timer = nil
		return
	}
	t.timer = nil
	begun := time.Now()
	if t.active == t.lasting && t.paused == 0 {
		t.settle(false)
	}
	if t.shared {
		t.wait(max(period, 20*time.Since(begun)))
	}
}

// settle scans all directories, and keeps or moves away new names. A process that ends during the
// scan may have created names in directories that were scanned before.
func (t *Tree) settle(keep bool) {
	t.shared, t.keeping = t.active > 0 || t.alive(), keep
	t.all = t.watches.drain()
	for _, root := range slices.Sorted(maps.Keys(t.roots)) {
		t.scan(root)
	}
}

func (t *Tree) scan(root string) {
	found, sockets := make(map[string]identity), make(map[string]identity)
	if d := t.visit(root, t.roots[root], true, found, sockets); d != nil {
		t.roots[root] = d
	}
	t.judge(root, sockets)
	for _, path := range t.also {
		if id, exists := identityOf(path); exists && Below(root, path) {
			found[path] = id
		}
	}
	before := make(map[identity]bool) // a known path may have moved with its parent
	for _, id := range t.known {
		before[id] = true
	}
	for path := range t.known {
		if _, ok := found[path]; !ok && Below(root, path) {
			delete(t.known, path)
		}
	}
	for path, id := range found {
		if known, ok := t.known[path]; t.keeping && !t.stuck[id] || ok && known == id || before[id] || t.isExpected(path) {
			t.known[path] = id
			continue
		}
		delete(t.known, path)
		t.take(root, path, id)
	}
}

// take moves a protected path away, again if a process has put another file there meanwhile.
func (t *Tree) take(root, path string, id identity) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		err := t.remove(root, path)
		if err == nil {
			delete(t.failed, path)
			break
		}
		now, exists := identityOf(path)
		if !exists {
			return // a process has removed it
		}
		if now == id || attempt == attempts {
			t.failed[path], t.stuck[now] = err, true
			break
		}
		id = now
	}
	t.removed = append(t.removed, path)
}

// visit returns the current content of a directory, given the earlier one, and adds the protected
// paths and the sockets in it to found and sockets. It returns nil if it is no directory. replaced
// states that another directory may have got its path.
func (t *Tree) visit(path string, d *directory, replaced bool, found, sockets map[string]identity) *directory {
	before := d
	if d == nil || d.watch <= 0 || d.dirty || t.all || replaced {
		if d = t.refresh(path, d); d != before {
			t.watches.endAll(before)
		}
		if d == nil {
			return nil
		}
	}
	maps.Copy(found, d.names)
	maps.Copy(sockets, d.sockets)
	for path, sub := range d.dirs {
		if now := t.visit(path, sub, d != before || d.watch <= 0, found, sockets); now == nil {
			delete(d.dirs, path)
		} else if now != sub {
			d.dirs[path] = now
		}
	}
	return d
}

// refresh returns the current content of a directory, read if it may have changed. It returns nil if
// the path is no directory.
func (t *Tree) refresh(path string, d *directory) *directory {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if d != nil && d.id == idOf(&stat) && !d.dirty {
		switch {
		case d.watch > 0 && !t.all:
			return d
		case d.changed == stat.Ctim && !d.again && (d.watch != 0 || t.watches == nil):
			return d
		}
	}
	return t.read(path, &stat, d)
}

func idOf(stat *unix.Stat_t) identity { return identity{dev: stat.Dev, ino: stat.Ino} }

// recent reports whether a file that changed at a time could change again without a later time,
// because file systems store times with a resolution of a tick or of seconds.
func recent(changed unix.Timespec, now time.Time) bool {
	const tick, seconds = 50 * time.Millisecond, 2100 * time.Millisecond
	resolution := tick
	if changed.Nsec == 0 {
		resolution = seconds
	}
	return now.Sub(time.Unix(changed.Sec, changed.Nsec)) < resolution
}

// read reads a directory. It keeps the records of its subdirectories. If it cannot be read, its known
// names stay protected.
func (t *Tree) read(path string, stat *unix.Stat_t, before *directory) *directory {
	d := &directory{dirs: make(map[string]*directory), names: make(map[string]identity), sockets: make(map[string]identity)}
	begun := time.Now()
	fd, err := openDirectory(path)
	if err == nil {
		defer unix.Close(fd) //nolint:errcheck // nothing was written
		err = unix.Fstat(fd, stat)
	}
	d.id, d.changed, d.again = idOf(stat), stat.Ctim, recent(stat.Ctim, begun)
	var entries []os.DirEntry
	if err == nil {
		t.watches.add(fd, d)
		entries, err = os.ReadDir(procPath(fd))
	}
	if errors.Is(err, fs.ErrPermission) && !t.keeping {
		entries, err = readClosed(path)
	}
	if err != nil {
		t.watches.end(d)
		if before != nil && before.dirs != nil {
			t.watches.end(before)
			before.id, before.changed, before.again = d.id, d.changed, d.again
			return before
		}
	}
	for _, e := range entries {
		entry := path + "/" + e.Name()
		switch {
		case t.isProtected(entry), e.IsDir() && len(entry) > longest:
			if id, exists := identityOf(entry); exists {
				d.names[entry] = id
			}
		case e.Type() == fs.ModeSocket:
			d.sockets[entry], _ = identityOf(entry)
		case e.IsDir():
			d.dirs[entry] = nil
			if before != nil && before.id == d.id {
				d.dirs[entry] = before.dirs[entry]
				delete(before.dirs, entry)
			}
		}
	}
	return d
}

// openDirectory opens a directory if no part of its path is a link.
func openDirectory(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// readClosed reads a directory that a command has made unreadable.
func readClosed(path string) ([]os.DirEntry, error) {
	fd, err := openPath(unix.AT_FDCWD, path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	info, err := os.Stat(procPath(fd))
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(procPath(fd), info.Mode().Perm()|0o700); err != nil {
		return nil, err
	}
	defer os.Chmod(procPath(fd), info.Mode().Perm()) //nolint:errcheck // it stays readable
	return os.ReadDir(procPath(fd))
}

// openPath opens a directory, but not a link to one.
func openPath(parent int, path string) (int, error) {
	return unix.Openat(parent, path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

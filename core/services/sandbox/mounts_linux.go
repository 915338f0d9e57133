//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is the view that a command has of a path.
type mount struct {
	path   string
	source string // the path that is shown there; "": an empty directory
	write  bool
	dir    bool
	slot   int      // holds a copy of the source
	over   *Overlay // is shown instead of the source; nil: none
}

// maskedPath is the parent of an unreadable file and an unreadable directory, which replace masked
// paths.
const maskedPath = "/dev/.masked"

// mounts adds the steps that make the command's mounts.
func (s *Session) mounts(p *program, cmd *exec.Cmd, r Rules, stdin *os.File) error {
	aliases, err := r.check()
	if err != nil {
		return err
	}
	all, links, err := s.layout(cmd, r)
	if err != nil {
		return err
	}
	p.call("create a mount namespace", unix.SYS_UNSHARE, unix.CLONE_NEWNS)
	// The sources are copied first: afterwards the root is read-only, and parents may be hidden.
	for i := range all {
		if m := &all[i]; m.source != "" {
			m.slot = p.slot()
			attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
			if !m.write {
				attributes |= unix.MOUNT_ATTR_RDONLY
			}
			if m.over != nil {
				if err := p.overlay(m.over, m.slot, attributes, m.write); err != nil {
					return err
				}
				continue
			}
			p.copyTree(m.source, m.slot, attributes)
		}
	}
	nodes := p.copyDevices(stdin)
	p.setAttributes("/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, unix.AT_RECURSIVE)
	for i, m := range all {
		outer := enclosing(all[:i], m.path)
		if outer != nil && (outer.source == "" || outer.source != outer.path) {
			p.makeMountpoint(outer.path, m)
		}
		switch {
		case m.path == "/dev":
			p.tmpfs(m.path)
			p.devices(nodes)
		case m.source == "":
			p.tmpfs(m.path)
		default:
			p.attach(m.slot, m.path)
		}
	}
	for _, l := range links {
		p.call("create the link "+l[0], unix.SYS_SYMLINKAT, p.text(l[1]), atCWD, p.text(l[0])).attempt()
	}
	for _, m := range all {
		if m.source == "" && !m.write {
			p.setAttributes(m.path, unix.MOUNT_ATTR_RDONLY, 0)
		}
	}
	p.call("mount /proc", unix.SYS_MOUNT, p.text("proc"), p.text("/proc"), p.text("proc"),
		unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, 0)
	if !r.ReadOnly {
		for _, path := range r.existing(r.Pinned) {
			p.cover(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
		}
		for _, path := range r.existing(r.Protected) {
			p.cover(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
		}
	}
	masked := slices.Concat(aliases, r.Masked, reachableSockets(all, r.Temp, s.o.Network))
	for _, path := range hiddenInHome {
		if path, err := resolve(filepath.Join(s.o.Home, path)); err == nil && s.o.Home != "" && !slices.ContainsFunc(r.Writable, func(dir string) bool { return Below(dir, path) }) {
			masked = append(masked, path)
		}
	}
	for _, path := range masked {
		info, err := r.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &Error{Step: "hide " + path, Err: err}
		}
		p.mask(path, info.IsDir())
	}
	return nil
}

// layout returns the mounts of a command, parents first, and the links in hidden directories that
// lead to shown paths.
func (s *Session) layout(cmd *exec.Cmd, r Rules) (all []mount, links [][2]string, err error) {
	var shown []mount
	show := func(path, source string, write bool) {
		info, err := os.Stat(source)
		if err == nil {
			shown = append(shown, mount{path: path, source: source, write: write, dir: info.IsDir()})
		}
	}
	for _, dir := range r.Writable {
		if dir == "/" {
			return nil, nil, &Error{Step: "make / writable", Err: errors.New("the whole file system cannot be writable")}
		}
		show(dir, dir, !r.ReadOnly)
		if o := r.overlay(dir); o != nil && len(shown) > 0 {
			shown[len(shown)-1].over = o
		}
	}
	show(r.Temp, r.Temp, true)
	hidden := s.hidden(r)
	for _, h := range hidden {
		all = append(all, mount{path: h, dir: true})
	}
	isHidden := func(path string) bool {
		return slices.ContainsFunc(hidden, func(h string) bool { return Below(h, path) })
	}
	readable := r.Readable
	if s.o.Home != "" {
		readable = slices.Concat(readable, Toolchains(s.o.Home, valueOf(cmd.Env, "PATH")))
	}
	readable = append(readable, cmd.Dir, "/run/current-system", "/run/wrappers", "/etc/resolv.conf")
	for _, path := range readable {
		real, err := resolve(path)
		if err != nil || !isHidden(real) || slices.Contains(hidden, real) {
			continue
		}
		if path != real && isHidden(path) {
			links = append(links, [2]string{path, real})
		}
		show(real, real, false)
	}
	// A path in a directory that is shown already is left out, unless the path is writable and the
	// directory is not.
	slices.SortStableFunc(shown, func(a, b mount) int {
		if a.path != b.path {
			return comparePaths(a.path, b.path)
		}
		return compareBool(b.write, a.write)
	})
	for _, m := range shown {
		outer := enclosing(all, m.path)
		if outer != nil && outer.source != "" && (outer.write || !m.write) && (m.over == nil || outer.path == m.path) {
			continue
		}
		all = append(all, m)
		slices.SortStableFunc(all, func(a, b mount) int { return comparePaths(a.path, b.path) })
	}
	return s.replaceTemp(all, r), links, nil
}

// temporary are the directories in which commands may see their temporary directory.
var temporary = [...]string{"/dev", "/dev/shm", "/tmp", "/var/tmp"}

// replaceTemp mounts the temporary directory at /tmp and /dev/shm, and at /var/tmp unless it lies
// there. The parents of other mounts in it become empty directories: a file that a command created
// there would be lost.
func (s *Session) replaceTemp(all []mount, r Rules) []mount {
	for i, m := range all {
		if m.source == "" && (m.path == "/tmp" || m.path == "/var/tmp" && !Below(m.path, r.Temp)) {
			all[i].source, all[i].write = r.Temp, true
		}
	}
	all = append(all, mount{path: "/dev/shm", source: r.Temp, write: true, dir: true})
	for _, m := range all {
		for _, dir := range temporary {
			at := slices.IndexFunc(all, func(outer mount) bool { return outer.path == dir && outer.source == r.Temp })
			if at < 0 || m.path == dir || !Below(dir, m.path) {
				continue
			}
			name, _, _ := strings.Cut(m.path[len(dir)+1:], "/")
			parent := dir + "/" + name
			if !slices.ContainsFunc(all, func(m mount) bool { return m.path == parent }) {
				all = append(all, mount{path: parent, dir: true})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b mount) int { return comparePaths(a.path, b.path) })
	return all
}

// hidden returns the directories that the command sees empty, without those that contain or lie in
// a writable directory.
func (s *Session) hidden(r Rules) (dirs []string) {
	candidates := hiddenDirs[:]
	home, err := resolve(s.o.Home) // exists even if all home directories are hidden
	if err == nil {
		candidates = append([]string{home}, candidates...)
	}
	for _, path := range candidates {
		real, err := resolve(path)
		if err != nil || slices.Contains(dirs, real) {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			continue
		}
		if slices.ContainsFunc(r.Writable, func(w string) bool { return Below(w, real) }) && real != "/dev" {
			continue
		}
		dirs = append(dirs, real)
	}
	slices.SortFunc(dirs, comparePaths)
	var top []string
	for _, dir := range dirs {
		at := slices.IndexFunc(top, func(outer string) bool { return Below(outer, dir) })
		if at < 0 || slices.Contains(temporary[:], top[at]) || dir == home {
			top = append(top, dir)
		}
	}
	return top
}

// resolve is [filepath.EvalSymlinks]; it costs one system call for the many paths that are missing.
func resolve(path string) (string, error) {
	if err := unix.Access(path, unix.F_OK); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// enclosing returns the innermost of the mounts that contains path, or nil.
func enclosing(all []mount, path string) (found *mount) {
	for i := range all {
		if Below(all[i].path, path) {
			found = &all[i] // later ones are deeper
		}
	}
	return found
}

// comparePaths orders a directory before its content.
func comparePaths(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func valueOf(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// copyTree copies the mounts at a path, with attributes, for a later attach. No parent of the path
// may be a link: a process of an earlier command could just have created it.
func (p *program) copyTree(path string, slot int, attributes uint64) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	opened := p.slot()
	p.call("open "+path, unix.SYS_OPENAT2, atCWD, p.text(path), address(p, how), unix.SizeofOpenHow).to(opened)
	p.call("copy "+path, unix.SYS_OPEN_TREE, 0, p.text(""), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH).from(opened).to(slot)
	p.call("close "+path, unix.SYS_CLOSE).from(opened)
	a := &unix.MountAttr{Attr_set: attributes}
	p.call("restrict "+path, unix.SYS_MOUNT_SETATTR, 0, p.text(""), unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, address(p, a), unix.MOUNT_ATTR_SIZE_VER0).from(slot)
}

// attach mounts a copied tree.
func (p *program) attach(slot int, path string) *op {
	return p.call("mount "+path, unix.SYS_MOVE_MOUNT, 0, p.text(""), atCWD, p.text(path), unix.MOVE_MOUNT_F_EMPTY_PATH).from(slot)
}

// setAttributes sets attributes of the mount at a path.
func (p *program) setAttributes(path string, attributes uint64, flags uintptr) {
	a := &unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	p.call("restrict "+path, unix.SYS_MOUNT_SETATTR, atCWD, p.text(path), flags, address(p, a), unix.MOUNT_ATTR_SIZE_VER0)
}

// tmpfs mounts an empty directory.
func (p *program) tmpfs(path string) {
	p.call("mount an empty directory on "+path, unix.SYS_MOUNT, p.text("tmpfs"), p.text(path), p.text("tmpfs"),
		unix.MS_NOSUID|unix.MS_NODEV, p.text("mode=0755,size=1m"))
}

// makeMountpoint creates the file or directory on which m is mounted, in a mount of the sandbox.
func (p *program) makeMountpoint(outer string, m mount) {
	for at := len(outer); at < len(m.path); {
		next := strings.IndexByte(m.path[at+1:], '/')
		if next < 0 {
			break
		}
		at += 1 + next
		p.mkdir(m.path[:at], 0o755)
	}
	if m.dir {
		p.mkdir(m.path, 0o755)
		return
	}
	p.create(m.path, 0o644)
}

func (p *program) mkdir(path string, mode uintptr) {
	p.call("create "+path, unix.SYS_MKDIRAT, atCWD, p.text(path), mode).optional(unix.EEXIST)
}

func (p *program) create(path string, mode uintptr) {
	p.call("create "+path, unix.SYS_MKNODAT, atCWD, p.text(path), unix.S_IFREG|mode, 0).optional(unix.EEXIST)
}

// cover mounts an existing path over itself, with attributes. It cannot be moved or removed
// then, because a mount point cannot.
func (p *program) cover(path string, attributes uint64) {
	slot := p.slot()
	p.copyTree(path, slot, attributes)
	p.attach(slot, path)
	p.call("close "+path, unix.SYS_CLOSE).from(slot)
}

// mask replaces an existing path by an unreadable one.
func (p *program) mask(path string, dir bool) {
	source := maskedPath + "/file"
	if dir {
		source = maskedPath + "/dir"
	}
	slot := p.slot()
	p.copyTree(source, slot, unix.MOUNT_ATTR_RDONLY)
	p.attach(slot, path).optional(unix.ENOENT) // it is hidden already
	p.call("close "+path, unix.SYS_CLOSE).from(slot)
}

// deviceNames are the devices that commands see.
var deviceNames = [...]string{"null", "zero", "full", "random", "urandom", "tty"}

// copyDevices copies the devices. If the command's input is a terminal, it becomes the console, so
// that programs can find its name.
func (p *program) copyDevices(stdin *os.File) map[string]int {
	nodes := make(map[string]int)
	for _, name := range deviceNames {
		if _, err := os.Stat("/dev/" + name); err == nil {
			nodes["/dev/"+name] = p.copyDevice("/dev/" + name)
		}
	}
	if stdin == nil {
		return nodes
	}
	if _, err := unix.IoctlGetTermios(int(stdin.Fd()), unix.TCGETS); err == nil {
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(stdin.Fd()))); err == nil && strings.HasPrefix(name, "/dev/") {
			nodes["/dev/console"] = p.copyDevice(name)
		}
	}
	return nodes
}

func (p *program) copyDevice(path string) int {
	slot := p.slot()
	p.copyTree(path, slot, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC) // a device stays writable, its mode does not
	return slot
}

// devices fills /dev.
func (p *program) devices(nodes map[string]int) {
	for path, slot := range nodes {
		p.create(path, 0o666)
		p.attach(slot, path)
	}
	p.mkdir("/dev/pts", 0o755)
	p.call("mount /dev/pts", unix.SYS_MOUNT, p.text("devpts"), p.text("/dev/pts"), p.text("devpts"), unix.MS_NOSUID|unix.MS_NOEXEC,
		p.text("newinstance,ptmxmode=0666,mode=0600"))
	for _, link := range [][2]string{
		{"/dev/ptmx", "pts/ptmx"}, {"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
		{"/dev/stderr", "/proc/self/fd/2"},
	} {
		p.call("create the link "+link[0], unix.SYS_SYMLINKAT, p.text(link[1]), atCWD, p.text(link[0]))
	}
	p.mkdir(maskedPath, 0o755)
	p.mkdir(maskedPath+"/dir", 0)
	p.create(maskedPath+"/file", 0)
}

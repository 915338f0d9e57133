package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// scanner inspects files and stores those that are not stored yet. It is not safe for concurrent
// use.
type scanner struct {
	store  *Store
	files  *workspace.Workspace
	finder func() *discovery.Finder

	tree  tree
	full  bool // tree is the result of a full scan
	cache tree // the files that another session has stored, until tree is full
	round int
	// progress receives the number of files to read if there are many; nil: not reported.
	progress func(files int)

	directory *workspace.Dir
	dir       string // the directory that it belongs to
}

// findings are the results of a scan.
type findings struct {
	changes []Change       // differences from the known state, sorted by path
	gaps    []Unrestorable // of a full scan
	notes   []string
}

// named scans single paths, absolute and canonical. With durable their content is on disk
// afterwards.
func (l *scanner) named(paths []string, durable bool) findings {
	defer l.closeDirectory()
	var f findings
	for _, path := range paths {
		l.update(path, l.fresh(path, true, durable), &f)
	}
	return f
}

// update records an inspected path in the tree.
func (l *scanner) update(path string, now *seen, f *findings) {
	before, known := l.tree[path]
	now.round = l.round
	if now.state.Kind == Absent {
		delete(l.tree, path)
	} else {
		l.tree[path] = now
	}
	switch {
	case known && before.state.NotStored != "" && before.print == now.print: // it is stored by now
	case known && before.state != now.state:
		f.changes = append(f.changes, Change{Name(path), before.state, now.state})
	case !known && l.full && now.state.Kind != Absent:
		f.changes = append(f.changes, Change{Name(path), absent, now.state})
	}
}

// state returns the recorded state of a path.
func (l *scanner) state(path string) State {
	if e := l.tree[path]; e != nil {
		return e.state
	}
	return absent
}

// fresh inspects a path; the state contains the reason if that fails.
func (l *scanner) fresh(path string, isNamed, durable bool) *seen {
	p, err := l.files.Resolve(path)
	if err != nil {
		return &seen{state: State{Kind: Other, NotStored: "it is outside of the workspace"}}
	}
	if p.Rel() == "." {
		return &seen{state: State{Kind: Directory}}
	}
	info, err := l.lstat(path)
	switch fault.CodeOf(err) {
	case "":
	case fault.FileNotFound, fault.PathIsNotADirectory:
		return &seen{state: absent}
	default:
		return &seen{state: State{Kind: Other, NotStored: "it cannot be inspected: " + short(err)}}
	}
	known := l.tree[path]
	if known != nil && known.settled(printOf(info)) && (known.state.NotStored == "" || !isNamed) {
		return known
	}
	return l.read(path, info, durable, l.store.limit(known, isNamed))
}

// limit returns the largest size of a file that is stored: it is larger for a file that a call has
// named, now or before.
func (s *Store) limit(known *seen, isNamed bool) int64 {
	if isNamed || known != nil && known.state.SHA256 != "" {
		return max(maxNamed, s.o.MaxFile)
	}
	return s.o.MaxFile
}

func (l *scanner) lstat(path string) (workspace.Info, error) {
	if err := l.openDirectory(filepath.Dir(path)); err != nil {
		return workspace.Info{}, err
	}
	return l.directory.Lstat(filepath.Base(path))
}

// openDirectory makes l.directory that of dir.
func (l *scanner) openDirectory(dir string) error {
	if l.directory != nil && l.dir == dir {
		return nil
	}
	l.closeDirectory()
	p, err := l.files.Resolve(dir)
	if err != nil {
		return err
	}
	l.directory, err = l.files.OpenDir(p)
	l.dir = dir
	return err
}

func (l *scanner) closeDirectory() {
	if l.directory != nil {
		l.directory.Close()
		l.directory = nil
	}
}

// read reads and stores the file at a path; info is that of the name itself.
func (l *scanner) read(path string, info workspace.Info, durable bool, limit int64) *seen {
	e := &seen{print: printOf(info), at: l.store.o.Now().UnixNano()}
	e.state = State{Mode: info.Mode & modeBits}
	switch name := filepath.Base(path); {
	case info.Mode.IsDir():
		e.state.Kind = Directory
	case info.Mode&fs.ModeSymlink != 0:
		err := l.openDirectory(filepath.Dir(path))
		target := ""
		if err == nil {
			target, err = l.directory.Readlink(name)
		}
		e.state = State{Kind: Link, Target: Name(target)}
		if err != nil {
			e.state.NotStored = "it cannot be read: " + short(err)
		}
	case !info.Mode.IsRegular():
		e.state.Kind, e.state.NotStored = Other, "it is not a regular file"
	case info.Size > limit:
		e.state.Kind = File
		e.state.notKept(info, "it is larger than "+sizeText(limit))
	default:
		e.state.Kind = File
		l.readFile(path, e, info, durable, limit)
	}
	return e
}

func (s *State) notKept(info workspace.Info, why string) {
	s.SHA256, s.Size, s.Stamp, s.NotStored = "", info.Size, info.MtimeNS, why
}

// readFile stores a regular file. A file that changes during the read is read again; the result is
// a state that existed at some moment.
func (l *scanner) readFile(path string, e *seen, info workspace.Info, durable bool, limit int64) {
	var data []byte
	err := l.openDirectory(filepath.Dir(path))
	for attempt := 0; err == nil && attempt < 3; attempt++ {
		e.at = l.store.o.Now().UnixNano()
		var before, after workspace.Info
		if data, before, after, err = l.readOnce(filepath.Base(path), limit); err != nil {
			break
		}
		e.print, e.state.Mode = printOf(after), after.Mode&modeBits
		info = after
		if before == after {
			break
		}
	}
	switch {
	case errors.Is(err, errTooLarge):
		e.state.notKept(info, "it is larger than "+sizeText(limit))
		return
	case err != nil:
		e.state.notKept(info, "it cannot be read: "+short(err))
		return
	}
	sum, err := l.store.put(data, durable)
	if err != nil {
		e.state.notKept(info, "it could not be stored: "+cause(err))
		e.print = print{} // so that it is tried again
		return
	}
	e.state.SHA256, e.state.Size = sum, int64(len(data))
}

var errTooLarge = errors.New("too large")

func (l *scanner) readOnce(name string, limit int64) (data []byte, before, after workspace.Info, err error) {
	f, err := l.directory.Open(name)
	if err != nil {
		return nil, before, after, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if before, err = workspace.InfoOf(f); err != nil {
		return nil, before, after, err
	}
	if !before.Mode.IsRegular() {
		return nil, before, before, errors.New("it was replaced by something other than a regular file")
	}
	if data, err = readAll(f, before.Size, limit); err != nil {
		return nil, before, before, err
	}
	after, err = workspace.InfoOf(f)
	return data, before, after, err
}

func readAll(f io.Reader, size, limit int64) ([]byte, error) {
	buf := make([]byte, 0, min(size, limit)+1)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// short returns the short text of an error.
func short(err error) string {
	if e := fault.As(err); e != nil {
		if inner := errors.Unwrap(e); inner != nil {
			return cause(inner)
		}
		return strings.TrimSuffix(e.Message, ".")
	}
	return cause(err)
}

func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// canonical returns the paths under which a file is recorded: with the links of its directory
// resolved, and for a link both its own path and its target. Missing parent directories are
// included.
func canonical(files *workspace.Workspace, path string) []string {
	dir, err := files.RealPath(filepath.Dir(path))
	if err != nil {
		return []string{path}
	}
	own := filepath.Join(dir, filepath.Base(path))
	var all []string
	for above := dir; ; above = filepath.Dir(above) {
		if _, err := lstat(files, above); err == nil || filepath.Dir(above) == above {
			break
		}
		all = append(all, above)
	}
	all = append(all, own)
	if info, err := lstat(files, own); err == nil && info.Mode&fs.ModeSymlink != 0 {
		if leads, err := files.RealPath(own); err == nil {
			all = append(all, leads)
		} else if target, err := readlink(files, own); err == nil { // to a missing file
			if !filepath.IsAbs(target) {
				target = filepath.Join(dir, target)
			}
			all = append(all, filepath.Clean(target))
		}
	}
	return all
}

// lstat describes a file, in the workspace or not.
func lstat(files *workspace.Workspace, path string) (workspace.Info, error) {
	if p, err := files.Resolve(path); err == nil {
		return files.Lstat(p)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return workspace.Info{}, err
	}
	return workspace.Info{Mode: info.Mode()}, nil
}

func readlink(files *workspace.Workspace, path string) (string, error) {
	if p, err := files.Resolve(path); err == nil {
		return files.Readlink(p)
	}
	return os.Readlink(path)
}

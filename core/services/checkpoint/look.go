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

// looker looks at files and keeps what it has not kept yet. It is not for
// concurrent use.
type looker struct {
	store  *Store
	files  *workspace.Workspace
	finder func() *discovery.Finder

	tree  tree
	full  bool // tree is what a look at everything has found
	cache tree // what another session has kept, as long as tree is not full
	round int
	// progress is told how many files are read where there are many; nil: nobody is.
	progress func(files int)

	folder *workspace.Folder
	dir    string // whose directory that is
}

// findings are what a look has found out.
type findings struct {
	changes []Change // against what was known, sorted by path
	gaps    []Gap    // of a look at everything
	notes   []string
}

// named looks at single paths, absolute and canonical. With durable their content
// is on the disk then.
func (l *looker) named(paths []string, durable bool) findings {
	defer l.closeFolder()
	var f findings
	for _, path := range paths {
		l.update(path, l.fresh(path, true, durable), &f)
	}
	return f
}

// update puts what was seen into the tree.
func (l *looker) update(path string, now *seen, f *findings) {
	before, known := l.tree[path]
	now.round = l.round
	if now.state.Kind == Absent {
		delete(l.tree, path)
	} else {
		l.tree[path] = now
	}
	switch {
	case known && before.state.NotKept != "" && before.print == now.print: // by now it is kept
	case known && before.state != now.state:
		f.changes = append(f.changes, Change{Name(path), before.state, now.state})
	case !known && l.full && now.state.Kind != Absent:
		f.changes = append(f.changes, Change{Name(path), absent, now.state})
	}
}

// state returns what the tree says of a path.
func (l *looker) state(path string) State {
	if e := l.tree[path]; e != nil {
		return e.state
	}
	return absent
}

// fresh looks at a path; what cannot be looked at is said in the state.
func (l *looker) fresh(path string, isNamed, durable bool) *seen {
	p, err := l.files.Resolve(path)
	if err != nil {
		return &seen{state: State{Kind: Other, NotKept: "it lies outside of the workspace"}}
	}
	if p.Rel() == "." {
		return &seen{state: State{Kind: Folder}}
	}
	info, err := l.lstat(path)
	switch fault.CodeOf(err) {
	case "":
	case fault.FileNotFound, fault.PathIsNotADirectory:
		return &seen{state: absent}
	default:
		return &seen{state: State{Kind: Other, NotKept: "it cannot be looked at: " + short(err)}}
	}
	known := l.tree[path]
	if known != nil && known.settled(printOf(info)) && (known.state.NotKept == "" || !isNamed) {
		return known
	}
	return l.read(path, info, durable, l.store.limit(known, isNamed))
}

// limit is how large a file may be that is kept: one that a call has named, now
// or before, may be larger.
func (s *Store) limit(known *seen, isNamed bool) int64 {
	if isNamed || known != nil && known.state.SHA256 != "" {
		return max(maxNamed, s.o.MaxFile)
	}
	return s.o.MaxFile
}

func (l *looker) lstat(path string) (workspace.Info, error) {
	if err := l.openFolder(filepath.Dir(path)); err != nil {
		return workspace.Info{}, err
	}
	return l.folder.Lstat(filepath.Base(path))
}

// openFolder makes l.folder that of dir.
func (l *looker) openFolder(dir string) error {
	if l.folder != nil && l.dir == dir {
		return nil
	}
	l.closeFolder()
	p, err := l.files.Resolve(dir)
	if err != nil {
		return err
	}
	l.folder, err = l.files.OpenFolder(p)
	l.dir = dir
	return err
}

func (l *looker) closeFolder() {
	if l.folder != nil {
		l.folder.Close()
		l.folder = nil
	}
}

// read reads what lies at a path and keeps it; info is of the name itself.
func (l *looker) read(path string, info workspace.Info, durable bool, limit int64) *seen {
	e := &seen{print: printOf(info), at: l.store.o.Now().UnixNano()}
	e.state = State{Mode: info.Mode & modeBits}
	switch name := filepath.Base(path); {
	case info.Mode.IsDir():
		e.state.Kind = Folder
	case info.Mode&fs.ModeSymlink != 0:
		err := l.openFolder(filepath.Dir(path))
		target := ""
		if err == nil {
			target, err = l.folder.Readlink(name)
		}
		e.state = State{Kind: Link, Target: Name(target)}
		if err != nil {
			e.state.NotKept = "it cannot be read: " + short(err)
		}
	case !info.Mode.IsRegular():
		e.state.Kind, e.state.NotKept = Other, "it is no regular file"
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
	s.SHA256, s.Size, s.Stamp, s.NotKept = "", info.Size, info.MtimeNS, why
}

// readFile keeps a regular file. A file that changes while it is read is read
// again; what it is then is what a moment of it was.
func (l *looker) readFile(path string, e *seen, info workspace.Info, durable bool, limit int64) {
	var data []byte
	err := l.openFolder(filepath.Dir(path))
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
		e.state.notKept(info, "it could not be kept: "+cause(err))
		e.print = print{} // so that it is tried again
		return
	}
	e.state.SHA256, e.state.Size = sum, int64(len(data))
}

var errTooLarge = errors.New("too large")

func (l *looker) readOnce(name string, limit int64) (data []byte, before, after workspace.Info, err error) {
	f, err := l.folder.Open(name)
	if err != nil {
		return nil, before, after, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if before, err = workspace.InfoOf(f); err != nil {
		return nil, before, after, err
	}
	if !before.Mode.IsRegular() {
		return nil, before, before, errors.New("it was replaced by what is no regular file")
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

// short is an error in few words.
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

// canonical returns the path under which a file is known: where the links of its
// directory lead, and where it is a link itself, both that and what it leads to.
// Folders above it that are missing come along.
func canonical(path string) []string {
	dir, err := workspace.RealPath(filepath.Dir(path))
	if err != nil {
		return []string{path}
	}
	own := filepath.Join(dir, filepath.Base(path))
	var all []string
	for above := dir; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err == nil || filepath.Dir(above) == above {
			break
		}
		all = append(all, above)
	}
	all = append(all, own)
	if info, err := os.Lstat(own); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if leads, err := workspace.RealPath(own); err == nil {
			all = append(all, leads)
		} else if target, err := os.Readlink(own); err == nil { // to what is not there yet
			if !filepath.IsAbs(target) {
				target = filepath.Join(dir, target)
			}
			all = append(all, filepath.Clean(target))
		}
	}
	return all
}

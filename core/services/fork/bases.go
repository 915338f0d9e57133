package fork

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

const (
	baseDir   = "base"
	basesFile = "base.jsonl"
)

// kind is the type of a file.
type kind string

const (
	absent  kind = ""
	regular kind = "file"
	link    kind = "link"
	folder  kind = "dir"
	special kind = "special"
)

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return regular
	case mode.IsDir():
		return folder
	case mode&fs.ModeSymlink != 0:
		return link
	}
	return special
}

// state is a file of a fork, of its base or of a directory as it is now.
type state struct {
	Kind   kind        `json:"type"`
	Mode   fs.FileMode `json:"mode,omitempty"` // permissions; of regular files
	SHA256 string      `json:"sha256,omitempty"`
	Size   int64       `json:"size,omitempty"`
	Target string      `json:"target,omitempty"` // of a link

	info fs.FileInfo // nil: of a base, or absent
	hard bool        // it cannot be read, is forged, or a parent directory is none
}

// same reports whether the content and the type are equal.
func (s state) same(o state) bool {
	return s.Kind == o.Kind && s.SHA256 == o.SHA256 && s.Target == o.Target && s.Kind != special && !s.hard && !o.hard
}

// equal reports whether the permissions are equal, too.
func (s state) equal(o state) bool { return s.same(o) && s.Mode == o.Mode }

// line is a line of base.jsonl.
type line struct {
	Dir  int    `json:"dir"`
	Path string `json:"path"` // relative, with slashes
	state
	Doubt string `json:"doubt,omitempty"` // why the base may be wrong
	Gone  bool   `json:"gone,omitempty"`  // the change was merged; there is no record any more
}

// place is a path of a fork.
type place struct {
	dir  int
	path string // relative, with slashes
}

// bases are the records of a fork.
type bases struct {
	dir  string
	file *os.File // nil: they are only read
	at   map[place]line
}

// openBases reads the records. Damaged lines are ignored: a file without a record is a conflict.
func openBases(dir string, write bool) (*bases, error) {
	b := &bases{dir: dir, at: make(map[place]line)}
	name := filepath.Join(dir, basesFile)
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Path == "" || !filepath.IsLocal(filepath.FromSlash(l.Path)) {
			continue
		}
		p := place{l.Dir, l.Path}
		if l.Gone {
			delete(b.at, p)
		} else if _, ok := b.at[p]; !ok {
			b.at[p] = l
		}
	}
	if !write {
		return b, lines.Err()
	}
	if b.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, lockedfile.FileMode); err != nil {
		return nil, err
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		_, err = b.file.WriteString("\n")
	}
	if err := errors.Join(err, lines.Err()); err != nil {
		_ = b.close() // the other error is returned
		return nil, err
	}
	return b, nil
}

func (b *bases) close() error {
	if b == nil || b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.file = nil
	return err
}

// add appends a line. A line that a full disk cut off is completed by the next one, and ignored.
func (b *bases) add(l line) error {
	if b.file == nil {
		return os.ErrClosed
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if n, err := b.file.Write(append(data, '\n')); err != nil {
		if n > 0 {
			_, _ = b.file.WriteString("\n") // without space the next line is damaged: a conflict
		}
		return err
	}
	if l.Gone {
		delete(b.at, place{l.Dir, l.Path})
	} else {
		b.at[place{l.Dir, l.Path}] = l
	}
	return nil
}

// bytes returns the bytes of a base; false if they are not stored or damaged.
func (b *bases) bytes(s state) ([]byte, bool) {
	data, err := lockedfile.Read(filepath.Join(b.dir, baseDir, s.SHA256), maxFile)
	return data, err == nil && len(s.SHA256) == 2*sha256.Size && hashOf(data) == s.SHA256
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Touch describes a file of a directory that is about to be changed in a fork, or was changed by a
// command.
type Touch struct {
	Dir    int         // index of Info.Dirs
	Path   string      // relative to the directory, with slashes
	Base   fs.FileMode // type and permissions; meaningless with Absent
	Absent bool        // there is no such file below
	Target string      // of a symbolic link
	// Open opens the base; required for a regular file. Check, if set, is called when it has been read; its
	// error becomes that of the call.
	Open  func() (*os.File, error)
	Check func() error
	// Doubt is the reason why the base may not be the file that was changed; "": it is.
	Doubt string
}

// Touch records the base of a file, unless one is recorded. It is called before the file appears in the
// upper directory. Errors are *fault.Error: file_write_failure, no_space_left, permission_denied,
// read_content_failure and the error of Check.
func (f *Fork) Touch(ctx context.Context, t Touch) error { return f.touch(ctx, t, f.keep) }

// touch is Touch; keep stores the bytes of a base, or its hash.
func (f *Fork) touch(ctx context.Context, t Touch, keep func(l *line, open func() (*os.File, error)) error) error {
	t.Path = path.Clean(t.Path)
	if t.Dir < 0 || t.Dir >= len(f.Dirs) || !filepath.IsLocal(filepath.FromSlash(t.Path)) {
		return fault.New(fault.InvalidToolParams, "fork.touch", "The path of a base is not in the fork.", "")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.bases.at[place{t.Dir, t.Path}]; ok {
		return nil
	}
	l := line{Dir: t.Dir, Path: t.Path, Doubt: t.Doubt}
	if !t.Absent {
		l.Kind = kindOf(t.Base)
	}
	var err error
	switch {
	case l.Kind == link:
		l.Target = t.Target
	case l.Kind == regular && t.Doubt == "":
		l.Mode = t.Base.Perm()
		err = keep(&l, t.Open)
	}
	if err == nil {
		err = f.store.at(StepBase)
	}
	if err == nil && t.Check != nil && t.Doubt == "" {
		if err := t.Check(); err != nil {
			return err
		}
	}
	if err == nil {
		err = f.bases.add(l)
	}
	if err == nil {
		err = f.store.at(StepRecord)
	}
	if err != nil {
		return writeFailure(ctx, "touch", "The original of "+t.Path+" could not be recorded", err)
	}
	return nil
}

// digest stores the hash of a base alone, which is enough unless both sides change the file.
func digest(l *line, open func() (*os.File, error)) error {
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	sum := sha256.New()
	l.Size, err = io.Copy(sum, from)
	l.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return err
}

// keep stores the bytes of a base under their hash.
func (f *Fork) keep(l *line, open func() (*os.File, error)) error {
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if info.Size() > f.store.o.MaxBase {
		return digest(l, open)
	}
	dir := filepath.Join(f.dir, baseDir)
	to, err := os.CreateTemp(dir, ".new-") // one that a kill leaves is removed with the fork
	if err != nil {
		return err
	}
	l.SHA256, l.Size, err = copyBytes(to, from)
	if closing := to.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(to.Name(), filepath.Join(dir, l.SHA256))
	}
	if err != nil {
		_ = os.Remove(to.Name()) // the other error is returned
	}
	return err
}

// copyBytes copies a file, sharing its blocks where the file system can, and returns the hash of the copy.
func copyBytes(to, from *os.File) (sum string, size int64, err error) {
	hash := sha256.New()
	if clone(to, from) {
		size, err = io.Copy(hash, to)
	} else {
		size, err = io.Copy(io.MultiWriter(to, hash), from)
	}
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxFile is the limit of a context file to change, in bytes.
const maxFile = 1 << 20

// document is the content of the context file and its location.
type document struct {
	path   string               // with links resolved
	dir    *workspace.Workspace // the directory of the file; nil: it does not exist
	data   []byte
	exists bool
}

func (d *document) close() {
	if d.dir != nil {
		_ = d.dir.Close() // nothing was written through it
	}
}

// read reads the context file. A missing file is empty.
func (s *Service) read(ctx context.Context) (*document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := resolveLinks(s.o.Path)
	if err != nil {
		return nil, err
	}
	d := &document{path: path}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if d.dir, err = workspace.Open(filepath.Dir(path)); err != nil {
		return nil, fileError(path, err)
	}
	err = d.load()
	if fault.CodeOf(err) == fault.FileNotFound {
		return d, nil
	}
	if err != nil {
		d.close()
		return nil, err
	}
	d.exists = true
	return d, nil
}

// load reads the file in its directory. A file that is not regular is opened without waiting and
// not read.
func (d *document) load() error {
	p, err := d.dir.Resolve(d.path)
	if err != nil {
		return err
	}
	f, err := d.dir.OpenRead(p)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := workspace.InfoOf(f)
	if err != nil {
		return fileError(d.path, err)
	}
	if !info.Mode.IsRegular() {
		what := "a pipe, socket or device"
		if info.Mode.IsDir() {
			what = "a directory"
		}
		return fault.New(fault.NotARegularFile, "memory.read", fmt.Sprintf("The context file %s is %s.", d.path, what),
			"Ask the user to replace it with a text file.")
	}
	if d.data, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err != nil {
		return fileError(d.path, err)
	}
	if len(d.data) > maxFile {
		return fault.New(fault.FileTooLarge, "memory.read", fmt.Sprintf("The context file %s is larger than %d bytes.", d.path, maxFile),
			"Ask the user to shorten it: the model receives all of it in every session.")
	}
	return nil
}

// change computes the text and the bytes of the file with the fact.
func (s *Service) change(d *document, fact string) (Change, []byte, error) {
	doc := textfile.Decode(d.data)
	kind := textfile.Classify(filepath.Base(d.path), d.data[:min(len(d.data), textfile.HeadSize)], int64(len(d.data))).Kind
	if !doc.Lossless || kind != textfile.KindText {
		return Change{}, nil, fault.New(fault.ReadContentFailure, "memory.read", "The context file "+d.path+" is not text in a known encoding.",
			"Ask the user to convert it to UTF-8.")
	}
	c := Change{Path: s.o.Path, Exists: d.exists, Before: doc.Text, After: insert(doc.Text, s.o.Heading, fact)}
	if c.Known() {
		return c, nil, nil
	}
	data, err := doc.Format.Encode(c.After)
	if err != nil {
		return Change{}, nil, err
	}
	if again := textfile.Decode(data); !again.Lossless || again.Text != c.After {
		return Change{}, nil, fault.New(fault.FileWriteFailure, "memory.encode",
			fmt.Sprintf("The context file %s is in %s without a byte order mark: with the fact, another encoding would be detected.", d.path, doc.Format.Encoding),
			"Ask the user to convert it to UTF-8.")
	}
	return c, data, nil
}

// put passes the new bytes to the commit. It returns the names of files next to the target in which
// the commit kept bytes of other programs.
func (s *Service) put(ctx context.Context, d *document, data []byte) (kept []string, err error) {
	if d.dir == nil {
		return nil, fileError(d.path, fs.ErrNotExist) // the directory was removed meanwhile
	}
	p, err := d.dir.Resolve(d.path)
	if err != nil {
		return nil, err
	}
	at, err := d.dir.Locate(p)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	r := commit.Request{Dir: at.Dir, Name: at.Name, Layer: at.Layer, Path: d.path, Data: data}
	if d.exists {
		sum := sha256.Sum256(d.data)
		r.Base, r.BaseSize = hex.EncodeToString(sum[:]), int64(len(d.data))
	}
	out, err := s.o.Committer.Commit(ctx, r)
	return out.KeptFiles, err
}

// resolveLinks resolves the symbolic links of a path, including one to a missing file. Files in a home
// directory are often links to a directory of configuration files.
func resolveLinks(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fault.New(fault.InvalidConfig, "memory.follow", "The user has no context file, because there is no home directory.", "Set HOME.")
	}
	const longest = 40
	at := filepath.Clean(path)
	for range longest {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return at, nil
		}
		if err != nil {
			return "", fileError(path, err)
		}
		link, err := os.Readlink(at)
		if err != nil {
			return "", fileError(path, err)
		}
		if !filepath.IsAbs(link) {
			directory, err := filepath.EvalSymlinks(filepath.Dir(at)) // the base of .. in the link
			if err != nil {
				return "", fileError(path, err)
			}
			link = filepath.Join(directory, link)
		}
		at = filepath.Clean(link)
	}
	return "", fileError(path, errors.New("its links form a cycle"))
}

func mkdirAll(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fileError(directory, err)
	}
	return nil
}

// fileError converts a system error about a path to a fault.
func fileError(path string, err error) error {
	cause := err
	if e := new(fs.PathError); errors.As(err, &e) {
		cause = e.Err
	}
	return fault.Wrap(fault.FileWriteFailure, "memory.file", fmt.Sprintf("%s cannot be used (%s).", path, strings.TrimSuffix(cause.Error(), ".")),
		"Ask the user to check the file and its directory.", err)
}

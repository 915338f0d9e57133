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

// maxFile is the longest context file that is changed, in bytes.
const maxFile = 1 << 20

// document is the context file as it was read, and where it lies.
type document struct {
	path   string               // links followed
	folder *workspace.Workspace // that holds it; nil: it does not exist
	data   []byte
	exists bool
}

func (d *document) close() {
	if d.folder != nil {
		_ = d.folder.Close() // nothing was written through it
	}
}

// read reads the context file. An absent one is empty.
func (s *Service) read(ctx context.Context) (*document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := follow(s.o.Path)
	if err != nil {
		return nil, err
	}
	d := &document{path: path}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if d.folder, err = workspace.Open(filepath.Dir(path)); err != nil {
		return nil, unusable(path, err)
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

// load reads the file in its directory. What is no regular file is opened without
// waiting, and not read.
func (d *document) load() error {
	p, err := d.folder.Resolve(d.path)
	if err != nil {
		return err
	}
	f, err := d.folder.OpenRead(p)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := workspace.InfoOf(f)
	if err != nil {
		return unusable(d.path, err)
	}
	if !info.Mode.IsRegular() {
		what := "a pipe, socket or device"
		if info.Mode.IsDir() {
			what = "a directory"
		}
		return fault.New(fault.NotARegularFile, "memory.read", fmt.Sprintf("The context file %s is %s.", d.path, what),
			"Ask the user to put a text file in its place.")
	}
	if d.data, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err != nil {
		return unusable(d.path, err)
	}
	if len(d.data) > maxFile {
		return fault.New(fault.FileTooLarge, "memory.read", fmt.Sprintf("The context file %s is longer than %d bytes.", d.path, maxFile),
			"Ask the user to shorten it: all of it is given to the model with every session.")
	}
	return nil
}

// change computes what the file becomes with the fact, and its bytes.
func (s *Service) change(d *document, fact string) (Change, []byte, error) {
	doc := textfile.Decode(d.data)
	kind := textfile.Classify(filepath.Base(d.path), d.data[:min(len(d.data), textfile.HeadSize)], int64(len(d.data))).Kind
	if !doc.Lossless || kind != textfile.KindText {
		return Change{}, nil, fault.New(fault.ReadContentFailure, "memory.read", "The context file "+d.path+" is not text in an encoding that is known.",
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
			fmt.Sprintf("The context file %s is in %s, and nothing in it says so: with the fact it would be taken for another encoding.", d.path, doc.Format.Encoding),
			"Ask the user to convert it to UTF-8.")
	}
	return c, data, nil
}

// put hands the new bytes to the commit, and returns the names of files with
// somebody else's bytes that it has kept beside the target.
func (s *Service) put(ctx context.Context, d *document, data []byte) (kept []string, err error) {
	if d.folder == nil {
		return nil, unusable(d.path, fs.ErrNotExist) // the directory is gone again
	}
	p, err := d.folder.Resolve(d.path)
	if err != nil {
		return nil, err
	}
	at, err := d.folder.Locate(p)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	r := commit.Request{Dir: at.Dir, Name: at.Name, Path: d.path, Data: data}
	if d.exists {
		sum := sha256.Sum256(d.data)
		r.Base, r.BaseSize = hex.EncodeToString(sum[:]), int64(len(d.data))
	}
	out, err := s.o.Committer.Commit(ctx, r)
	return out.Kept, err
}

// follow returns where a path leads if it is a symbolic link, even one to
// nothing, as files in a home directory often are links to where they are kept.
func follow(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fault.New(fault.InvalidConfig, "memory.follow", "There is no context file of the user, as there is no home directory.", "Set HOME.")
	}
	const longest = 40
	at := filepath.Clean(path)
	for range longest {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return at, nil
		}
		if err != nil {
			return "", unusable(path, err)
		}
		link, err := os.Readlink(at)
		if err != nil {
			return "", unusable(path, err)
		}
		if !filepath.IsAbs(link) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(at)) // what .. counts from
			if err != nil {
				return "", unusable(path, err)
			}
			link = filepath.Join(folder, link)
		}
		at = filepath.Clean(link)
	}
	return "", unusable(path, errors.New("its links lead in a circle"))
}

func mkdirAll(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unusable(folder, err)
	}
	return nil
}

// unusable says what the system has against a path.
func unusable(path string, err error) error {
	cause := err
	if e := new(fs.PathError); errors.As(err, &e) {
		cause = e.Err
	}
	return fault.Wrap(fault.FileWriteFailure, "memory.file", fmt.Sprintf("%s cannot be used (%s).", path, strings.TrimSuffix(cause.Error(), ".")),
		"Ask the user to look at the file and its directory.", err)
}

package extensionstore

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// archiveSuffixes are the extensions of archives: zip files, and tar files with gzip.
var archiveSuffixes = []string{".zip", ".skill", ".plugin", ".mcpb", ".tar.gz", ".tgz"}

// isArchive reports whether a path is that of an archive.
func isArchive(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && slices.ContainsFunc(archiveSuffixes, func(suffix string) bool { return strings.HasSuffix(strings.ToLower(path), suffix) })
}

// unpack writes the files and directories of an archive to a new directory, and returns
// it, or its only directory if it has one. Links, devices and paths that lead out of it
// are refused, and so is an archive beyond the limits.
func unpack(ctx context.Context, archive, to string, limits copyLimits) (string, error) {
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", unwritable(to, err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return "", unwritable(to, err)
	}
	defer func() { _ = root.Close() }() // each written file is closed explicitly
	u := unpacking{ctx: ctx, archive: archive, root: root, left: limits, limits: limits}
	if name := strings.ToLower(archive); strings.HasSuffix(name, "gz") {
		err = u.tar()
	} else {
		err = u.zip()
	}
	if err != nil {
		return "", err
	}
	return onlyDirectory(to), nil
}

// onlyDirectory returns the directory in dir if it contains nothing else, and dir
// otherwise.
func onlyDirectory(dir string) string {
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "__MACOSX" })
	if err == nil && len(entries) == 1 && entries[0].IsDir() && !strings.HasPrefix(entries[0].Name(), ".") {
		return filepath.Join(dir, entries[0].Name())
	}
	return dir
}

// unpacking is the state of unpack.
type unpacking struct {
	ctx          context.Context //nolint:containedctx // of the one archive that it reads
	archive      string
	root         *os.Root
	left, limits copyLimits
}

func (u *unpacking) invalid(err error) error {
	if u.ctx.Err() != nil {
		return cancelled(u.ctx.Err())
	}
	if fault.As(err) != nil {
		return err
	}
	return fault.Wrap(fault.ReadContentFailure, "extensions.archive", fmt.Sprintf("The archive %s cannot be read: %v.", u.archive, cause(err)), "Check that it is a zip file, or a tar file with gzip.", err)
}

func (u *unpacking) zip() error {
	z, err := zip.OpenReader(u.archive)
	if err != nil {
		return u.invalid(err)
	}
	defer func() { _ = z.Close() }() // it was only read
	for _, f := range z.File {
		if err := u.add(f.Name, f.Mode(), f.Open); err != nil {
			return u.invalid(err)
		}
	}
	return nil
}

func (u *unpacking) tar() error {
	file, err := os.Open(u.archive)
	if err != nil {
		return u.invalid(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	packed, err := gzip.NewReader(withContext{u.ctx, file})
	if err != nil {
		return u.invalid(err)
	}
	for t := tar.NewReader(packed); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return u.invalid(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink {
			mode |= fs.ModeIrregular
		}
		if err := u.add(h.Name, mode, func() (io.ReadCloser, error) { return io.NopCloser(t), nil }); err != nil {
			return u.invalid(err)
		}
	}
}

func (u *unpacking) refuse(name, why string) error {
	return fault.New(fault.PathNotInWorkspace, "extensions.archive", fmt.Sprintf("The archive %s cannot be installed: %q %s.", u.archive, clip(name), why), "Unpack it yourself, and install the directory.")
}

// add writes one entry.
func (u *unpacking) add(name string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	switch {
	case u.ctx.Err() != nil:
		return cancelled(u.ctx.Err())
	case clean == ".":
		return nil
	case strings.Contains(name, `\`) || !filepath.IsLocal(filepath.FromSlash(clean)):
		return u.refuse(name, "leads out of it")
	case strings.Count(clean, "/") >= u.limits.depth:
		return u.refuse(name, fmt.Sprintf("is nested deeper than %d directories", u.limits.depth))
	case mode.IsDir():
		return u.mkdir(clean)
	case !mode.IsRegular():
		return u.refuse(name, "is neither a file nor a directory")
	}
	if u.left.entries--; u.left.entries < 0 {
		return tooMuch(u.archive, fmt.Sprintf("more than %d files and directories", u.limits.entries))
	}
	if err := u.mkdir(path.Dir(clean)); err != nil {
		return err
	}
	in, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := u.root.OpenFile(clean, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|mode&0o111)
	if err != nil {
		return unwritable(clean, err)
	}
	n, err := io.Copy(out, io.LimitReader(withContext{u.ctx, in}, u.left.bytes+1))
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if u.left.bytes -= n; u.left.bytes < 0 {
		return tooMuch(u.archive, fmt.Sprintf("more than %d MiB", u.limits.bytes>>20))
	}
	return err
}

func (u *unpacking) mkdir(name string) error {
	if name == "." {
		return nil
	}
	if u.left.entries--; u.left.entries < 0 {
		return tooMuch(u.archive, fmt.Sprintf("more than %d files and directories", u.limits.entries))
	}
	if err := u.root.MkdirAll(name, 0o700); err != nil {
		return unwritable(name, err)
	}
	return nil
}

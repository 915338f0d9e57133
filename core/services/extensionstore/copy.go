package extensionstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fettle-dev/fettle/core/fault"
)

// copyLimits bound the size of an extension. Each is at least 1.
type copyLimits struct {
	entries int   // files, directories and links
	bytes   int64 // of all files
	depth   int   // depth of directories
}

// usualLimits allow for the libraries of servers.
var usualLimits = copyLimits{entries: 50_000, bytes: 512 << 20, depth: 64}

// leftOut are directories of version control, which are not needed at run time.
func leftOut(name string) bool { return name == ".git" || name == ".hg" || name == ".svn" }

// copyTree copies a directory to a new one, without following links. It refuses links
// that lead out of it or to a missing file, devices, pipes and sockets. Modes become
// 0644, or 0755 for directories and executable files; directories of version control are
// omitted. After an error the caller removes the partial copy.
func copyTree(ctx context.Context, from, to string, limits copyLimits) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return unreadable(from, err)
	}
	defer func() { _ = source.Close() }() // it was only read
	if err := os.Mkdir(to, 0o755); err != nil {
		return unwritable(to, err)
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return unwritable(to, err)
	}
	defer func() { _ = target.Close() }() // each written file is closed explicitly
	c := copying{from: from, to: to, source: source, target: target, left: limits, limits: limits}
	if err := c.copyDir(ctx, ".", limits.depth); err != nil {
		return err
	}
	return c.checkLinks()
}

// copying is the state of copyTree.
type copying struct {
	from, to       string
	source, target *os.Root
	left, limits   copyLimits
	links          []string // the copied links
}

func (c *copying) copyDir(ctx context.Context, name string, depth int) error {
	if depth == 0 {
		return c.refuse(name, fmt.Sprintf("is nested deeper than %d directories", c.limits.depth), "Remove directories that it does not need.")
	}
	dir, err := c.source.Open(name)
	if err != nil {
		return unreadable(filepath.Join(c.from, name), err)
	}
	entries, err := dir.ReadDir(c.left.entries + 1)
	if closeErr := dir.Close(); err == nil || errors.Is(err, io.EOF) {
		err = closeErr
	}
	if err != nil {
		return unreadable(filepath.Join(c.from, name), err)
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return cancelled(err)
		}
		if leftOut(entry.Name()) {
			continue
		}
		if c.left.entries--; c.left.entries < 0 {
			return tooMuch(c.from, fmt.Sprintf("more than %d files and directories", c.limits.entries))
		}
		if err := c.entry(ctx, path.Join(name, entry.Name()), depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *copying) entry(ctx context.Context, name string, depth int) error {
	info, err := c.source.Lstat(name)
	if err != nil {
		return unreadable(filepath.Join(c.from, name), err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		if err := c.target.Mkdir(name, 0o755); err != nil {
			return unwritable(filepath.Join(c.to, name), err)
		}
		return c.copyDir(ctx, name, depth-1)
	case mode.IsRegular():
		return c.file(ctx, name)
	case mode&fs.ModeSymlink != 0:
		return c.link(name)
	default:
		return c.refuse(name, "is "+kindOf(mode), "An extension may contain only files, directories and links within it.")
	}
}

func (c *copying) file(ctx context.Context, name string) error {
	in, err := c.source.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not block on a pipe that has replaced it
	if err != nil {
		return unreadable(filepath.Join(c.from, name), err)
	}
	defer func() { _ = in.Close() }() // it was only read
	info, err := in.Stat()
	if err != nil {
		return unreadable(filepath.Join(c.from, name), err)
	}
	if !info.Mode().IsRegular() {
		return c.refuse(name, "is "+kindOf(info.Mode()), "Do not change the directory during the installation.")
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	out, err := c.target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return unwritable(filepath.Join(c.to, name), err)
	}
	n, err := io.Copy(out, io.LimitReader(withContext{ctx, in}, c.left.bytes+1))
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	c.left.bytes -= n
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx.Err())
	case err != nil:
		return unwritable(filepath.Join(c.to, name), err)
	case c.left.bytes < 0:
		return tooMuch(c.from, fmt.Sprintf("more than %d MiB", c.limits.bytes>>20))
	}
	return nil
}

// link copies a link. Its target is checked after the copy, in the copy, which no other
// process changes.
func (c *copying) link(name string) error {
	leads, err := c.source.Readlink(name)
	if err != nil {
		return unreadable(filepath.Join(c.from, name), err)
	}
	if filepath.IsAbs(leads) || strings.HasPrefix(filepath.ToSlash(leads), "/") || filepath.VolumeName(leads) != "" {
		return c.leadsOut(name, leads)
	}
	if err := c.target.Symlink(leads, name); err != nil {
		return unwritable(filepath.Join(c.to, name), err)
	}
	c.links = append(c.links, name)
	return nil
}

// checkLinks refuses links of the copy that lead out of it.
func (c *copying) checkLinks() error {
	for _, name := range c.links {
		_, err := c.target.Stat(name)
		if err == nil {
			continue
		}
		leads, readErr := c.target.Readlink(name)
		if readErr != nil {
			return unreadable(filepath.Join(c.to, name), readErr)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return c.refuse(name, fmt.Sprintf("is a link to %q, which does not exist", leads), "Remove the link, or add its target.")
		}
		return c.leadsOut(name, leads)
	}
	return nil
}

func (c *copying) leadsOut(name, leads string) error {
	return c.refuse(name, fmt.Sprintf("is a link to %q, which is outside of the extension", leads), "Replace the link by the file.")
}

// refuse returns the error for a refused entry of the extension.
func (c *copying) refuse(name, why, remedy string) error {
	return fault.New(fault.PathNotInWorkspace, "extensions.copy", fmt.Sprintf("The extension in %s cannot be installed: %s %s.", c.from, path.Clean(name), why), remedy)
}

// kindOf names the type of a file that is neither regular, directory nor link.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// withContext is a reader that returns an error when its context ends.
type withContext struct {
	ctx context.Context //nolint:containedctx // of the one copy that it reads for
	r   io.Reader
}

func (r withContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func tooMuch(from, what string) error {
	return fault.New(fault.FileTooLarge, "extensions.copy", fmt.Sprintf("The extension in %s cannot be installed: it has %s.", from, what),
		"Remove files that it does not need at run time.")
}

func unreadable(path string, err error) error {
	return fault.Wrap(fault.ReadContentFailure, "extensions", fmt.Sprintf("%s cannot be read: %v.", path, cause(err)), "Check that it exists, and its permissions.", err)
}

func unwritable(path string, err error) error {
	return fault.Wrap(fault.FileWriteFailure, "extensions", fmt.Sprintf("%s cannot be written: %v.", path, cause(err)), "Check the permissions of the directory, and the free space on the disk.", err)
}

func cancelled(err error) error {
	return fault.Wrap(fault.Cancelled, "extensions", "The operation was cancelled; nothing was changed.", "", err)
}

// Package files reads and changes the files of a directory, and never loses a change of another
// program.
//
// [Dir.Read] returns a [File]: bytes and their SHA-256. A change takes the File that it is based on.
// It is committed only if the file on disk still has that hash, by one atomic exchange that is undone
// if another program was faster. Otherwise it fails with code file_changed_since_read, and with
// [Options.Rebase] it is carried over if it does not overlap the other change.
//
// [Dir.Apply] makes several changes: all of them, or none. [Patch] and [Edit] change text and keep
// its encoding, byte order mark and line endings. [Write] replaces bytes.
//
// Every error is a *fault.Error, with a code for programs, and a message and a remedy for users. The
// package knows neither agents nor tools, and has no settings besides [Options].
package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
)

const defaultMaxBytes = 20 << 20

// Options configure a [Dir]. The zero value is valid.
type Options struct {
	// Rebase carries a change over to content that another program has written since its base, if at
	// least three unchanged lines lie between the two changes. It applies to [Write], [Patch] and
	// [Edit] of text whose base has its bytes in [File.Data] or in Versions.
	Rebase bool

	// Recovery is an absolute directory outside of the opened one, for journals and recovery files.
	// It is created on first use, with mode 0700, and shared by all programs that change the same
	// files. "": [Dir.Apply] of several changes, [Delete] and [Move] are refused, and so are changes
	// of files that must be rewritten in place, such as those with several hard links.
	//
	// A program that uses it calls [Dir.Recover] at start-up.
	Recovery string

	// Versions is an absolute directory outside of the opened one. Each replaced or deleted content is
	// stored in it by hash, for [Restore], before the change. It is created on first use, with mode
	// 0700, and never shortened. "": nothing is stored, and Restore is refused.
	Versions string

	// MaxBytes is the size of the largest file that is read or written. Zero: 20 MiB.
	MaxBytes int64

	// FS replaces the directory for reads, Committer for changes. Names are then valid paths in the
	// sense of [fs.ValidPath]. Nil: the directory itself.
	FS        fs.FS
	Committer Committer

	// Logger receives problems that a call cannot return. Nil: they are not logged.
	Logger *slog.Logger

	hook func(step string) error // called at each step of a commit, for tests
}

// Dir is an open directory. It is safe for concurrent use, and across processes: commits in one
// directory run one after another.
type Dir struct {
	o        Options
	native   *native // nil: FS and Committer replace it
	commit   Committer
	versions *checkpoint.Store // nil: none
}

// Open opens an existing directory, which the caller closes. With FS and Committer dir is ignored.
// The error has code invalid_config: dir does not exist, or Recovery or Versions is not absolute or
// inside of it.
func Open(dir string, o Options) (*Dir, error) {
	d := &Dir{o: o, commit: o.Committer}
	d.o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes)
	if o.FS == nil || o.Committer == nil {
		n, err := openNative(dir, d.o)
		if err != nil {
			return nil, failure("open", err)
		}
		d.native = n
		for _, own := range []string{o.Recovery, o.Versions} {
			if _, inside := n.workspace.Resolve(own); own != "" && (inside == nil || !filepath.IsAbs(own)) {
				return nil, failure("open", errors.Join(fault.New(fault.InvalidConfig, "", own+" is not an absolute directory outside of "+dir+".", "Name another directory."), n.workspace.Close()))
			}
		}
		if o.Committer == nil {
			d.commit = n
		}
	}
	if o.Versions != "" {
		d.versions = checkpoint.New(checkpoint.Options{Dir: o.Versions, Logger: o.Logger})
	}
	return d, nil
}

// Close closes the directory. Later calls fail with code not_initialized.
func (d *Dir) Close() error {
	if d.native == nil {
		return nil
	}
	defer d.native.committer.Wait()
	return d.native.workspace.Close()
}

// Read reads a file. The name is absolute, or relative to the directory; symbolic links are followed
// inside it.
//
// Errors have code file_not_found, permission_denied, path_not_in_workspace, target_is_directory,
// path_is_not_a_directory, not_a_regular_file, file_too_large, read_content_failure,
// invalid_tool_params (an invalid name), cancelled or not_initialized.
func (d *Dir) Read(ctx context.Context, name string) (File, error) {
	f, err := d.read(ctx, name)
	return f, failure("read", err)
}

// Write replaces the content of a file, or creates it: see [Write] and [Dir.Apply].
func (d *Dir) Write(ctx context.Context, base File, data []byte) (File, error) {
	return d.one(ctx, Write(base, data))
}

// Patch applies a unified diff to a text file: see [Patch] and [Dir.Apply].
func (d *Dir) Patch(ctx context.Context, base File, diff string) (File, error) {
	return d.one(ctx, Patch(base, diff))
}

// Edit replaces a text that occurs once in a file: see [Edit] and [Dir.Apply].
func (d *Dir) Edit(ctx context.Context, base File, from, to string) (File, error) {
	return d.one(ctx, Edit(base, from, to))
}

// Restore returns a file to an earlier version: see [Restore] and [Dir.Apply].
func (d *Dir) Restore(ctx context.Context, base File, version string) (File, error) {
	return d.one(ctx, Restore(base, version))
}

func (d *Dir) one(ctx context.Context, c Change) (File, error) {
	all, err := d.Apply(ctx, c)
	return append(all, File{})[0], err
}

// Recover completes or undoes the changes that killed processes left unfinished, and reports them.
// Processes that share [Options.Recovery] and still run are not disturbed. Without Recovery it
// returns nil. Errors have code read_content_failure or cancelled.
func (d *Dir) Recover(ctx context.Context) ([]commit.Leftover, error) {
	if d.native == nil {
		return nil, nil
	}
	left, err := d.native.recover(ctx)
	return left, failure("recover", err)
}

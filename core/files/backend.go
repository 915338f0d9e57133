package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Committer replaces the directory for changes. It is safe for concurrent use.
type Committer interface {
	// Commit makes all operations if every file still has its base, otherwise none; then the error is a
	// *fault.Error of code file_changed_since_read and reason changed. kept has the names of files with
	// bytes of other programs, also with an error.
	Commit(ctx context.Context, operations []Operation) (kept []string, err error)
}

// Operation is one change that is ready for a [Committer].
type Operation struct {
	Name   string // relative to the directory, with slashes
	Base   string // SHA-256 of the content to replace; "": the file must not exist
	Data   []byte // the new content; nil in a move: the bytes stay
	To     string // the new name of a move, which must be free; "": none
	Delete bool   // removes the file
}

// name returns the relative name of a file.
func (d *Dir) name(name string) (string, error) {
	if d.native != nil {
		p, err := d.native.workspace.Resolve(name)
		return p.Rel(), err
	}
	if !fs.ValidPath(name) {
		return "", fault.New(fault.PathNotInWorkspace, "", fmt.Sprintf("%q is not the name of a file in the file system.", name), "")
	}
	return name, nil
}

// read reads the current version of a file.
func (d *Dir) read(ctx context.Context, name string) (File, error) {
	rel, err := d.name(name)
	if err != nil {
		return File{}, err
	}
	f := File{Name: rel}
	if d.o.FS == nil {
		f.Data, f.SHA256, err = d.native.read(ctx, rel)
	} else if f.Data, err = d.readFS(ctx, rel); err == nil {
		f.SHA256 = sumOf(f.Data)
	}
	if err != nil {
		return File{}, err
	}
	return f, nil
}

func (d *Dir) readFS(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.WasCancelled("files.Read", err)
	}
	f, err := d.o.FS.Open(name)
	if err != nil {
		return nil, pathError(name, err)
	}
	defer f.Close()
	var data []byte
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		data, err = io.ReadAll(io.LimitReader(f, d.o.MaxBytes+1))
	}
	switch {
	case err != nil:
		return nil, pathError(name, err)
	case info.IsDir():
		return nil, fault.New(fault.TargetIsDirectory, "", name+" is a directory.", "")
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.NotARegularFile, "", name+" is not a regular file.", "")
	case int64(len(data)) > d.o.MaxBytes:
		return nil, tooLarge(name, d.o.MaxBytes)
	}
	return data, nil
}

// native is a directory of the operating system.
type native struct {
	recovery  string // directory, "" for none
	workspace *workspace.Workspace
	reader    *filestate.Service
	committer *commit.Committer
	sets      *transaction.Service
}

func openNative(dir string, o Options) (*native, error) {
	w, err := workspace.Open(dir)
	if err != nil {
		return nil, err
	}
	commits, sets := commit.Options{RecoveryDir: o.Recovery, Logger: o.Logger}, transaction.Options{Files: w, RecoveryDir: o.Recovery, Logger: o.Logger}
	if o.hook != nil {
		commits.Hook = func(s commit.Step) error { return o.hook(string(s)) }
		sets.Hook = func(s transaction.Step) error { return o.hook("set " + string(s)) }
	}
	c := commit.New(commits)
	sets.Committer = c
	return &native{
		recovery: o.Recovery, workspace: w, committer: c,
		reader: filestate.New(filestate.Options{Files: w, Limits: filestate.Limits{FileBytes: o.MaxBytes}, Logger: o.Logger}),
		sets:   transaction.New(sets),
	}, nil
}

func (n *native) read(ctx context.Context, name string) (data []byte, sum string, err error) {
	p, err := n.workspace.Resolve(name)
	if err != nil {
		return nil, "", err
	}
	snap, err := n.reader.Snapshot(ctx, p)
	if err != nil {
		return nil, "", err
	}
	return snap.Data, snap.SHA256, nil
}

// Commit commits one replaced or new file directly, and everything else as a set.
func (n *native) Commit(ctx context.Context, operations []Operation) (kept []string, err error) {
	if o := operations[0]; len(operations) == 1 && !o.Delete && o.To == "" {
		return n.put(ctx, o)
	}
	if n.recovery == "" {
		return nil, fault.New(fault.FileWriteFailure, "", "Several files are changed together, deleted or moved only with a recovery directory.",
			"Set Options.Recovery, or change the files one by one.")
	}
	set := make([]transaction.Operation, len(operations))
	for i, o := range operations {
		s := transaction.Operation{Kind: transaction.Update, Base: o.Base, Data: o.Data}
		switch {
		case o.Delete:
			s.Kind = transaction.Delete
		case o.To != "":
			s.Kind = transaction.Move
			if s.To, err = n.workspace.Resolve(o.To); err != nil {
				return nil, err
			}
		case o.Base == "":
			s.Kind = transaction.Create
		}
		if s.Path, err = n.workspace.Resolve(o.Name); err != nil {
			return nil, err
		}
		set[i] = s
	}
	r, err := n.sets.Commit(ctx, set)
	return r.KeptFiles, err
}

// put replaces or creates one file.
func (n *native) put(ctx context.Context, o Operation) (kept []string, err error) {
	p, err := n.workspace.Resolve(o.Name)
	if err != nil {
		return nil, err
	}
	if o.Base == "" {
		var undo func()
		if undo, err = n.workspace.MakeParents(p); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				undo()
			}
		}()
	}
	at, err := n.workspace.Locate(p)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	out, err := n.committer.Commit(ctx, commit.Request{
		Dir: at.Dir, Name: at.Name, Layer: at.Layer, Path: p.String(), Data: o.Data, Base: o.Base,
	})
	return out.KeptFiles, err
}

func (n *native) recover(ctx context.Context) ([]commit.Leftover, error) {
	left, err := n.committer.Recover(ctx)
	if err != nil {
		return left, err
	}
	sets, err := n.sets.Recover(ctx)
	return append(left, sets...), err
}

// pathError classifies an error of [Options.FS].
func pathError(name string, err error) error {
	code := fault.ReadContentFailure
	switch {
	case fault.As(err) != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		code = fault.FileNotFound
	case errors.Is(err, fs.ErrPermission):
		code = fault.PermissionDenied
	}
	return fault.Wrap(code, "", fmt.Sprintf("%s cannot be read: %s.", name, err), "", err)
}

func tooLarge(name string, most int64) error {
	return fault.New(fault.FileTooLarge, "", fmt.Sprintf("%s is larger than %d bytes, or would become so.", name, most), "")
}

package transaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// change is the change of one file: a move has two.
type change struct {
	operation int // index
	path      workspace.Path
	base      string // "": creates the file
	data      []byte
	remove    bool
	from      *change // the removal that a new file belongs to; nil: none

	dir     string // absolute, links resolved
	name    string // in dir
	missing bool   // dir does not exist yet
	layer   workspace.Layer
	at      *workspace.Location
	staged  *commit.Staged
}

// plan is a checked set.
type plan struct {
	operations int
	changes    []*change
	made       []string // absolute names of missing directories, parents first
}

func (p *plan) close() {
	for _, c := range p.changes {
		if c.at != nil {
			_ = c.at.Close() // it was only read
		}
	}
}

// plan checks the operations. It returns the index of the refused one, -1 for the set.
func (s *Service) plan(operations []Operation) (p *plan, failed int, err error) {
	if len(operations) == 0 || len(operations) > s.max {
		return nil, -1, invalid(fmt.Sprintf("A set has 1 to %d operations, not %d.", s.max, len(operations)), "Split the set.")
	}
	p = &plan{operations: len(operations)}
	for i, o := range operations {
		if err := p.add(i, o); err != nil {
			return nil, i, err
		}
	}
	byPlace := make(map[string]bool)
	for _, c := range p.changes {
		err := s.locate(p, c)
		place := filepath.Join(c.dir, c.name)
		if err == nil && byPlace[place] {
			err = invalid(fmt.Sprintf("Two operations of the set concern %s.", c.path), "Combine them into one operation.")
		}
		if err != nil {
			p.close()
			return nil, c.operation, err
		}
		byPlace[place] = true
	}
	return p, -1, nil
}

// add appends the changes of an operation.
func (p *plan) add(i int, o Operation) error {
	if o.Path == (workspace.Path{}) || o.Kind == Move && o.To == (workspace.Path{}) {
		return invalid(fmt.Sprintf("Operation %d has no path.", i+1), "Give a path inside the workspace.")
	}
	if (o.Kind == Create) != (o.Base == "") {
		return invalid(fmt.Sprintf("The operation %s of %s needs a base hash if the file exists, and none otherwise.", o.Kind, o.Path), "Read the file and pass its hash.")
	}
	c := &change{operation: i, path: o.Path, base: o.Base, data: o.Data}
	switch o.Kind {
	case Update, Create:
		p.changes = append(p.changes, c)
	case Delete:
		c.remove = true
		p.changes = append(p.changes, c)
	case Move:
		c.remove, c.data = true, nil
		p.changes = append(p.changes, c, &change{operation: i, path: o.To, data: o.Data, from: c})
	default:
		return invalid(fmt.Sprintf("%q is not a kind of operation.", o.Kind), "Use update, create, delete or move.")
	}
	return nil
}

// locate finds the directory of a change, or the name that it will have.
func (s *Service) locate(p *plan, c *change) error {
	if err := s.files.Writable(c.path); err != nil {
		return err
	}
	at, err := s.files.Locate(c.path)
	if err == nil {
		c.at, c.dir, c.name, c.layer = at, commit.DirPath(at.Dir), at.Name, at.Layer
		if c.remove {
			return s.refuseLink(c)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) || c.base != "" {
		return err
	}
	// Some parent directories are missing. MakeParents creates them later, below the last one that
	// exists.
	c.missing = true
	var names []string
	for name := filepath.Dir(c.path.String()); ; name = filepath.Dir(name) {
		parent, err := s.files.Resolve(name)
		if err != nil {
			return err
		}
		at, err := s.files.Locate(parent)
		if errors.Is(err, fs.ErrNotExist) {
			names = append(names, filepath.Base(name))
			continue
		}
		if err != nil {
			return err
		}
		c.dir = filepath.Join(commit.DirPath(at.Dir), at.Name)
		if at.Layer != workspace.Plain {
			c.layer = workspace.Upper // a new directory shows no file from below
		}
		_ = at.Close()
		break
	}
	p.create(c.dir)
	for len(names) > 0 {
		c.dir = filepath.Join(c.dir, names[len(names)-1])
		names = names[:len(names)-1]
		p.create(c.dir)
	}
	c.name = c.path.Base()
	return nil
}

func (p *plan) create(dir string) {
	if !slices.Contains(p.made, dir) {
		p.made = append(p.made, dir)
	}
}

// refuseLink refuses to remove the target of a link.
func (s *Service) refuseLink(c *change) error {
	parent, err := s.files.Resolve(filepath.Dir(c.path.String()))
	if err != nil {
		return err
	}
	dir, err := s.files.OpenDir(parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Lstat(c.path.Base())
	if err == nil && info.Mode&fs.ModeSymlink != 0 {
		return fault.New(fault.NotARegularFile, op, fmt.Sprintf("%s is a symbolic link, not a regular file; nothing was written.", c.path),
			"Choose the path of a regular file.")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the check of the content refuses it
	}
	return err
}

// open creates the missing directories of the changes and opens them. undo removes the created ones
// that are still empty.
func (s *Service) open(p *plan) (undo func(), failed int, err error) {
	var undos []func()
	undo = func() {
		for i := len(undos) - 1; i >= 0; i-- {
			undos[i]()
		}
	}
	for _, c := range p.changes {
		if !c.missing {
			continue
		}
		made, err := s.files.MakeParents(c.path)
		if err != nil {
			undo()
			return nil, c.operation, err
		}
		undos = append(undos, made)
		if c.at, err = s.files.Locate(c.path); err != nil {
			undo()
			return nil, c.operation, err
		}
		if commit.DirPath(c.at.Dir) != c.dir || c.at.Name != c.name {
			undo()
			return nil, c.operation, fault.New(fault.FileWriteFailure, op,
				fmt.Sprintf("A directory of %s was replaced meanwhile; nothing was written.", c.path), "Call again.")
		}
	}
	return undo, -1, nil
}

// dirs returns the open directories.
func (p *plan) dirs() []*os.File {
	dirs := make([]*os.File, len(p.changes))
	for i, c := range p.changes {
		dirs[i] = c.at.Dir
	}
	return dirs
}

const op = "transaction"

func invalid(message, remedy string) error {
	return fault.New(fault.InvalidToolParams, op, message, remedy)
}

// whole classifies an error that concerns the journal.
func whole(what string, cause error) error {
	if e := fault.As(cause); e != nil && e.Code != fault.Unknown {
		return cause
	}
	code, remedy := fault.FileWriteFailure, "Call again when the cause is removed."
	switch {
	case commit.IsNoSpace(cause):
		code, remedy = fault.NoSpaceLeft, "Free some space or raise the quota, then call again."
	case errors.Is(cause, fs.ErrPermission):
		code = fault.PermissionDenied
	}
	return fault.Wrap(code, op, fmt.Sprintf("%s failed: %s. No file was changed.", what, strings.TrimSuffix(cause.Error(), ".")), remedy, cause)
}

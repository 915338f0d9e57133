package plan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// document is a plan that was read.
type document struct {
	text   string
	sha256 string // of its bytes
}

// maxPlan is the maximum size of a plan in bytes.
const maxPlan = 1 << 20

// locate resolves the path of a plan lexically: an absolute path, a path relative to the target directory that leads
// into the directory of plans, or a path relative to that directory.
func (s Services) locate(name string) (workspace.Path, error) {
	given, err := s.Files.Resolve(name)
	if err == nil && s.holds(given) {
		return given, nil
	}
	if !filepath.IsAbs(name) {
		given, err = s.Files.Resolve(filepath.Join(s.Dir, name))
	}
	if err == nil && !s.holds(given) {
		err = s.outside(given.String())
	}
	return given, err
}

// holds reports whether a path is lexically below the directory of plans.
func (s Services) holds(p workspace.Path) bool {
	dir, err := s.Files.Resolve(s.Dir)
	return err == nil && below(dir.String(), p.String())
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

func (s Services) outside(path string) *fault.Error {
	return fault.New(fault.PathNotInWorkspace, "plan.locate",
		"A plan must lie in the directory of plans: "+escape.Quoted(path)+" is, or links, outside of "+escape.Quoted(s.Dir)+".",
		"Write the plan to a Markdown file in that directory, and pass its name.")
}

// read reads a plan. It follows links, which must stay in the directory of plans.
func (s Services) read(ctx context.Context, p workspace.Path) (*document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	real, err := s.follow(p)
	if err != nil {
		return nil, err
	}
	f, err := s.Files.OpenRead(real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(fault.FileNotFound, "plan.read", "There is no plan "+escape.Quoted(p.String())+".",
			"Write the plan to that file; plan mode allows Markdown files directly in "+escape.Quoted(s.Dir)+". Then call "+ExitPlanMode+" again.", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := workspace.InfoOf(f)
	if err != nil {
		return nil, err
	}
	switch path := escape.Quoted(p.String()); {
	case info.Mode.IsDir():
		return nil, fault.New(fault.TargetIsDirectory, "plan.read", path+" is a directory, not a plan.", "Name a file in it.")
	case !info.Mode.IsRegular():
		return nil, fault.New(fault.NotARegularFile, "plan.read", path+" is not a regular file and was not read.", "Write the plan to a regular file.")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err != nil {
		return nil, fault.Wrap(fault.ReadContentFailure, "plan.read", "The plan "+escape.Quoted(p.String())+" cannot be read: "+err.Error()+".",
			"Try again, or write it again.", err)
	}
	return newDocument(escape.Quoted(p.String()), data)
}

// newDocument checks the content of a plan.
func newDocument(path string, data []byte) (*document, error) {
	switch {
	case len(data) > maxPlan:
		return nil, fault.New(fault.FileTooLarge, "plan.read", fmt.Sprintf("The plan %s is longer than %d bytes.", path, maxPlan),
			"Write a shorter plan.")
	case !utf8.Valid(data):
		return nil, fault.New(fault.ReadContentFailure, "plan.read", "The plan "+path+" is not text in UTF-8.", "Write it again as UTF-8.")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, fault.New(fault.ReadContentFailure, "plan.read", "The plan "+path+" is not text: it contains NUL characters.", "Write it again as text.")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fault.New(fault.ExecutionFailed, "plan.read", "The plan "+path+" is blank.", "Write the plan to it first.")
	}
	sum := sha256.Sum256(data)
	return &document{text: string(data), sha256: hex.EncodeToString(sum[:])}, nil
}

// follow resolves the symbolic links of a plan's path.
func (s Services) follow(p workspace.Path) (workspace.Path, error) {
	dir, err := s.Files.RealPath(s.Dir)
	if err != nil {
		return p, err
	}
	real, err := s.Files.RealPath(p.String())
	if err != nil {
		return p, fault.Wrap(fault.FileNotFound, "plan.read", "The plan "+escape.Quoted(p.String())+" cannot be found: a link leads nowhere.",
			"Write the plan to a Markdown file in "+escape.Quoted(s.Dir)+", and pass its name.", err)
	}
	if !below(dir, real) {
		return p, s.outside(p.String())
	}
	return s.Files.Resolve(real)
}

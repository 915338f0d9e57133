package hookrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Approvals are the approved hooks of projects, in a file of the user: an object of
// project directories, each with a list of fingerprints followed by the name of the
// hook. Other entries in the lists belong to other programs and are preserved. Approvals
// is safe for concurrent use, also by several processes.
type Approvals struct{ path string }

// OpenApprovals returns the approvals in the file at path, which need not exist.
func OpenApprovals(path string) *Approvals { return &Approvals{path} }

// Path returns the path of the file.
func (a *Approvals) Path() string { return a.path }

// mark begins each entry of fettle; none is the entry of a project without hooks.
const (
	mark = "sha256:"
	none = mark + "none"
)

// Approved is the record of a project.
type Approved struct {
	Seen         bool // a record exists, possibly without hooks
	fingerprints map[string]bool
}

// Has reports whether a fingerprint is recorded.
func (a Approved) Has(fingerprint string) bool { return a.fingerprints[fingerprint] }

// Of returns the record of a project, given by its absolute path with links resolved.
// The error is of code invalid_config.
func (a *Approvals) Of(project string) (Approved, error) {
	all, err := a.read()
	if err != nil {
		return Approved{}, err
	}
	found := Approved{fingerprints: map[string]bool{}}
	for _, entry := range all[project] {
		if rest, ok := strings.CutPrefix(entry, mark); ok {
			fingerprint, _, _ := strings.Cut(rest, " ")
			found.Seen, found.fingerprints[fingerprint] = true, true
		}
	}
	return found, nil
}

// Record replaces the recorded fingerprints of a project; fingerprints maps each to the
// name of its hook. An empty map records a project without hooks. Errors are of code
// invalid_config, file_write_failure or cancelled.
func (a *Approvals) Record(ctx context.Context, project string, fingerprints map[string]string) error {
	unlock, err := lockedfile.LockOf(ctx, a.path)
	if err != nil {
		if ctx.Err() != nil {
			return fault.Wrap(fault.Cancelled, "hooks.approve", "The approved hooks are unchanged because the call was cancelled.", "", ctx.Err())
		}
		return a.unwritten(err)
	}
	defer unlock()
	all, err := a.read()
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(all[project], func(entry string) bool { return strings.HasPrefix(entry, mark) })
	for _, fingerprint := range slices.Sorted(maps.Keys(fingerprints)) {
		kept = append(kept, mark+fingerprint+" "+oneLine(fingerprints[fingerprint]))
	}
	if len(fingerprints) == 0 {
		kept = append(kept, none)
	}
	all[project] = kept
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return a.unwritten(err)
	}
	if err := lockedfile.Replace(a.path, append(text, '\n')); err != nil {
		return a.unwritten(err)
	}
	return nil
}

func (a *Approvals) read() (map[string][]string, error) {
	all := map[string][]string{}
	info, err := os.Stat(a.path) // before opening: a pipe would block
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var data []byte
	if err == nil {
		data, err = readAtMost(a.path, 4*maxBytes)
	}
	if err == nil {
		var plain []byte
		if plain, err = hujson.Standardize(append(data, '\n')); err == nil {
			err = json.Unmarshal(plain, &all)
		}
	}
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "hooks.approvals", fmt.Sprintf("The file of approved hooks %s cannot be read: %s.", a.path, cause(err)),
			"Correct it, or move it away and approve the hooks of projects again.", err)
	}
	if all == nil {
		all = map[string][]string{}
	}
	return all, nil
}

func (a *Approvals) unwritten(err error) error {
	return fault.Wrap(fault.FileWriteFailure, "hooks.approve", fmt.Sprintf("Nothing was recorded: the file of approved hooks %s cannot be written: %s.", a.path, cause(err)),
		"Make sure that you may write to its directory and that the disk has room.", err)
}

// readAtMost reads a file of at most that many bytes.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return data, err
}

// cause returns an error's text without the path, which the message already has.
func cause(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "hujson: ")
}

// ReadFile reads a definition of hooks as JSON if the name ends in .json, else as TOML.
// A missing file has no hooks. A project's file, which is in its settings directory, is
// not read if links lead out of the project.
func ReadFile(o Origin) ([]hooks.Hook, []fault.Problem) {
	info, err := os.Stat(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && o.Source == hooks.SourceProject {
		err = leadsOut(o.Path, filepath.Dir(filepath.Dir(o.Path)))
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var data []byte
	if err == nil {
		data, err = readAtMost(o.Path, maxBytes)
	}
	if err != nil {
		return nil, []fault.Problem{{Path: o.Path, Message: fmt.Sprintf("The file cannot be read (%s); none of its hooks runs.", cause(err))}}
	}
	if strings.HasSuffix(o.Path, ".json") {
		return ParseJSON(data, o)
	}
	return ParseTOML(data, o)
}

// leadsOut returns an error if a path below a directory leads out of it.
func leadsOut(path, dir string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("it leads out of the project, to %s", real)
	}
	return nil
}

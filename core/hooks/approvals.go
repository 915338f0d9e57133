package hooks

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
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Approvals are the hooks of projects that a person has approved of, in a file of
// theirs: an object of project directories, each with a list of fingerprints, each with
// the hook's name behind it. What else is in the lists is another program's and
// stays. It is safe for concurrent use, with other processes too.
type Approvals struct{ path string }

// OpenApprovals returns the approvals in the file at path, which need not exist.
func OpenApprovals(path string) *Approvals { return &Approvals{path} }

// Path is the file's.
func (a *Approvals) Path() string { return a.path }

// mark begins each of our entries; none is the one of a project that has no hooks.
const (
	mark = "sha256:"
	none = mark + "none"
)

// Approved is what is recorded of a project.
type Approved struct {
	Seen         bool // something is, if only that there were no hooks
	fingerprints map[string]bool
}

// Has reports whether a fingerprint is recorded.
func (a Approved) Has(fingerprint string) bool { return a.fingerprints[fingerprint] }

// Of returns what is recorded of a project, by its absolute path with links
// followed. The error is of code invalid_config.
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

// Record puts these fingerprints, each with the name of its hook, in the place of
// those that are recorded of a project. Without any it is recorded that it was
// seen. Errors are of code invalid_config, file_write_failure or cancelled.
func (a *Approvals) Record(ctx context.Context, project string, fingerprints map[string]string) error {
	unlock, err := lockedfile.LockOf(ctx, a.path)
	if err != nil {
		if ctx.Err() != nil {
			return fault.Wrap(fault.Cancelled, "hooks.approve", "The approved hooks were left as they are, as the call was cancelled.", "", ctx.Err())
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
	info, err := os.Stat(a.path) // before it is opened: a pipe would keep us waiting
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
			"Mend it, or move it away; the hooks of projects are then to be approved again.", err)
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

// readAtMost reads a file that has no more bytes than that.
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

// cause is an error's text without the path, which the sentence names.
func cause(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "hujson: ")
}

// ReadFile reads a definition of hooks by its name: TOML, or JSON where it ends in
// .json. A file that is not there has none. A project's, which stands in its
// settings directory, is not read where links lead it out of the project.
func ReadFile(o Origin) ([]Hook, []fault.Problem) {
	info, err := os.Stat(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && o.Source == SourceProject {
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

// leadsOut is an error where a path below a directory leads out of it.
func leadsOut(path, folder string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("it leads out of the project, to %s", real)
	}
	return nil
}

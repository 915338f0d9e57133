package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// OutsideApprovals is the file of the directories outside of a trusted project that the user has approved
// for the project's settings:
//
//	{ "/abs/project": ["/abs/directory", …] }
//
// Trust in a project does not cover them. A missing file approves nothing; an invalid file is an
// error of code invalid_config. It is safe for concurrent use, by several processes too.
type OutsideApprovals struct{ file *Store }

// OpenOutsideApprovals returns the approvals in the file at path. It does no I/O.
func OpenOutsideApprovals(path string) *OutsideApprovals { return &OutsideApprovals{Open(path)} }

// Approved returns the approved directories of a project, absolute, with links resolved at the time of
// approval. The project need not exist.
func (o *OutsideApprovals) Approved(project string) ([]string, error) {
	real, err := realDir(project)
	if err != nil {
		return nil, err
	}
	data, err := o.file.read()
	if err != nil {
		return nil, err
	}
	all, err := o.parse(data)
	return all[real], err
}

// Record replaces the approved directories of a project; an empty list removes its entry. Links are
// resolved. The error has code invalid_config, read_content_failure, file_write_failure or
// cancelled.
func (o *OutsideApprovals) Record(ctx context.Context, project string, directories []string) error {
	real, err := realDir(project)
	if err != nil {
		return err
	}
	var list []string
	for _, directory := range directories {
		to, err := realDir(directory)
		if err != nil {
			return err
		}
		list = append(list, to)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 && o.file.missing() {
		return nil
	}
	return o.file.update(ctx, func(old []byte) ([]byte, error) {
		all, err := o.parse(old)
		if err != nil {
			return nil, err
		}
		if delete(all, real); len(list) > 0 {
			all[real] = list
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(all)
		return text.Bytes(), err
	})
}

// Covers reports whether directory is one of directories or below one of them. Paths are cleaned,
// then links are resolved on both sides. A directory that cannot be resolved is not covered.
func Covers(directories []string, directory string) bool {
	real, err := realDir(directory)
	if err != nil {
		return false
	}
	chain := newChain(real)
	return slices.ContainsFunc(directories, func(d string) bool {
		to, err := realDir(d)
		if err != nil {
			return false
		}
		_, within := chain.depth(to)
		return within
	})
}

func (o *OutsideApprovals) parse(data []byte) (map[string][]string, error) {
	all := map[string][]string{}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n'))
	if err == nil {
		err = json.Unmarshal(plain, &all)
	}
	if err != nil {
		return nil, o.file.readError(err)
	}
	if all == nil {
		all = map[string][]string{}
	}
	return all, nil
}

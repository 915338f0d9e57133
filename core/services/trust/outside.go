package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// Outside is the file in which a user's approval is recorded of directories
// outside of a trusted project that the project's settings include:
//
//	{ "/abs/project": ["/abs/directory", …] }
//
// Trust in a project does not cover them. A missing file records nothing, and one
// that cannot be understood is an error of code invalid_config. An Outside is safe
// for concurrent use, by several processes too.
type Outside struct{ file *Store }

// OpenOutside returns the approvals in the file at path. It does no I/O.
func OpenOutside(path string) *Outside { return &Outside{Open(path)} }

// Of returns the directories that are recorded of a project, absolute and with
// links followed as they were then. The project need not exist.
func (o *Outside) Of(project string) ([]string, error) {
	real, err := realFolder(project)
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

// Record puts directories in the place of those that are recorded of a project,
// none for no entry. Links are followed. Errors are of code invalid_config,
// read_content_failure, file_write_failure or cancelled.
func (o *Outside) Record(ctx context.Context, project string, directories []string) error {
	real, err := realFolder(project)
	if err != nil {
		return err
	}
	var list []string
	for _, directory := range directories {
		to, err := realFolder(directory)
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

// Covers reports whether a directory is one of some others or lies in one, links
// followed on both sides once paths are cleaned. What cannot be followed is not
// covered.
func Covers(directories []string, directory string) bool {
	real, err := realFolder(directory)
	if err != nil {
		return false
	}
	chain := chainOf(real)
	return slices.ContainsFunc(directories, func(d string) bool {
		to, err := realFolder(d)
		if err != nil {
			return false
		}
		_, within := chain.depth(to)
		return within
	})
}

func (o *Outside) parse(data []byte) (map[string][]string, error) {
	all := map[string][]string{}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n'))
	if err == nil {
		err = json.Unmarshal(plain, &all)
	}
	if err != nil {
		return nil, o.file.unreadable(err)
	}
	if all == nil {
		all = map[string][]string{}
	}
	return all, nil
}

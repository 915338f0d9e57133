package trust

import (
	"context"
	"slices"
)

// OutsideApprovals is the file of the directories outside of a trusted project that the user has approved
// for the project's settings:
//
//	{ "/abs/project": ["/abs/directory", …] }
//
// Trust in a project does not cover them. A missing file approves nothing; an invalid file is an
// error of code invalid_config. It is safe for concurrent use, by several processes too.
type OutsideApprovals struct{ lists }

// OpenOutsideApprovals returns the approvals in the file at path. It does no I/O.
func OpenOutsideApprovals(path string) *OutsideApprovals { return &OutsideApprovals{lists{Open(path)}} }

// Approved returns the approved directories of a project, absolute, with links resolved at the time of
// approval. The project need not exist.
func (o *OutsideApprovals) Approved(project string) ([]string, error) {
	all, real, err := o.read(project)
	return all[real], err
}

// Record replaces the approved directories of a project; an empty list removes its entry. Links are
// resolved. The error has code invalid_config, read_content_failure, file_write_failure or
// cancelled.
func (o *OutsideApprovals) Record(ctx context.Context, project string, directories []string) error {
	var list []string
	for _, directory := range directories {
		to, err := realDir(directory)
		if err != nil {
			return err
		}
		list = append(list, to)
	}
	return o.record(ctx, project, list)
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

package trust

import (
	"context"
)

// GitApprovals is the file of the settings of repositories that the user has approved with the trust
// in a project. Each is a digest of the repository, the setting's name and its value:
//
//	{ "/abs/project": ["9f86d081884c7d65…", …] }
//
// A missing file approves nothing; an invalid file is an error of code invalid_config. It is safe
// for concurrent use, by several processes too.
type GitApprovals struct{ lists }

// OpenGitApprovals returns the approvals in the file at path. It does no I/O.
func OpenGitApprovals(path string) *GitApprovals { return &GitApprovals{lists{Open(path)}} }

// Approved returns the digests that are approved for a directory: those of projects that are the
// directory or contain it. The directory need not exist.
func (g *GitApprovals) Approved(dir string) ([]string, error) {
	all, real, err := g.read(dir)
	var digests []string
	for project, list := range all {
		if Covers([]string{project}, real) {
			digests = append(digests, list...)
		}
	}
	return digests, err
}

// Record replaces the approved digests of a project; an empty list removes its entry. The error has
// code invalid_config, read_content_failure, file_write_failure or cancelled.
func (g *GitApprovals) Record(ctx context.Context, project string, digests []string) error {
	return g.record(ctx, project, digests)
}

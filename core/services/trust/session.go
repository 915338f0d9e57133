package trust

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
)

// The names of the files in the user's settings directory.
const (
	FileName    = "trustedFolders.json" // of a [Store]
	GitFileName = "trusted_git.json"    // of [GitApprovals]
)

// OfSession returns the trust of a session's directories, the target first: from the
// first variable that is set, otherwise from the store. One untrusted directory makes
// the session untrusted; otherwise the target decides, because only its rules are read.
// A nil Store records nothing. The error has code invalid_config, or is that of Decide.
func (s *Store) OfSession(ctx context.Context, getenv func(string) string, variables, dirs []string) (State, error) {
	for _, variable := range variables {
		state, given, err := FromEnv(getenv(variable))
		if err != nil {
			return Undecided, fault.Wrap(fault.InvalidConfig, "trust", fmt.Sprintf("The variable %s is invalid: %s", variable, fault.Line(err)), "", err)
		}
		if given {
			return state, nil
		}
	}
	state := Undecided
	for i, dir := range dirs {
		if s == nil {
			break
		}
		recorded, _, err := s.Decide(ctx, dir)
		if err != nil {
			return Undecided, err
		}
		if i == 0 || recorded == Untrusted {
			state = recorded
		}
	}
	return state, nil
}

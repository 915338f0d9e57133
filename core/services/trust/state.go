package trust

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// State is what a person thinks of a directory. The zero value is
// [Undecided].
type State int

// The states.
const (
	Undecided State = iota // nothing is recorded: the project's own files may tighten, not loosen
	Trusted                // the project's own files may loosen too
	Untrusted              // as undecided; yolo is refused, git is asked about, and the project's instruction files are not given
)

// String returns the state's name: undecided, trusted or untrusted.
func (s State) String() string {
	switch s {
	case Undecided:
		return "undecided"
	case Trusted:
		return "trusted"
	case Untrusted:
		return "untrusted"
	}
	return fmt.Sprintf("state %d", int(s))
}

// MarshalText returns the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *State) UnmarshalText(text []byte) error {
	for _, known := range []State{Undecided, Trusted, Untrusted} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fault.New(fault.InvalidConfig, "trust.state", fmt.Sprintf("%.40q is not a state of trust.", text),
		"Use undecided, trusted or untrusted.")
}

// FromEnv reads the value of a variable that says whether the directory is
// trusted: true or false. given is false for "". Another value is an error of
// code invalid_config, whose sentence leaves the variable's name to the caller:
// it is not taken for either.
func FromEnv(value string) (state State, given bool, err error) {
	switch strings.TrimSpace(value) {
	case "":
		return Undecided, false, nil
	case "true":
		return Trusted, true, nil
	case "false":
		return Untrusted, true, nil
	}
	return Undecided, false, fault.New(fault.InvalidConfig, "trust.env",
		fmt.Sprintf("The value %.40q does not say whether the directory is trusted.", value),
		"Set it to true or false, or unset it.")
}

package trust

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// State is the user's trust in a directory. The zero value is [Undecided].
type State int

// The states.
const (
	Undecided State = iota // nothing is recorded: the settings of the project may restrict permissions, but not extend them
	Trusted                // the settings of the project may also extend permissions
	Untrusted              // like Undecided; in addition, yolo is refused, git needs an approval, and the instruction files of the project are not loaded
)

// IsTrusted reports whether the files of the directory may loosen restrictions.
func (s State) IsTrusted() bool { return s == Trusted }

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

// UnmarshalText parses the result of MarshalText.
func (s *State) UnmarshalText(text []byte) error {
	for _, known := range []State{Undecided, Trusted, Untrusted} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fault.New(fault.InvalidConfig, "trust.state", fmt.Sprintf("%.40q is not a trust state.", text),
		"Use undecided, trusted or untrusted.")
}

// FromEnv parses the value of an environment variable with the trust of the directory: true or
// false. given is false for "". For any other value the error has code
// invalid_config and the result is neither state. The message does not name the variable; the caller
// does.
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
		fmt.Sprintf("The value %.40q is not a valid trust of the directory.", value),
		"Set it to true or false, or unset it.")
}

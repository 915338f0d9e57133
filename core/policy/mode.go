package policy

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// ApprovalMode determines which calls run without approval. The zero value is
// [ModeDefault].
type ApprovalMode string

// The modes in the spelling of JSON, TOML and messages; auto_edit is accepted for
// autoEdit.
const (
	ModeDefault  ApprovalMode = "default"  // requires approval of every change
	ModeAutoEdit ApprovalMode = "autoEdit" // makes edits without approval
	ModeAuto     ApprovalMode = "auto"     // like autoEdit, and runs confined commands without approval
	ModeYolo     ApprovalMode = "yolo"     // requires no approval
	ModePlan     ApprovalMode = "plan"     // shows changes and makes none
)

// modes is the only list of the modes, the strictest first.
var modes = [...]struct {
	mode          ApprovalMode
	flag, meaning string
}{
	{ModePlan, "plan", "shows changes and makes none"},
	{ModeDefault, "default", "requires approval of every change"},
	{ModeAutoEdit, "auto_edit", "makes edits without approval"},
	{ModeAuto, "auto", "makes edits and runs confined commands without approval"},
	{ModeYolo, "yolo", "requires no approval"},
}

// Modes returns the approval modes, the strictest first.
func Modes() []ApprovalMode {
	all := make([]ApprovalMode, len(modes))
	for i := range modes {
		all[i] = modes[i].mode
	}
	return all
}

// ParseApprovalMode parses a mode of [Modes], or auto_edit for autoEdit; "" is
// default. The error has code invalid_config.
func ParseApprovalMode(s string) (ApprovalMode, error) {
	if i := modeIndex(s); i >= 0 {
		return modes[i].mode, nil
	}
	var flags []string
	for _, m := range modes {
		flags = append(flags, m.flag)
	}
	return "", fault.New(fault.InvalidConfig, "policy.mode",
		fmt.Sprintf("%.40q is not an approval mode.", s),
		"Use one of "+strings.Join(flags, ", ")+".")
}

// modeIndex returns the index of a mode in [modes], or -1 if it is invalid.
func modeIndex(s string) int {
	if s == "" {
		s = string(ModeDefault)
	}
	for i := range modes {
		if s == string(modes[i].mode) || s == modes[i].flag {
			return i
		}
	}
	return -1
}

// index returns the index of the mode in [modes]. An invalid mode counts as default.
func (m ApprovalMode) index() int {
	if i := modeIndex(string(m)); i >= 0 {
		return i
	}
	return modeIndex(string(ModeDefault))
}

// Stricter reports whether m requires more approvals than other. An invalid mode
// counts as default.
func (m ApprovalMode) Stricter(other ApprovalMode) bool { return m.index() < other.index() }

// Flag returns the spelling of command lines: auto_edit for autoEdit, the mode itself
// for the others, default for an invalid mode.
func (m ApprovalMode) Flag() string { return modes[m.index()].flag }

// Meaning returns the effect of the mode as a predicate, such as "makes edits without
// approval". An invalid mode counts as default.
func (m ApprovalMode) Meaning() string { return modes[m.index()].meaning }

// String returns the mode, the zero value as default.
func (m ApprovalMode) String() string {
	if m == "" {
		return string(ModeDefault)
	}
	return string(m)
}

// MarshalText encodes the mode, autoEdit in that spelling.
func (m ApprovalMode) MarshalText() ([]byte, error) {
	canonical, err := ParseApprovalMode(string(m))
	return []byte(canonical), err
}

// UnmarshalText decodes a mode like ParseApprovalMode.
func (m *ApprovalMode) UnmarshalText(text []byte) error {
	parsed, err := ParseApprovalMode(string(text))
	if err == nil {
		*m = parsed
	}
	return err
}

package policy

import (
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
)

// ApprovalMode says how much is done without asking (AR-27). The zero value
// is [ModeDefault].
type ApprovalMode string

// The modes. JSON, TOML and messages print these; autoEdit is also read as
// auto_edit.
const (
	ModeDefault  ApprovalMode = "default"  // asks before every change
	ModeAutoEdit ApprovalMode = "autoEdit" // makes edits without asking
	ModeYolo     ApprovalMode = "yolo"     // asks nothing
	ModePlan     ApprovalMode = "plan"     // shows changes and makes none
)

// ParseApprovalMode reads a mode: default, autoEdit or auto_edit, yolo, plan;
// "" is default. The error is of code invalid_config.
func ParseApprovalMode(s string) (ApprovalMode, error) {
	switch m := ApprovalMode(s); m {
	case "":
		return ModeDefault, nil
	case "auto_edit":
		return ModeAutoEdit, nil
	case ModeDefault, ModeAutoEdit, ModeYolo, ModePlan:
		return m, nil
	}
	return "", fault.New(fault.InvalidConfig, "policy.mode",
		fmt.Sprintf("%.40q is not an approval mode.", s),
		"Use one of default, auto_edit, yolo, plan.")
}

// String returns the mode, the zero value as default.
func (m ApprovalMode) String() string {
	if m == "" {
		return string(ModeDefault)
	}
	return string(m)
}

// MarshalText prints the mode, autoEdit in that spelling.
func (m ApprovalMode) MarshalText() ([]byte, error) {
	canonical, err := ParseApprovalMode(string(m))
	return []byte(canonical), err
}

// UnmarshalText reads what ParseApprovalMode reads.
func (m *ApprovalMode) UnmarshalText(text []byte) error {
	parsed, err := ParseApprovalMode(string(text))
	if err == nil {
		*m = parsed
	}
	return err
}

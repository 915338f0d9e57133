package policy

import (
	"fmt"

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

// ParseApprovalMode parses a mode: default, autoEdit or auto_edit, auto, yolo,
// plan; "" is default. The error has code invalid_config.
func ParseApprovalMode(s string) (ApprovalMode, error) {
	switch m := ApprovalMode(s); m {
	case "":
		return ModeDefault, nil
	case "auto_edit":
		return ModeAutoEdit, nil
	case ModeDefault, ModeAutoEdit, ModeAuto, ModeYolo, ModePlan:
		return m, nil
	}
	return "", fault.New(fault.InvalidConfig, "policy.mode",
		fmt.Sprintf("%.40q is not an approval mode.", s),
		"Use one of default, auto_edit, auto, yolo, plan.")
}

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

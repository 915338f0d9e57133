package extensions

import (
	"github.com/fettle-dev/fettle/core/fault"
)

// extensionProblem is the JSON output for a problem of an extension.
type extensionProblem struct {
	Path      string `json:"path,omitempty"`
	Line      int    `json:"line,omitempty"`
	Extension string `json:"extension,omitempty"`
	Message   string `json:"message"`
	Remedy    string `json:"remedy,omitempty"`
	Lost      bool   `json:"lost,omitempty"`
	Minor     bool   `json:"minor,omitempty"`
}

func extensionProblemOf(p fault.Problem) extensionProblem {
	return extensionProblem{p.Path, p.Line, p.Extension, p.Message, p.Remedy, p.IsError(), p.Severity == fault.SeverityNotice}
}

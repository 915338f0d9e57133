package cli

import (
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// settingProblem is a problem of settings in JSON.
type settingProblem struct {
	Source   string         `json:"source"`
	Layer    settings.Layer `json:"layer"`
	Line     int            `json:"line,omitempty"`
	Column   int            `json:"column,omitempty"`
	Key      string         `json:"key,omitempty"`
	Kind     settings.Kind  `json:"kind"`
	Severity fault.Severity `json:"severity"`
	Expected string         `json:"expected,omitempty"`
	Nearest  string         `json:"nearest,omitempty"`
	Open     bool           `json:"open,omitempty"`
	Message  string         `json:"message"`
	Remedy   string         `json:"remedy,omitempty"`
}

func settingProblems(problems []fault.Problem) []settingProblem {
	all := make([]settingProblem, len(problems))
	for i, p := range problems {
		all[i] = settingProblem{p.Path, p.Layer, p.Line, p.Column, p.Key, p.Kind, p.Severity, p.Expected, p.Nearest, p.Open, p.Message, p.Remedy}
	}
	return all
}

// extensionProblem is a problem of an extension in JSON.
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
	return extensionProblem{p.Path, p.Line, p.Extension, p.Message, p.Remedy, p.Lost(), p.Severity == fault.SeverityNotice}
}

// recordingProblem is a problem of a recording in JSON.
type recordingProblem struct {
	Path    string `json:"path"`
	Line    int    `json:"line"` // 0: the file as a whole
	Message string `json:"message"`
}

func recordingProblems(problems []fault.Problem) []recordingProblem {
	var all []recordingProblem
	for _, p := range problems {
		all = append(all, recordingProblem{p.Path, p.Line, p.Message})
	}
	return all
}

package settings

import (
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// settingProblem is the JSON output for a problem of settings.
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
	var all []settingProblem
	for _, p := range problems {
		all = append(all, settingProblem{p.Path, p.Layer, p.Line, p.Column, p.Key, p.Kind, p.Severity, p.Expected, p.Nearest, p.Open, p.Message, p.Remedy})
	}
	return all
}

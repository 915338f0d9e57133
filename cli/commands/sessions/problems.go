package sessions

import (
	"github.com/fettle-dev/fettle/core/fault"
)

// recordingProblem is the JSON output for a problem of a recording.
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

package subagent

import (
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
)

// Problem is something about a definition that is wrong, or not what its author
// may think.
type Problem struct {
	Path    string // of the file or folder
	Line    int    // 1-based; 0: the whole of it
	Message string // a sentence
	Remedy  string // a sentence; may be empty
	Lost    bool   // the agent is not there because of it; else it is there without what is named
}

// String returns the place and the sentences, in one line.
func (p Problem) String() string {
	at := p.Path
	if p.Line > 0 {
		at += fmt.Sprintf(":%d", p.Line)
	}
	if at != "" {
		at += ": "
	}
	return at + p.Fault().Line()
}

// Fault returns the problem as an error of code invalid_config.
func (p Problem) Fault() *fault.Error {
	return fault.New(fault.InvalidConfig, "subagent.load", p.Message, p.Remedy)
}

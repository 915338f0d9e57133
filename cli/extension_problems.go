package cli

import (
	"errors"

	"github.com/fettle-dev/fettle/core/fault"
)

// tellExtensionProblems prints what keeps extensions, or parts of them, away.
func (p *program) tellExtensionProblems(s session) {
	c := s.Config()
	if c == nil {
		return
	}
	problems, err := c.ExtensionProblems()
	if err != nil {
		return // the session has ended
	}
	for _, problem := range problems {
		if problem.Severity != fault.SeverityNotice {
			p.complain(errors.New(problem.String()))
		}
	}
}

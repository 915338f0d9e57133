package program

import (
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// ReportProblems prints the problems in settings, discovered tools and policy files,
// one per line, and ignored rules as one line per file. A setting without effect is
// not a problem here; fettle config validate reports it.
func (p *Program) ReportProblems(s Session) {
	for _, problem := range s.SettingsProblems() {
		if problem.Severity != settings.Notice {
			p.PrintError(errors.New(problem.String()))
		}
	}
	for _, err := range s.DiscoveryProblems() {
		p.PrintError(err)
	}
	if c := s.Config(); c != nil && !c.Trust().IsTrusted() {
		for _, notice := range SwitchNotices(c) {
			p.PrintNotice(notice)
		}
	}
	p.reportExtensionProblems(s)
	problems := s.PolicyProblems()
	ignored := map[string]int{}
	for _, problem := range problems {
		if problem.Kind == rulefile.KindIgnored {
			ignored[groupKey(problem)]++
		}
	}
	for _, problem := range problems {
		n := ignored[groupKey(problem)]
		switch {
		case problem.Kind != rulefile.KindIgnored || n == 1:
			p.PrintError(errors.New(problem.String()))
		case n > 1:
			ignored[groupKey(problem)] = -1
			p.PrintError(fmt.Errorf("%s (and %d more like it in this file)", problem, n-1))
		}
	}
}

// groupKey groups the problems that are reported as one line: those with the same
// file and the same kind, an ignored rule or an ignored key.
func groupKey(p fault.Problem) string { return p.Path + "\x00" + p.Key }

// reportExtensionProblems prints why extensions or parts of them are not loaded.
func (p *Program) reportExtensionProblems(s Session) {
	c := s.Config()
	if c == nil {
		return
	}
	problems, err := c.Extensions().Problems()
	if err != nil {
		return // the session has ended
	}
	for _, problem := range problems {
		if problem.Severity != fault.SeverityNotice {
			p.PrintError(errors.New(problem.String()))
		}
	}
}

// HookNotices returns the problems in hook definitions.
func HookNotices(c *config.Config) []string {
	problems, err := c.Hooks().Problems()
	if err != nil { // the session is closed
		return nil
	}
	notices := []string{}
	for _, problem := range problems {
		if problem.Severity != fault.SeverityNotice {
			notices = append(notices, problem.String())
		}
	}
	return notices
}

// ReportHookProblems prints the problems in hook definitions.
func (p *Program) ReportHookProblems(s Session) {
	for _, notice := range HookNotices(s.Config()) {
		p.PrintNotice(notice)
	}
}

// AgentNotices returns the problems in agent definitions.
func AgentNotices(c *config.Config) []string {
	problems, err := c.Agents().Problems()
	if err != nil { // the session is closed
		return nil
	}
	notices := make([]string, len(problems))
	for i, problem := range problems {
		notices[i] = problem.String()
	}
	return notices
}

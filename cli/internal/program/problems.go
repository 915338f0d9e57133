package program

import (
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// TellProblems prints what is wrong in settings, in tools that the person's own
// programs bring, and in policy files, one line each; of rules that a file may
// not hold one line a file. What only has no effect here is for fettle config
// validate.
func (p *Program) TellProblems(s Session) {
	for _, problem := range s.SettingsProblems() {
		if problem.Severity != settings.Notice {
			p.Complain(errors.New(problem.String()))
		}
	}
	for _, err := range s.DiscoveryProblems() {
		p.Complain(err)
	}
	if c := s.Config(); c != nil && !c.TrustedFolder() {
		for _, notice := range SwitchNotices(c) {
			p.Say(notice)
		}
	}
	p.tellExtensionProblems(s)
	problems := s.PolicyProblems()
	ignored := map[string]int{}
	for _, problem := range problems {
		if problem.Kind == rulefile.KindIgnored {
			ignored[likeness(problem)]++
		}
	}
	for _, problem := range problems {
		n := ignored[likeness(problem)]
		switch {
		case problem.Kind != rulefile.KindIgnored || n == 1:
			p.Complain(errors.New(problem.String()))
		case n > 1:
			ignored[likeness(problem)] = -1
			p.Complain(fmt.Errorf("%s (and %d more like it in this file)", problem, n-1))
		}
	}
}

// likeness is what two problems have in common that are told in one line: the
// file, and whether a rule or only a key of it is ignored.
func likeness(p fault.Problem) string { return p.Path + "\x00" + p.Key }

// tellExtensionProblems prints what keeps extensions, or parts of them, away.
func (p *Program) tellExtensionProblems(s Session) {
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
			p.Complain(errors.New(problem.String()))
		}
	}
}

// HookNotices are what is wrong with definitions of hooks.
func HookNotices(c *config.Config) []string {
	problems, err := c.HookProblems()
	if err != nil { // the session is closed
		return nil
	}
	notices := make([]string, len(problems))
	for i, problem := range problems {
		notices[i] = problem.String()
	}
	return notices
}

// TellHookProblems tells what is wrong with definitions of hooks.
func (p *Program) TellHookProblems(s Session) {
	for _, notice := range HookNotices(s.Config()) {
		p.Say(notice)
	}
}

// AgentNotices are what is wrong with definitions of agents.
func AgentNotices(c *config.Config) []string {
	problems, err := c.AgentProblems()
	if err != nil { // the session is closed
		return nil
	}
	notices := make([]string, len(problems))
	for i, problem := range problems {
		notices[i] = problem.String()
	}
	return notices
}

package config

import (
	"reflect"
	"sync"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// stored are Parameters as a Config keeps them. All Configs share the parts that are
// zero, because a process may hold thousands. It is immutable.
type stored struct {
	TargetDir   string
	IncludeDirs []string
	Settings    *settings.Options

	Environment  *Environment
	Session      *Session
	Tools        *Tools
	Policy       *Policy
	Calls        *Calls
	Conversation *Conversation
	Agents       *Agents
	Extensions   *Extensions
	Skills       *Skills
	Instructions *Instructions
	MCP          *MCP
	Hooks        *Hooks

	variables     Variables
	checkpointing *checkpointing
	unread        []fault.Problem
}

// unset are the parts of [stored] Parameters that are zero. Nothing modifies them.
var unset = sync.OnceValue(func() *Parameters { return new(Parameters) })

// store returns a copy to be kept.
func (p *Parameters) store() *stored {
	zero := unset()
	return &stored{
		TargetDir: p.TargetDir, IncludeDirs: p.IncludeDirs, Settings: p.Settings,
		Environment:  part(&p.Environment, &zero.Environment),
		Session:      part(&p.Session, &zero.Session),
		Tools:        part(&p.Tools, &zero.Tools),
		Policy:       part(&p.Policy, &zero.Policy),
		Calls:        part(&p.Calls, &zero.Calls),
		Conversation: part(&p.Conversation, &zero.Conversation),
		Agents:       part(&p.Agents, &zero.Agents),
		Extensions:   part(&p.Extensions, &zero.Extensions),
		Skills:       part(&p.Skills, &zero.Skills),
		Instructions: part(&p.Instructions, &zero.Instructions),
		MCP:          part(&p.MCP, &zero.MCP),
		Hooks:        part(&p.Hooks, &zero.Hooks),
		variables:    p.variables, checkpointing: part(&p.checkpointing, &zero.checkpointing), unread: p.unread,
	}
}

// part returns a copy of given, or zero if it equals that.
func part[T any](given, zero *T) *T {
	if reflect.ValueOf(given).Elem().IsZero() {
		return zero
	}
	kept := *given
	return &kept
}

// parameters returns the Parameters, which may be modified.
func (s *stored) parameters() Parameters {
	return Parameters{
		TargetDir: s.TargetDir, IncludeDirs: s.IncludeDirs, Settings: s.Settings,
		Environment: *s.Environment, Session: *s.Session, Tools: *s.Tools, Policy: *s.Policy, Calls: *s.Calls,
		Conversation: *s.Conversation, Agents: *s.Agents, Extensions: *s.Extensions, Skills: *s.Skills,
		Instructions: *s.Instructions, MCP: *s.MCP, Hooks: *s.Hooks,
		variables: s.variables, checkpointing: *s.checkpointing, unread: s.unread,
	}
}

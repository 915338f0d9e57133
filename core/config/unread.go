package config

import (
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// cautious is a mode as it counts at the start of a session: where a file that
// may forbid it could not be read, one that asks less than default is that.
func (p *Parameters) cautious(m policy.ApprovalMode) policy.ApprovalMode {
	mode, err := policy.ParseApprovalMode(string(m))
	if len(p.unread) > 0 && err == nil && stricter(policy.ModeDefault, mode) {
		return policy.ModeDefault
	}
	return m
}

// standIns are the rules that make up for files that cannot be read: each asks
// about every call that changes something, runs a program or reaches the
// network, and about every one of a server's tools, whatever allows it. What is
// denied stays denied.
func standIns(unread []fault.Problem) []policy.Rule {
	var all []policy.Rule
	for _, file := range unread {
		rule := policy.Rule{Name: "in place of the file, which cannot be read", Tools: []string{"*"}, Decision: policy.AskUser, Priority: 999,
			TightensOnly: true, Tier: policy.TierUser, Source: file.Path, Line: file.Line}
		ofServers := rule
		ofServers.Server = "*"
		rule.Effects = []string{"write_files", "run_process", "network"}
		all = append(all, rule, ofServers)
	}
	return all
}

package chat

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// chatAbout serves /about.
type chatAbout struct{ *chat }

// About implements [builtin.About].
func (c chatAbout) About() []builtin.Fact {
	facts := []builtin.Fact{
		{Name: "Version", Value: program.VersionOf().String()},
		{Name: "Model", Value: c.Traffic.DisplayName(c.config.Model())},
		{Name: "Approval mode", Value: string(c.config.ApprovalMode())},
		{Name: "Session", Value: c.config.SessionID()},
		{Name: "Directory", Value: fmt.Sprintf("%s (%s)", display.Printable(c.targetDir()), c.config.Trust())},
	}
	if storage, err := c.config.Storage(); err == nil && storage.GlobalDir != "" {
		facts = append(facts, builtin.Fact{Name: "Settings", Value: display.Printable(storage.GlobalDir)})
	}
	return facts
}

// chatStats serves /stats.
type chatStats struct{ *chat }

// Stats implements [builtin.Stats].
func (c chatStats) Stats() builtin.Numbers {
	c.mu.Lock()
	prompts, started := c.prompts, c.started
	c.mu.Unlock()
	n := builtin.Numbers{SessionID: c.config.SessionID(), Started: started, Elapsed: time.Since(started), Prompts: prompts}
	c.Numbers.Read(func(s *conversation.RunStatistics, _ time.Duration) { addNumbers(&n, s, c.prices()) })
	return n
}

// prices returns the prices of models that the settings contain.
func (c chatStats) prices() map[string]settings.Price {
	set, err := c.config.Settings().Current()
	if err != nil {
		return nil
	}
	return set.Model.Prices
}

// addNumbers adds statistics.
func addNumbers(n *builtin.Numbers, s *conversation.RunStatistics, prices map[string]settings.Price) {
	for name, m := range s.Models {
		n.Models = append(n.Models, builtin.ModelNumbers{
			Model: name, Requests: m.API.Requests, Failed: m.API.Errors, Input: m.Tokens.Prompt, Cached: m.Tokens.Cached,
			Output: m.Tokens.Candidates, Waited: time.Duration(m.API.LatencyMS) * time.Millisecond,
			Cost: costOf(prices, name, m.Tokens),
		})
	}
	for name, t := range s.Tools.ByName {
		n.Tools = append(n.Tools, builtin.ToolNumbers{
			Tool: name, Calls: t.Count, Failed: t.Fail, Accepted: t.Decisions.Accept, Rejected: t.Decisions.Reject,
			Took: time.Duration(t.DurationMS) * time.Millisecond,
		})
	}
	slices.SortFunc(n.Models, func(a, b builtin.ModelNumbers) int { return cmp.Compare(a.Model, b.Model) })
	slices.SortFunc(n.Tools, func(a, b builtin.ToolNumbers) int { return cmp.Compare(a.Tool, b.Tool) })
	n.Approvals = builtin.ApprovalNumbers(s.Tools.Approvals)
	n.Added, n.Removed = s.Files.LinesAdded, s.Files.LinesRemoved
}

// whyNotCompacted returns the reason why a conversation was not compacted.
func whyNotCompacted(s agent.CompactionStatus) string {
	switch s {
	case agent.CompactionInflated:
		return "the summary would not have been shorter"
	case agent.CompactionEmpty:
		return "the model returned no summary"
	case agent.CompactionNoop:
		return "the conversation is too short"
	}
	return "its tokens could not be counted"
}

package cookbook

// code: subagent
import (
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// withReviewer gives the agent a tool reviewer: an agent that only reads.
func withReviewer(dir string, m model.Generator) config.Parameters {
	return config.Parameters{
		TargetDir:    dir,
		Conversation: config.Conversation{Models: model.Always(m), Model: "local"},
		Agents: config.Agents{Definitions: []subagent.Definition{{
			Name: "reviewer", Description: "Reviews files and reports problems.",
			Prompt: "You review code. Report each problem with file and line.",
			Tools:  []string{"read_file", "glob"},
		}}},
	}
}

// code: end

package subagent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// claudeUnused are folded keys of Claude Code that have no effect here and restrict
// nothing, each with the reason.
var claudeUnused = map[string]string{
	"effort": "the agent runs with the settings of its model", "memory": "agents have no memory of their own", "background": "the caller waits for the agent",
	"initialprompt": "agents are not started as the main conversation", "maxthinkingtokens": "the agent runs with the settings of its model",
	"version": "", "author": "", "license": "", "category": "", "tags": "", "metadata": "", "capabilities": "",
}

// claudeKey reads a key that only definitions of Claude Code have, and reports whether it
// is one.
func (r *reading) claudeKey(m *position.Member) bool {
	key := folded(m.Key)
	if key == "skills" {
		r.claudeSkills(m)
		return true
	}
	because, known := claudeUnused[key]
	if !known {
		return false
	}
	if because != "" {
		r.note(m.Line, fmt.Sprintf("The key %s is not used: %s.", m.Key, because))
	}
	return true
}

func (r *reading) note(line int, message string) {
	r.problems = append(r.problems, fault.Problem{Path: r.source.Path, Line: line, Message: message, Severity: fault.SeverityNotice})
}

// claudeSkills reads the skills that the agent works with: its prompt tells it to activate
// them, as policy permits.
func (r *reading) claudeSkills(m *position.Member) {
	entries, ok := r.entries(m)
	if !ok {
		r.invalidValue(m, "a list of skills")
		return
	}
	var names []string
	for _, e := range entries {
		_, name, namespaced := strings.Cut(e.Name, ":")
		if !namespaced {
			name = e.Name
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		r.skills = names
	}
}

// claudeModel reports whether the model is an alias of Claude Code, which other providers
// do not have.
func (r *reading) claudeModel(m *position.Member) bool {
	if !slices.Contains([]string{"sonnet", "opus", "haiku", "fable", "default", "best", "opusplan"}, folded(r.d.Model)) {
		return false
	}
	r.note(m.Line, fmt.Sprintf("The model %s is an alias; the agent runs on the model of its caller.", quoted(r.d.Model)))
	return true
}

// finishClaude applies the defaults of Claude Code: the name of the file, and a prompt
// without placeholders.
func (r *reading) finishClaude() {
	d := r.d
	if d.Name == "" && !r.seen["name"] {
		d.Name = slug(strings.TrimSuffix(filepath.Base(r.source.Path), filepath.Ext(r.source.Path)))
	}
	d.Prompt = strings.ReplaceAll(d.Prompt, "${", "$${")
	if len(r.skills) == 0 {
		return
	}
	d.Prompt += "\n\nBefore you begin, activate these skills: " + strings.Join(r.skills, ", ") + "."
	if d.Tools != nil && !slices.Contains(d.Tools, "*") {
		d.Tools = append(d.Tools, "activate_skill")
	}
}

package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/fettle-dev/fettle/core/policy"
)

// Gemini returns the rules of a policy file of Gemini CLI.
func Gemini(data []byte) (*Result, error) {
	var source struct {
		Rule     []map[string]any `toml:"rule"`
		Checkers []map[string]any `toml:"safety_checker"`
	}
	if err := toml.Unmarshal(data, &source); err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	r := &Result{}
	for i, given := range source.Rule {
		entry := fmt.Sprintf("rule %d", i+1)
		if n, ok := given["priority"].(int64); given["priority"] != nil && (!ok || n < 0 || n > 999) {
			return nil, fmt.Errorf("the priority of %s is not a number from 0 to 999", entry)
		}
		r.geminiRule(entry, given)
	}
	for i, given := range source.Checkers {
		entry := fmt.Sprintf("safety_checker %d", i+1)
		rule := policy.Rule{Name: entry, Tools: texts(given["toolName"]), Decision: policy.AskUser, Priority: 998, Tier: policy.TierUser}
		if rule.Server, _ = given["mcpName"].(string); len(rule.Tools) == 0 {
			rule.Tools = []string{"*"}
		}
		r.note(entry, "A rule that asks stands in for the checker. fettle's checkers are described in docs/policy.md.")
		r.add(entry, rule)
	}
	return r, nil
}

// geminiRule adds one rule. Conditions that cannot be expressed are left out of a rule
// that denies or asks, and a rule that allows is left out with them.
func (r *Result) geminiRule(entry string, given map[string]any) {
	rule := policy.Rule{Tier: policy.TierUser}
	decision, _ := given["decision"].(string)
	if rule.Decision = policy.Verdict(decision); rule.Decision != policy.Allow && rule.Decision != policy.Deny && rule.Decision != policy.AskUser {
		r.note(entry, "The decision %.40q is unknown; the rule denies.", decision)
		rule.Decision = policy.Deny
	}
	var odd []string // conditions that cannot be expressed
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !set(&rule, key, given[key]) {
			odd = append(odd, key)
		}
	}
	if len(rule.Tools) == 0 {
		if rule.Tools = []string{"*"}; len(rule.CommandPrefix) > 0 || rule.CommandRegex != "" {
			rule.Tools = shellTool
		}
	}
	if rule.CommandRegex != "" && rule.Decision == policy.Allow && strings.ContainsAny(rule.CommandRegex, "^$") {
		odd = append(odd, "commandRegex") // there the anchors mean the JSON of the arguments
	}
	if len(odd) > 0 && rule.Decision == policy.Allow {
		r.note(entry, "Left out: a rule that allows cannot have %s.", strings.Join(odd, ", "))
		return
	}
	if rule.CommandRegex != "" && strings.ContainsAny(rule.CommandRegex, "^$") {
		rule.CommandRegex = ""
		odd = append(odd, "commandRegex")
	}
	if len(odd) > 0 {
		// A broader rule that asks would take precedence over lower ones that deny.
		rule.Decision = policy.Deny
		r.note(entry, "The rule is broader, and denies: it has no %s.", strings.Join(odd, ", "))
	}
	r.add(entry, rule)
}

// set sets the field of a key, and reports whether it can be expressed.
func set(rule *policy.Rule, key string, value any) bool {
	text, isText := value.(string)
	yes, isBool := value.(bool)
	switch key {
	case "decision":
		return true
	case "name", "denyMessage":
		if key == "name" {
			rule.Name = text
		} else {
			rule.DenyMessage = text
		}
		return true
	case "toolName":
		rule.Tools = texts(value)
		return len(rule.Tools) > 0
	case "mcpName":
		rule.Server = text
		return isText
	case "subagent":
		rule.Subagent = text
		return isText
	case "commandPrefix":
		rule.CommandPrefix = texts(value)
		return len(rule.CommandPrefix) > 0
	case "commandRegex":
		rule.CommandRegex = text
		return isText
	case "argsPattern":
		rule.ArgsPattern = text
		return isText
	case "interactive":
		rule.Interactive = &yes
		return isBool
	case "allowRedirection":
		rule.AllowRedirection = yes && rule.Decision == policy.Allow
		return isBool
	case "priority":
		n, _ := value.(int64) // checked before
		rule.Priority = int(n)
		return true
	case "modes":
		for _, name := range texts(value) {
			mode, err := policy.ParseApprovalMode(name)
			if err != nil {
				rule.Modes = nil
				return false
			}
			rule.Modes = append(rule.Modes, mode)
		}
		return true
	}
	return false
}

// texts returns a text or a list of texts; nil for other values.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil
			}
			all = append(all, text)
		}
		return all
	}
	return nil
}

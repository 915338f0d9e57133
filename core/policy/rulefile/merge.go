package rulefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// merge returns data with a rule added, or with the equivalent rule widened by its modes
// and redirections. All other bytes are preserved.
func merge(path string, data []byte, rule policy.Rule) ([]byte, error) {
	root, err := position.ParseTOML(data)
	if err != nil {
		return nil, cannotAdd(path, err)
	}
	rule = asRead(path, rule)
	before, _ := Parse(path, data, Options{Tier: rule.Tier})
	want := slices.Clone(before.Rules)
	var out []byte
	if i, t := sameRule(root, before.Rules, rule); t != nil {
		want[i] = widened(want[i], rule)
		out = rewrite(data, t, before.Rules[i], want[i])
	} else {
		want = append(want, rule)
		out = slices.Concat(data, gap(data), []byte(render(rule, lineEnding(data))))
	}

	after, _ := Parse(path, out, Options{Tier: rule.Tier})
	if !equalRules(after.Rules, want) || len(after.Tests) != len(before.Tests) || len(after.Checkers) != len(before.Checkers) ||
		len(after.StandIns) != len(before.StandIns) {
		return nil, cannotAdd(path, fmt.Errorf("the text to write does not parse as the rule `%s`", rule))
	}
	return out, nil
}

// mergeTest returns data with a test added, unless it has the test. All other bytes
// are preserved.
func mergeTest(path string, data []byte, test Test) ([]byte, error) {
	same := func(other Test) bool {
		a, b := other.Call, test.Call
		return a.Tool == b.Tool && a.Server == b.Server && a.Mode.String() == b.Mode.String() && a.Subagent == b.Subagent && a.Confined == b.Confined &&
			equalJSON(a.Params, b.Params) && other.Expect == test.Expect
	}
	before, _ := Parse(path, data, Options{Tier: policy.TierUser})
	if slices.ContainsFunc(before.Tests, same) {
		return data, nil
	}
	text, err := renderTest(test, lineEnding(data))
	if err != nil {
		return nil, cannotAdd(path, err)
	}
	out := slices.Concat(data, gap(data), []byte(text))
	after, _ := Parse(path, out, Options{Tier: policy.TierUser})
	if n := len(before.Tests); !equalRules(after.Rules, before.Rules) || len(after.Tests) != n+1 || !same(after.Tests[n]) ||
		len(after.Checkers) != len(before.Checkers) || len(after.StandIns) != len(before.StandIns) {
		return nil, cannotAdd(path, fmt.Errorf("the text to write does not parse as the test of %s", test.Call.Tool))
	}
	return out, nil
}

// equalJSON reports whether two JSON texts have the same value.
func equalJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// asRead returns a rule as Parse will return it.
func asRead(path string, rule policy.Rule) policy.Rule {
	rule.Source, rule.Session = path, false
	rule.Approval = isSavedApproval(path, rule)
	if len(rule.CommandPrefix) == 0 {
		rule.CommandPrefix = nil
	}
	if len(rule.Modes) == 0 {
		rule.Modes = nil
	}
	return rule
}

func cannotAdd(path string, cause error) error {
	return fault.Wrap(fault.InvalidConfig, "rulefile.append",
		fmt.Sprintf("The rule was not added to %s, which stays as it was.", path),
		"Add it by hand, or correct the file.", cause)
}

// sameRule finds the table of an approval with the same conditions as rule. i is its
// index in rules.
func sameRule(root *position.Table, rules []policy.Rule, rule policy.Rule) (i int, t *position.Table) {
	e := root.Find(ruleTable)
	if e == nil {
		return 0, nil
	}
	items, _ := e.Value.([]position.Node) // a single table cannot contain rules
	tables := make(map[int]*position.Table)
	for _, item := range items {
		if t, ok := item.Value.(*position.Table); ok {
			tables[t.Line] = t
		}
	}
	for i, r := range rules {
		same := rule
		same.Name, same.AllowRedirection, same.Modes, same.Line = r.Name, r.AllowRedirection, r.Modes, r.Line
		if t := tables[r.Line]; t != nil && reflect.DeepEqual(r, same) && rewritable(t) {
			return i, t
		}
	}
	return 0, nil
}

// rewritable reports whether each key of the table has lines of its own, and the keys
// that may change have one spelling.
func rewritable(t *position.Table) bool {
	for _, e := range t.Members {
		if e.End == 0 {
			return false
		}
	}
	return t.Find("allow_redirection") == nil
}

// widened returns have, extended by the modes and redirections of more.
func widened(have, more policy.Rule) policy.Rule {
	have.AllowRedirection = have.AllowRedirection || more.AllowRedirection
	switch {
	case len(have.Modes) == 0 || len(more.Modes) == 0:
		have.Modes = nil
	default:
		have.Modes = slices.Clone(have.Modes)
		for _, mode := range more.Modes {
			if !slices.Contains(have.Modes, mode) {
				have.Modes = append(have.Modes, mode)
			}
		}
	}
	return have
}

// rewrite writes the modes and redirections of a rule into its table.
func rewrite(data []byte, t *position.Table, from, to policy.Rule) []byte {
	type edit struct {
		start, end int
		text       string
	}
	eol := lineEnding(data)
	var edits []edit
	change := func(key, text string) {
		if e := t.Find(key); e != nil {
			edits = append(edits, edit{e.Start, e.End, text})
			return
		}
		if t.Tail > 0 && data[t.Tail-1] != '\n' {
			text = eol + text
		} else {
			text += eol
		}
		edits = append(edits, edit{t.Tail, t.Tail, text})
	}
	if from.AllowRedirection != to.AllowRedirection {
		change("allowRedirection", "allowRedirection = true")
	}
	if !slices.Equal(from.Modes, to.Modes) {
		change("modes", "modes = "+tomlModes(to.Modes))
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, data[done:e.start]...), e.text...)
		done = e.end
	}
	return append(out, data[done:]...)
}

// gap returns the separator between data and an appended block.
func gap(data []byte) []byte {
	eol := lineEnding(data)
	switch {
	case len(bytes.TrimPrefix(data, []byte("\ufeff"))) == 0:
		return nil
	case !bytes.HasSuffix(data, []byte("\n")):
		return []byte(eol + eol)
	case bytes.HasSuffix(data, []byte("\n"+eol)):
		return nil
	}
	return []byte(eol)
}

func lineEnding(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// equalRules compares rules, ignoring their lines.
func equalRules(a, b []policy.Rule) bool {
	return slices.EqualFunc(a, b, func(x, y policy.Rule) bool {
		x.Line, y.Line = 0, 0
		return reflect.DeepEqual(x, y)
	})
}

package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Suggestion is a rule that would have answered questions of recorded calls.
type Suggestion struct {
	Rule    Rule
	Prompts int    // number of questions that it would have answered, alone or with other suggestions
	Example Call   // the most frequent one
	Tests   []Case // with all suggestions in force
}

// Case is a call with its expected decision. Of the facts of a session the call
// has only the approval mode, the subagent and a confinement of all commands.
type Case struct {
	Call   Call
	Expect Verdict
}

// Suggest returns the fewest rules that would have answered the questions about
// the approved calls, the most useful first. approved and refused are recorded calls
// about which an approver was asked, with the facts of the current session, in the
// approval mode of the recording. Each of them would have
// answered at least as many questions as least states. They are rules of
// [Engine.Narrow] with [ScopeSaved], so that none is broader than a saved approval.
// No rule covers a call that changes a protected path, a command that an approval
// stores literally, such as rm or git push, or one that requests to run unconfined.
// No rule would allow a refused call. Suggest changes nothing.
//
// The error has code approval_not_remembered if the settings do not permit lasting
// approvals.
func (e *Engine) Suggest(approved, refused []Call, least int) ([]Suggestion, error) {
	if e.o.DisableAlwaysAllow {
		return nil, notRemembered("The settings do not permit lasting approvals.")
	}
	s := &suggester{before: e.now.Load(), trial: e.clone()}
	for _, c := range refused {
		s.trial.Prepare(&c)
		s.refused = append(s.refused, c)
	}
	for _, c := range approved {
		s.observe(c)
	}
	slices.SortStableFunc(s.asked, func(a, b *observedCalls) int { return b.prompts - a.prompts })
	for _, o := range s.asked {
		if err := s.propose(o.call); err != nil {
			return nil, err
		}
	}
	if err := s.prune(least); err != nil {
		return nil, err
	}
	return s.suggestions(), nil
}

// clone returns an engine with the same rules, which change independently.
func (e *Engine) clone() *Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &Engine{o: e.o, protects: e.protects, checkers: e.checkers, given: slices.Clip(e.given)}
	c.now.Store(c.snapshot(c.given))
	return c
}

// suggester finds rules by adding them to a copy of the engine.
type suggester struct {
	before  *snapshot
	trial   *Engine
	asked   []*observedCalls // approved
	refused []Call
	rules   []Rule // in force in trial, each with a Source of its own
}

// observedCalls are equal calls.
type observedCalls struct {
	call    Call
	prompts int
}

// observe adds an approved call.
func (s *suggester) observe(o Call) {
	s.trial.Prepare(&o)
	for _, known := range s.asked {
		c := &known.call
		if c.Tool == o.Tool && c.Server == o.Server && c.Mode == o.Mode && c.Subagent == o.Subagent && string(c.Params) == string(o.Params) {
			known.prompts++
			return
		}
	}
	s.asked = append(s.asked, &observedCalls{o, 1})
}

// propose adds rules that allow a call, if they may be suggested.
func (s *suggester) propose(c Call) error {
	d := s.before.decide(&c)
	leaves, _ := (&arguments{call: &c}).unconfined()
	if d.Decision != AskUser || d.Previews || d.Protected || leaves || s.before.changesProtected(&c) {
		return nil
	}
	rules, err := s.trial.Narrow(c, ScopeSaved)
	if err != nil || slices.ContainsFunc(rules, Rule.literal) {
		return nil //nolint:nilerr // such an approval is not remembered either
	}
	for i := range rules {
		rules[i].Source = fmt.Sprintf("suggestion %d", len(s.rules)+i+1)
	}
	if err := s.trial.Add(rules...); err != nil {
		return err
	}
	if slices.ContainsFunc(s.refused, func(no Call) bool {
		return s.trial.Decide(no).Decision == Allow && s.before.decide(&no).Decision != Allow
	}) {
		return s.trial.Change(Change{Remove: rules})
	}
	s.rules = append(s.rules, rules...)
	return nil
}

// literal reports whether a rule allows exactly one command.
func (r Rule) literal() bool {
	return r.ArgsPattern != "" && slices.Contains(r.Tools, shellTool)
}

// changesProtected reports whether a call is known to write a protected path.
func (s *snapshot) changesProtected(c *Call) bool {
	if c.Confinable != "" {
		c = c.at(atOutside)
	}
	t := newTrial(s, c)
	if !isShell(c) {
		return mutates(c) && t.protected() != nil
	}
	j := t.judge(s.find(c, t.args).shell)
	for i := range j.parts {
		p := &j.parts[i]
		if p.Kind == shell.Write {
			if places, _ := j.targets(p); j.protectedFile(places) != nil {
				return true
			}
			continue
		}
		for _, o := range j.outputs(i) {
			if slices.ContainsFunc(o.named, func(named string) bool {
				row, _ := j.protectedName(p, named, o.hidden || j.line.Dotglob)
				return row != nil
			}) {
				return true
			}
		}
	}
	return false
}

// answered returns the number of questions that each rule answers, by its Source, and
// the number of all answered questions.
func (s *suggester) answered() (of map[string]int, all int) {
	of = map[string]int{}
	for _, o := range s.asked {
		sources := s.deciding(o.call)
		for source := range sources {
			of[source] += o.prompts
		}
		if len(sources) > 0 {
			all += o.prompts
		}
	}
	return of, all
}

// deciding returns the sources of the proposed rules that allow a call, with the
// part of the command line that each allows.
func (s *suggester) deciding(c Call) map[string]string {
	d := s.trial.Decide(c)
	if d.Decision != Allow {
		return nil
	}
	sources := map[string]string{}
	note := func(source, text string) {
		if sources[source] == "" && slices.ContainsFunc(s.rules, func(r Rule) bool { return r.Source == source }) {
			sources[source] = text
		}
	}
	for _, p := range d.Parts {
		note(p.Source, p.Text)
	}
	if len(d.Parts) == 0 {
		note(d.Source, c.Tool)
	}
	return sources
}

// remove removes one proposed rule.
func (s *suggester) remove(r Rule) error {
	s.rules = slices.DeleteFunc(s.rules, func(other Rule) bool { return other.Source == r.Source })
	return s.trial.Change(Change{Remove: []Rule{r}})
}

// prune removes rules that answer fewer questions than least, and rules whose
// questions the others answer as well.
func (s *suggester) prune(least int) error {
	for {
		of, _ := s.answered()
		rare := slices.IndexFunc(s.rules, func(r Rule) bool { return of[r.Source] < least || of[r.Source] == 0 })
		if rare < 0 {
			break
		}
		if err := s.remove(s.rules[rare]); err != nil {
			return err
		}
	}
	of, all := s.answered()
	rules := slices.Clone(s.rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return of[a.Source] - of[b.Source] })
	for _, r := range rules {
		if err := s.remove(r); err != nil {
			return err
		}
		if _, left := s.answered(); left < all {
			s.rules = append(s.rules, r)
			if err := s.trial.Add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// suggestions returns the proposed rules.
func (s *suggester) suggestions() []Suggestion {
	of, _ := s.answered()
	all := make([]Suggestion, 0, len(s.rules))
	for _, r := range s.rules {
		sg := Suggestion{Rule: r, Prompts: of[r.Source]}
		for _, o := range s.asked { // the most frequent first
			if part, ok := s.deciding(o.call)[r.Source]; ok {
				sg.Example, sg.Tests = o.call, s.cases(r, o.call, part)
				break
			}
		}
		sg.Rule.Source = "approval"
		all = append(all, sg)
	}
	slices.SortStableFunc(all, func(a, b Suggestion) int {
		return cmp.Or(b.Prompts-a.Prompts, strings.Compare(a.Rule.Words(), b.Rule.Words()))
	})
	return all
}

// cases returns a call that a rule allows, and a similar one that still asks. part
// is the part of the example that the rule allows.
func (s *suggester) cases(r Rule, example Call, part string) []Case {
	first := func(expect Verdict, calls []Call) []Case {
		for _, c := range calls {
			if s.trial.Decide(c).Decision == expect {
				return []Case{{c, expect}}
			}
		}
		return nil
	}
	allowed := first(Allow, allowedBy(r, example, part))
	if allowed == nil {
		return nil
	}
	return append(allowed, first(AskUser, near(r, allowed[0].Call))...)
}

// probe returns the call of a [Case].
func probe(r Rule, example Call, args map[string]any) Call {
	tool := r.Tools[0]
	c, known := WellKnown(tool)
	switch {
	case r.Server != "":
		c = Call{Tool: "mcp_" + r.Server + "_" + tool, Server: r.Server, ServerTool: tool, Kind: "other"}
	case !known:
		c = Call{Tool: tool, Kind: "other"}
	}
	c.Params, _ = json.Marshal(args) // it was decoded from JSON
	c.Mode, c.Subagent, c.Confined = example.Mode, example.Subagent, example.Confined
	c.Dir, c.Roots = example.Dir, example.Roots
	return c
}

// allowedBy returns calls that a rule may allow, the simplest first.
func allowedBy(r Rule, example Call, part string) []Call {
	switch {
	case r.Server != "":
		return []Call{probe(r, example, map[string]any{})}
	case len(r.CommandPrefix) > 0:
		line := arguments{call: &example}
		return []Call{
			probe(r, example, map[string]any{"command": part}),
			probe(r, example, map[string]any{"command": line.text("command")}),
			probe(r, example, map[string]any{"command": r.CommandPrefix[0]}),
		}
	}
	args := arguments{call: &example}
	if isShell(&example) { // the rule is about a written file
		return []Call{probe(r, example, map[string]any{"file_path": strings.TrimSpace(strings.TrimLeft(part, "0123456789&<>|"))})}
	}
	values := args.object()
	if about := wellKnown[example.Tool].about; about != "" {
		return []Call{probe(r, example, map[string]any{about: values[about]})}
	}
	if hasNull(values) {
		return nil // a policy file cannot contain it
	}
	return []Call{probe(r, example, values)}
}

// hasNull reports whether a value of JSON contains null.
func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, hasNull)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasNull)
	}
	return false
}

// near returns calls that differ little from one that a rule allows.
func near(r Rule, allowed Call) []Call {
	args := arguments{call: &allowed}
	values := args.object()
	with := func(key string, value any) Call {
		changed := maps.Clone(values)
		changed[key] = value
		return probe(r, allowed, changed)
	}
	if r.Server != "" {
		c := probe(r, allowed, values)
		c.Tool, c.ServerTool = c.Tool+"_other", c.ServerTool+"_other"
		return []Call{c}
	}
	if len(r.CommandPrefix) > 0 {
		command, _ := values["command"].(string)
		return []Call{with("command", r.CommandPrefix[0]+"-other"), with("command", command+" && rm -rf other")}
	}
	var calls []Call
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[key].(string)
		if !ok {
			continue
		}
		if before, after, found := strings.Cut(text, "://"); found {
			calls = append(calls, with(key, before+"://other."+after))
		}
		calls = append(calls, with(key, text+".other"))
	}
	return calls
}

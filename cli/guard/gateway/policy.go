package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Decider decides about calls. *decide.Engine implements it.
type Decider interface {
	Decide(ctx context.Context, call decide.Call) (policy.Decision, error)
	// Narrow returns the rules that remember the approval of a call, and Add adds
	// them.
	Narrow(ctx context.Context, call decide.Call, s policy.Scope) ([]policy.Rule, error)
	Add(rules ...policy.Rule) error
}

// judge decides about the calls of one server's tools.
type judge struct {
	decider Decider
	server  string
	grants  []string
}

// subject returns the call about which the policy decides.
func (j judge) subject(c call) decide.Call {
	return decide.Call{Tool: tools.QualifiedName(j.server, c.tool), Args: c.args, Headless: c.headless, Server: j.server, ServerTool: c.tool}
}

// decide returns the decision about a call. The server's annotations can only
// make it stricter. A failure denies.
func (j judge) decide(ctx context.Context, c call, annotations map[string]any) policy.Decision {
	subject := j.subject(c)
	d, err := j.decider.Decide(ctx, subject)
	if err == nil && len(annotations) > 0 {
		subject.Annotations = annotations
		var declared policy.Decision
		if declared, err = j.decider.Decide(ctx, subject); err == nil && policy.Stricter(d.Decision, declared.Decision) != d.Decision {
			d = declared
		}
	}
	if err != nil {
		return denied("The policy cannot decide about the call: " + err.Error())
	}
	if d.Decision == policy.Allow && len(d.Checkers) > 0 {
		d.Decision, d.Reason = policy.AskUser, "A safety checker applies to the call, and fettle-guard runs none."
	}
	if d.Decision == policy.AskUser && len(d.Checkers) == 0 && byDefault(d) && j.granted(c.tool) {
		d.Decision, d.Reason = policy.Allow, "It is granted by --grant."
	}
	return d
}

func denied(reason string) policy.Decision {
	return policy.Decision{Explanation: policy.Explanation{Decision: policy.Deny, Reason: reason}}
}

// byDefault reports whether a call requires approval only because no rule applies
// to it.
func byDefault(d policy.Decision) bool {
	return d.Source == policy.BuiltIn && !d.Previews && !d.Protected
}

// granted reports whether --grant covers a tool: by its name, a prefix that ends
// in *, or *.
func (j judge) granted(tool string) bool {
	return slices.ContainsFunc(j.grants, func(g string) bool {
		prefix, starred := strings.CutSuffix(g, "*")
		return g == tool || starred && strings.HasPrefix(tool, prefix)
	})
}

// remember adds the rules of a lasting approval, as far as the question showed
// them.
func (j judge) remember(ctx context.Context, c call, scope policy.Scope, shown []string) {
	rules, err := j.decider.Narrow(ctx, j.subject(c), scope)
	if err != nil || slices.ContainsFunc(rules, func(r policy.Rule) bool { return !slices.Contains(shown, r.Words()) }) {
		return // the call alone is approved
	}
	_ = j.decider.Add(rules...) // likewise
}

// lasting returns the calls that a lasting approval would allow, in words; nil if
// the approval cannot be remembered.
func (j judge) lasting(ctx context.Context, c call, scope policy.Scope) []string {
	rules, err := j.decider.Narrow(ctx, j.subject(c), scope)
	if err != nil {
		return nil
	}
	var words []string
	for _, r := range rules {
		words = append(words, r.Words())
	}
	return words
}

// refusal returns the text of a denial for the model.
func (j judge) refusal(c call, d policy.Decision, why string) string {
	parts := []string{"The call of " + tools.Quote(c.tool, maxName) + " was not run: the policy denies it."}
	if why != "" {
		parts[0] = "The call of " + tools.Quote(c.tool, maxName) + " was not run. " + why
	}
	for _, part := range []string{d.Message, d.Reason, d.Remedy} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return visible(strings.Join(parts, " "))
}

// call is a call of a tool.
type call struct {
	tool string
	args json.RawMessage // an object
	// headless states that the client cannot ask its user.
	headless bool
}

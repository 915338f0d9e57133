package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Decider decides about calls. *decide.Engine implements it.
type Decider interface {
	Decide(ctx context.Context, call decide.Call) (policy.Decision, error)
	// Lasting reports whether the user may approve more than one call at once.
	Lasting() bool
}

// judge decides about the calls of one server's tools.
type judge struct {
	decider Decider
	server  string
	grants  []string

	mu       sync.Mutex
	approved []string // like grants, by the user's answers
}

// subject returns the call about which the policy decides.
func (j *judge) subject(c call) decide.Call {
	return decide.Call{Tool: tools.QualifiedName(j.server, c.tool), Args: c.args, Server: j.server, ServerTool: c.tool}
}

// decide returns the decision about a call. The server's annotations can only
// make it stricter. A failure denies.
func (j *judge) decide(ctx context.Context, c call, annotations map[string]any) policy.Decision {
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
	if d.Decision == policy.AskUser && byDefault(d) {
		j.mu.Lock()
		defer j.mu.Unlock()
		switch {
		case covers(j.grants, c.tool):
			d.Decision, d.Reason = policy.Allow, "It is granted by --grant."
		case covers(j.approved, c.tool):
			d.Decision, d.Reason = policy.Allow, "The user has approved it for this session."
		}
	}
	return d
}

func denied(reason string) policy.Decision {
	return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Deny, Reason: reason}}
}

// byDefault reports whether a call requires approval only because no rule applies
// to it.
func byDefault(d policy.Decision) bool {
	return d.Source == policy.BuiltIn && !d.Previews && !d.Protected
}

// covers reports whether a list has a tool: by its name, a prefix that ends in *, or
// *.
func covers(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(g string) bool {
		prefix, starred := strings.CutSuffix(g, "*")
		return g == tool || starred && strings.HasPrefix(tool, prefix)
	})
}

// lasting returns the calls that an approval would allow from now on, in words, and
// as a pattern; "" if it cannot be remembered. It covers nothing that a rule asks
// about.
func (j *judge) lasting(c call, d policy.Decision, scope policy.Scope) (words, pattern string) {
	switch {
	case !byDefault(d) || !j.decider.Lasting() || strings.HasSuffix(c.tool, "*"):
		return "", ""
	case scope == policy.ScopeSession:
		return "calls of the tool " + tools.Quote(c.tool, maxName) + " of the MCP server " + tools.Quote(j.server, maxName), c.tool
	case scope == policy.ScopeServer:
		return "calls of all tools of the MCP server " + tools.Quote(j.server, maxName), "*"
	}
	return "", ""
}

// remember records a lasting approval.
func (j *judge) remember(pattern string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.approved = append(j.approved, pattern)
}

// refusal returns the text of a denial for the model.
func (j *judge) refusal(c call, d policy.Decision, why string) string {
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

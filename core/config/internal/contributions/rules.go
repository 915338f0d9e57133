package contributions

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// Rules are the contributions of extensions to the policy.
type Rules struct {
	Files    []rulefile.File
	Problems []fault.Problem
	Rules    []policy.Rule
	Checkers []policy.Checker
}

// Rules reads the rules of the active extensions: those of their policies
// directories, which cannot allow anything, and those for the tools that they
// exclude. An extension with a mistake in its policy contributes no rules, and
// its own tools require approval: a third party's mistake must not stop the
// session.
func (s *Set) Rules(ctx context.Context) Rules {
	var all Rules
	for _, f := range s.policies {
		files, problems, understood := RulesIn(ctx, f.Path, f.Extension)
		all.Problems = append(all.Problems, problems...)
		if understood {
			all.Files = append(all.Files, files...)
			continue
		}
		all.Rules = append(all.Rules, s.insteadOfRules(f)...)
	}
	for _, f := range all.Files {
		all.Rules, all.Checkers = slices.Concat(all.Rules, f.Rules, f.StandIns), append(all.Checkers, f.Checkers...)
	}
	all.Rules = append(all.Rules, toolrules.Exclusions(s.Exclude, func(tool string) toolrules.Place { return s.Excluded[tool] })...)
	return all
}

// RulesIn reads the rules in the policies directory of an extension. If a mistake
// makes it deny, ask or check less than written, understood is false and none of
// the rules apply; the last problem reports that. It changes nothing.
func RulesIn(ctx context.Context, dir, extension string) (files []rulefile.File, problems []fault.Problem, understood bool) {
	files, problems = rulefile.Load(ctx, []string{dir}, rulefile.Options{Tier: policy.TierExtension, Label: "extension " + extension})
	at := slices.IndexFunc(problems, func(p fault.Problem) bool { return p.Severity == rulefile.Error })
	if at < 0 && !slices.ContainsFunc(files, func(file rulefile.File) bool { return len(file.StandIns) > 0 }) {
		return files, problems, true
	}
	path, line := dir, 0
	if at >= 0 {
		path, line = problems[at].Path, problems[at].Line
	}
	return nil, append(problems, fault.Problem{Path: path, Line: line, Kind: rulefile.KindSchema, Severity: rulefile.Error,
		Message: fmt.Sprintf("The policy of the extension %s is invalid. None of its rules applies, and each call of a tool of its servers requires approval.", extension),
		Remedy:  "Correct the error, disable the extension, or write the rules into your own policies."}), false
}

// insteadOfRules returns the rules that replace invalid ones of an extension:
// they require approval of the tools of its own servers, and of nothing else.
func (s *Set) insteadOfRules(f Dir) []policy.Rule {
	var all []policy.Rule
	for _, server := range s.Servers {
		if s.serversOf[server.Name] == f.Extension && mcp.CheckServerName(server.Name) == nil {
			all = append(all, policy.Rule{Name: "in place of the policy of the extension " + f.Extension + ", which is invalid", Server: server.Name, Tools: []string{"*"},
				Decision: policy.AskUser, Priority: 999, TightensOnly: true, Tier: policy.TierExtension, Source: f.Path})
		}
	}
	return all
}

// CheckRules returns the problems in the rules of an extension, as sessions read
// them. Paths are absolute.
func CheckRules(ctx context.Context, e extensions.Extension) []fault.Problem {
	if e.PoliciesDir == "" {
		return nil
	}
	_, problems, _ := RulesIn(ctx, e.PoliciesDir, e.Name)
	var all []fault.Problem
	for _, p := range problems {
		f := fault.Problem{Severity: fault.SeverityWarning, Path: p.Path, Line: p.Line, Message: p.Message, Remedy: p.Remedy}
		if p.Key != "" {
			f.Message = p.Key + ": " + f.Message
		}
		if p.Severity == rulefile.Error {
			f.Severity = fault.SeverityError
		}
		all = append(all, f)
	}
	return all
}

// CheckHooks returns the problems in the hooks of an extension, with lines of the user's
// file.
func CheckHooks(e extensions.Extension) []fault.Problem {
	data, err := extensionstore.Hooks(e, "")
	if err != nil {
		return []fault.Problem{{Path: e.HooksFile, Message: fault.Line(err)}}
	}
	if data == nil {
		return nil
	}
	if raw, readErr := os.ReadFile(e.HooksFile); readErr == nil && e.Plugin == nil { // as written, without expanded variables
		data = raw
	}
	_, problems := hookrun.ParseJSON(data, originOf(e, data))
	for i := range problems {
		if e.Plugin != nil { // lines are those of the merged hooks
			problems[i].Line = 0
		}
	}
	return problems
}

// HooksOf returns the hooks of an extension as a session reads them, with
// variables unexpanded, so that they do not depend on its location.
func HooksOf(e extensions.Extension) []extensionstore.HookPart {
	data, err := extensionstore.UnfilledHooks(e)
	if err != nil || data == nil {
		return nil // an unreadable file has no hooks
	}
	found, _ := hookrun.ParseJSON(data, originOf(e, data))
	var all []extensionstore.HookPart
	for _, h := range found {
		if h.Command == "" { // it only asks
			continue
		}
		part := extensionstore.HookPart{Event: string(h.Event), Matcher: h.Matcher, Command: h.Command, Sandbox: h.Sandbox}
		for name, value := range h.Env {
			part.Env, part.Values = append(part.Env, name), append(part.Values, name+"="+value)
		}
		slices.Sort(part.Env)
		slices.Sort(part.Values)
		all = append(all, part)
	}
	return all
}

// Package decide decides about the calls of other agents by the rules that apply in a
// directory: those of the administrator, of the user and of the project. Its decisions
// equal those of fettle policy check. It knows neither clients nor protocols.
//
// Policy files and the trust in the directory are read here. Where settings or
// extensions may add rules, the program fettle decides; without it such a call is asked
// about.
package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/dirpolicy"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/jsonkeys"
	"github.com/fettle-dev/fettle/core/policy"
)

// Options select the rules.
type Options struct {
	Dir     string   // the directory of the project; "": the current one
	Layout  string   // names of files: fettle or gemini; "": fettle
	Policy  []string // policy files and directories that replace the user's; nil: none
	Servers []string // names of the known MCP servers

	// Grants reports that the agent runs allowed calls without its own permissions. Then
	// built-in rules allow no reads outside of the directory.
	Grants bool
}

// Call is a tool call of another agent, in fettle's names.
type Call struct {
	Tool     string
	Args     json.RawMessage // a JSON object; nil: none
	Mode     policy.ApprovalMode
	Headless bool   // no approver is available
	Subagent string // the calling subagent; "": the main agent

	Server, ServerTool string         // of the MCP server; "": none, or unknown
	Annotations        map[string]any // declared by the server; not verified
}

// Engine decides about calls. It is safe for concurrent use. Close it after use.
type Engine struct {
	options Options
	prefix  string // of the layout's variables
	policy  *dirpolicy.Policy
}

// Open reads the rules. The errors are those of [dirpolicy.Open].
func Open(ctx context.Context, o Options) (*Engine, error) {
	names, ok := layout.Named(o.Layout)
	if !ok {
		return nil, fault.New(fault.InvalidConfig, "guard", "Unknown layout "+o.Layout+".", "Use fettle or gemini.")
	}
	p, err := dirpolicy.Open(ctx, dirpolicy.Options{Dir: o.Dir, Layout: names, Paths: o.Policy, Servers: o.Servers})
	if err != nil {
		return nil, err
	}
	return &Engine{options: o, prefix: names.EnvPrefix, policy: p}, nil
}

// Close releases the directory.
func (e *Engine) Close() error { return e.policy.Close() }

// Dir returns the absolute name of the project's directory.
func (e *Engine) Dir() string { return e.policy.Dir() }

// Problems returns the problems in policy files.
func (e *Engine) Problems() []fault.Problem { return e.policy.Problems() }

// Decide returns the decision about a call with its explanation. It allows a call only
// if the call may run as the agent runs it: without confinement and without a safety
// checker. Only rules of files allow changes outside of the directory. In mode plan it
// denies the calls that fettle would only preview. The error has code
// invalid_tool_params for arguments that are not an object, or are unclear.
func (e *Engine) Decide(ctx context.Context, call Call) (policy.Decision, error) {
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(call.Args, new(map[string]json.RawMessage)); err != nil {
		return policy.Decision{}, fault.Wrap(fault.InvalidToolParams, "guard", "The arguments of "+call.Tool+" are not a JSON object.", "", err)
	}
	levels := 1
	if call.Server != "" { // its keys are its own
		levels = 0
	}
	if err := jsonkeys.Check(call.Args, levels); err != nil {
		return policy.Decision{}, fault.Wrap(fault.InvalidToolParams, "guard", "The arguments of "+call.Tool+" are invalid: "+err.Error()+".", "", err)
	}
	about := subject(call)
	d := e.policy.Decide(about)
	checkers := len(d.Checkers) > 0
	if beyond := e.policy.Beyond(); len(beyond) > 0 {
		other, err := e.ask(ctx, call)
		switch {
		case err != nil && d.Decision == policy.Deny:
		case err != nil:
			d = tightened(d, policy.AskUser, fmt.Sprintf("The rules in %s are unknown: %v.", strings.Join(beyond, ", "), err))
			d.Remedy = "Install fettle beside fettle-guard, or keep the rules in policy files alone."
		default:
			d.Explanation, checkers = other.Explanation, len(other.Checkers) > 0
		}
	}
	if d.Decision == policy.Allow && d.Tier == policy.TierDefault.String() && about.Mode != policy.ModeYolo && (about.Mutates || e.options.Grants) {
		if path := e.elsewhere(about); path != "" {
			d = tightened(d, policy.AskUser, path+" is outside of "+e.policy.Dir()+".")
		}
	}
	switch {
	case d.Previews:
		d = tightened(d, policy.Deny, "In plan mode no change is made.")
	case d.Decision == policy.Allow && checkers:
		d = tightened(d, policy.AskUser, "A safety checker must see this call, and runs in fettle's sessions only.")
	case d.Decision == policy.Allow && (d.Run == confirmation.RunConfined || d.Run == confirmation.RunRead):
		d = tightened(d, policy.AskUser, "The command is allowed confined only, and the agent does not confine it.")
	}
	return d, nil
}

// elsewhere returns a file of a built-in tool that is outside of the directory, "" for
// none. Of commands the policy knows the files.
func (e *Engine) elsewhere(c policy.Call) string {
	if c.Kind != "read" && c.Kind != "edit" && c.Kind != "search" {
		return ""
	}
	var named struct {
		File  string   `json:"file_path"`
		Dir   string   `json:"dir_path"`
		Paths []string `json:"paths"`
		Path  string   `json:"path"`
		Names string   `json:"pattern"` // of glob
		More  []string `json:"include"` // of Gemini's read_many_files
	}
	_ = json.Unmarshal(c.Params, &named) // none: of another type, which no tool accepts
	if c.Tool == "glob" {
		named.Paths = append(named.Paths, named.Names)
	}
	for _, path := range slices.Concat(named.Paths, named.More, []string{named.File, named.Dir, named.Path}) {
		inBraces := strings.ContainsRune(path, '{') && slices.ContainsFunc(outsideInBraces, func(s string) bool { return strings.Contains(path, s) })
		if path != "" && (path[0] == '~' || inBraces || !e.policy.Contains(path)) {
			return path
		}
	}
	return ""
}

// outsideInBraces begin alternatives of a pattern that are outside of the directory.
var outsideInBraces = []string{"{/", ",/", "{~", ",~", "{..", ",.."}

// tightened returns a stricter decision for another reason.
func tightened(d policy.Decision, to policy.Verdict, reason string) policy.Decision {
	d.Decision, d.Reason, d.Rule, d.Source, d.Line = to, reason, "", "", 0
	return d
}

// subject returns the call for the engine.
func subject(call Call) policy.Call {
	c, ok := policy.WellKnown(call.Tool)
	if !ok || call.Server != "" {
		c = policy.Call{Tool: call.Tool, Kind: "other"}
	}
	c.Params, c.Mode, c.Headless, c.Subagent = call.Args, call.Mode, call.Headless, call.Subagent
	c.Server, c.ServerTool, c.Annotations = call.Server, call.ServerTool, call.Annotations
	return c
}

package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// Scope is the scope of an approval.
type Scope string

// The scopes.
const (
	ScopeSession Scope = "session" // this process, for the approved call: proceed_always
	ScopeSaved   Scope = "saved"   // permanently, for the approved call: proceed_always_and_save
	ScopeTool    Scope = "tool"    // this process, for the tool: proceed_always_tool
	ScopeServer  Scope = "server"  // this process, for the tool's MCP server: proceed_always_server
)

// Narrow returns the rules that remember the approval of c. They allow calls like
// c and no others, in its approval mode and more permissive ones, for its
// subagent, and if its command was confined only for confined commands; in a
// session that confines single commands they have [Rule].Run unconfined. A command
// line is remembered by its commands that are not allowed yet and by the files
// that it writes, a file tool by its path, web_fetch by the host of its url, an
// MCP tool by its name or server, other tools by their arguments except for
// [Call].Varies, or with
// [ScopeTool] by their name. Each rule covers one of these, so that its
// [Rule.Words] are one readable item; an approval that requires more or longer
// rules than a question can show is not remembered. Tools whose calls always
// differ, such as save_memory, can be remembered only by name, and tools that
// change the mode not at all. Narrow has verified that the engine allows c with
// the rules. They take effect once they are passed to [Engine.Add]. There are
// none if c is allowed already.
//
// The error has code approval_not_remembered and states the reason.
func (e *Engine) Narrow(c Call, s Scope) ([]Rule, error) {
	template := Rule{Decision: Allow, Approval: true, Priority: alwaysAllowPriority, Modes: modesFrom(c.Mode),
		Subagent: c.Subagent, Confined: onlyConfined(c), Source: "approval"}
	if c.Confinable != "" && isShell(&c) {
		template.Run = confirmation.RunUnconfined
	}
	switch s {
	case ScopeSaved:
		template.Tier = TierUser
	case ScopeSession, ScopeTool, ScopeServer:
		template.Tier, template.Session = TierWorkspace, true
	default:
		return nil, notRemembered(fmt.Sprintf("%.40q is not a scope of an approval.", s))
	}
	if e.o.DisableAlwaysAllow {
		return nil, notRemembered("The settings do not permit lasting approvals.")
	}
	if e.now.Load().decide(&c).Decision == Allow {
		return nil, nil
	}
	if strings.Contains(c.Tool, "*") || strings.Contains(c.Server, "*") || strings.Contains(c.ServerTool, "*") || c.Tool == "" {
		return nil, notRemembered("The tool has no name, or a name that is a wildcard in rules.")
	}
	rules, err := e.tried(&c, s, template, false)
	if err != nil && isShell(&c) {
		// A rule that asks about commands with this prefix may permit the exact
		// command.
		if exact, err := e.tried(&c, s, template, true); err == nil {
			return legible(exact)
		}
	}
	if err != nil {
		return nil, err
	}
	return legible(rules)
}

// NarrowAs is [Engine.Narrow] for an approver who was shown rules with these
// [Rule.Words]: it fails with code approval_not_remembered if the rules would
// differ, because other rules are in effect than when the question was asked.
func (e *Engine) NarrowAs(c Call, s Scope, shown []string) ([]Rule, error) {
	rules, err := e.Narrow(c, s)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if words := r.Words(); !slices.Contains(shown, words) {
			return nil, notRemembered("The approval request did not show that it would allow " + words + ".")
		}
	}
	return rules, nil
}

// Limits on an approval that can be shown readably.
const (
	maxRules = 32
	maxWords = 1000 // bytes of [Rule.Words]
)

// legible returns rules if a question can show them, each on a line.
func legible(rules []Rule) ([]Rule, error) {
	if len(rules) > maxRules {
		return nil, notRemembered(fmt.Sprintf("It needs %d rules, too many to review at once.", len(rules)))
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return len(r.Words()) > maxWords }) {
		return nil, notRemembered("The rule would be too long to review.")
	}
	return rules, nil
}

// tried creates rules from a template with which the engine allows c. exact
// states that commands are remembered literally.
func (e *Engine) tried(c *Call, s Scope, template Rule, exact bool) ([]Rule, error) {
	rules, err := e.now.Load().narrowed(c, s, template, exact)
	if err != nil {
		return nil, err
	}
	ready, err := e.compile(rules)
	if err != nil {
		return nil, notRemembered("Its rule would be invalid: " + err.Error())
	}
	e.mu.Lock()
	given := slices.Concat(e.given, ready)
	e.mu.Unlock()
	if after := e.snapshot(given).decide(c); after.Decision != Allow || after.Run != template.Run {
		return nil, notRemembered("It would still need approval. " + after.Reason)
	}
	return rules, nil
}

// onlyConfined returns the condition that restricts the approval of a confined
// command to confined ones; nil for other calls.
func onlyConfined(c Call) *bool {
	if c.Confined == "" {
		return nil
	}
	confined := true
	return &confined
}

func notRemembered(why string) error {
	return fault.New(fault.NotRemembered, "policy.narrow",
		"The approval cannot be stored. "+why, "Approve it this once, or write a rule for it.")
}

// modesFrom returns a mode and the more permissive ones; autoEdit stands for auto
// too, see [modesOf].
func modesFrom(m ApprovalMode) []ApprovalMode {
	return slices.DeleteFunc(Modes(), func(other ApprovalMode) bool {
		return other.Stricter(m) || other == ModeAuto && m != ModeAuto
	})
}

// narrowed creates rules from a template that allow c.
func (s *snapshot) narrowed(c *Call, scope Scope, template Rule, exact bool) ([]Rule, error) {
	if template.Run != "" {
		c = c.at(atOutside)
	}
	t := newTrial(s, c)
	template.Tools = []string{c.Tool}
	if scope == ScopeServer && c.Server == "" {
		return nil, notRemembered("The tool " + c.Tool + " belongs to no MCP server.")
	}
	if c.Server != "" {
		template.Server = c.Server
		template.Tools = []string{identify(*c, "", nil, false).tool}
		if scope == ScopeServer {
			template.Tools = []string{"*"}
		}
		return []Rule{template}, nil
	}
	if isShell(c) {
		template.Tools = []string{shellTool}
		return t.judge(s.find(c, t.args).shell).narrowed(template, exact)
	}
	if ofTool(c).lasts == neverLasts {
		return nil, notRemembered(c.Tool + " requires approval each time.")
	}
	if scope == ScopeTool {
		return []Rule{template}, nil
	}
	pattern, err := t.args.pattern()
	if err != nil {
		return nil, err
	}
	template.ArgsPattern = pattern
	return []Rule{template}, nil
}

// pattern returns the ArgsPattern that remembers an approval: the characteristic
// argument of a well-known tool, and all arguments of other tools.
func (a *arguments) pattern() (string, error) {
	values := a.object()
	if values == nil {
		return "", notRemembered("The arguments of " + a.call.Tool + " are no JSON object.")
	}
	for _, key := range pathKeys {
		if path := a.text(key); path != "" {
			if err := a.call.leadsElsewhere(a.call.absolute(path)); err != nil {
				return "", err
			}
		}
	}
	values, _ = withPaths(values, a.call.absolute)
	tool := ofTool(a.call)
	switch tool.lasts {
	case lastsForTool:
		return "", notRemembered("Calls of " + a.call.Tool + " are never similar.")
	case lastsForHost:
		return sameHost(values)
	}
	if tool.about == "" {
		values = maps.Clone(values)
		maps.DeleteFunc(values, func(key string, _ any) bool { return slices.Contains(a.call.Varies, key) })
		return exactArgs(values, slices.Concat(tool.added, a.call.Varies)), nil
	}
	value, ok := values[tool.about]
	if !ok {
		return "", notRemembered("The call of " + a.call.Tool + " names no target.")
	}
	return exactArg(tool.about, value), nil
}

// ofTool returns the properties of the called tool; the zero value for unknown
// ones.
func ofTool(c *Call) known {
	k, _ := WellKnown(c.Tool)
	return wellKnown[k.Tool]
}

// page matches a URL with an unambiguous host, up to the host's end and from
// there.
var page = lazyregexp.New(`\A(https?://[a-z0-9.-]+(?::[0-9]+)?)(?:[/?#].*)?\z`)

// sameHost returns the ArgsPattern of pages of the same host, port and scheme:
// one per call, and no other arguments.
func sameHost(values map[string]any) (string, error) {
	address, _ := values["url"].(string)
	found := page().FindStringSubmatch(address)
	if found == nil || len(values) != 1 {
		return "", notRemembered("The host of the call is not given by its url alone.")
	}
	return hostBegins + regexp.QuoteMeta(found[1]) + hostEnds, nil
}

// Text around the host in a pattern of [sameHost].
const (
	hostBegins = `\A\{\x00"url":"`
	hostEnds   = `(?:[/?#][^\x00]*"|")\x00,?\}\z`
)

// leadsElsewhere returns an error if an absolute path contains a link: its target
// may differ the next time.
func (c *Call) leadsElsewhere(path string) error {
	if seen := c.seen(path); seen != path {
		return notRemembered("The path " + path + " leads to " + seen + ".")
	}
	return nil
}

// exactArg returns the ArgsPattern of exactly one value of an argument.
func exactArg(key string, value any) string {
	pair := appendString(nil, key)
	pair = append(pair, ':')
	pair = appendCanonical(pair, value, false)
	return `\x00` + regexp.QuoteMeta(string(pair)) + `\x00`
}

// exactArgs returns the ArgsPattern of exactly these arguments, to which the
// added ones may be added, with any value.
func exactArgs(values map[string]any, added []string) string {
	keys := slices.Collect(maps.Keys(values))
	for _, key := range added {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString(`\A\{`)
	for _, key := range keys {
		if value, ok := values[key]; ok {
			b.WriteString(exactArg(key, value) + ",?")
		} else {
			b.WriteString(`(?:\x00` + regexp.QuoteMeta(string(appendString(nil, key))) + `:[^\x00]*\x00,?|)`)
		}
	}
	b.WriteString(`\}\z`)
	return b.String()
}

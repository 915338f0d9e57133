package policy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Scope says how far an approval reaches (AR-20).
type Scope string

// The scopes.
const (
	ScopeSession Scope = "session" // this process, what was approved: proceed_always
	ScopeSaved   Scope = "saved"   // for good, what was approved: proceed_always_and_save
	ScopeTool    Scope = "tool"    // this process, the tool: proceed_always_tool
	ScopeServer  Scope = "server"  // this process, the tool's MCP server: proceed_always_server
)

// Narrow returns the rules that remember the approval of c: they allow what c
// is and no more, in its approval mode and in those that are more permissive.
// A command line is remembered by the commands in it that are not allowed
// yet, a file tool by its path or pattern, an MCP tool by its name or server,
// other tools by their name. The rules have been tried: with them the engine
// allows c. They are in force only once they are given to [Engine.Add]. There
// are none if c is allowed already.
//
// The error is of code approval_not_remembered and says what stands in the
// way.
func (e *Engine) Narrow(c Call, s Scope) ([]Rule, error) {
	template := Rule{Decision: Allow, Approval: true, Priority: AlwaysAllowPriority, Modes: modesFrom(c.Mode), Source: "approval"}
	switch s {
	case ScopeSaved:
		template.Tier = TierUser
	case ScopeSession, ScopeTool, ScopeServer:
		template.Tier, template.Session = TierWorkspace, true
	default:
		return nil, notRemembered(fmt.Sprintf("%.40q is no scope of an approval.", s))
	}
	now := e.now.Load()
	if e.o.DisableAlwaysAllow {
		return nil, notRemembered("The settings let nothing be approved for good.")
	}
	d := now.decide(&c)
	if d.Decision == Allow {
		return nil, nil
	}
	if strings.Contains(c.Tool, "*") || strings.Contains(c.Server, "*") || strings.Contains(c.ServerTool, "*") || c.Tool == "" {
		return nil, notRemembered("The tool has a name that a rule would take for a wildcard, or none.")
	}
	rules, err := now.narrowed(&c, s, template)
	if err != nil {
		return nil, err
	}
	ready, err := e.compile(rules)
	if err != nil {
		return nil, notRemembered("A rule about it would be refused: " + err.Error())
	}
	e.mu.Lock()
	given := slices.Concat(e.given, ready)
	e.mu.Unlock()
	if after := e.snapshot(given).decide(&c); after.Decision != Allow {
		return nil, notRemembered("It would be asked about again. " + after.Reason)
	}
	return rules, nil
}

func notRemembered(why string) error {
	return fault.New(fault.NotRemembered, "policy.narrow",
		"The approval cannot be remembered. "+why, "Approve it this once, or write a rule for it.")
}

// modesFrom lists a mode and those that are more permissive.
func modesFrom(m ApprovalMode) []ApprovalMode {
	all := []ApprovalMode{ModePlan, ModeDefault, ModeAutoEdit, ModeYolo}
	for i := range all {
		if modeBit(all[i]) == modeBit(m) {
			return all[i:]
		}
	}
	return all[1:]
}

// narrowed makes rules of a template that allow what c is.
func (s *snapshot) narrowed(c *Call, scope Scope, template Rule) ([]Rule, error) {
	t := &trial{snapshot: s, call: c}
	t.args.call = c
	template.Tools = []string{c.Tool}
	if scope == ScopeServer && c.Server == "" {
		return nil, notRemembered("The tool " + c.Tool + " belongs to no MCP server.")
	}
	if c.Server != "" {
		template.Server = c.Server
		template.Tools = []string{identify(*c, "", nil).tool}
		if scope == ScopeServer {
			template.Tools = []string{"*"}
		}
		return []Rule{template}, nil
	}
	if isShell(c) {
		template.Tools = []string{shellTool}
		return t.judge(s.find(c, &t.args).shell).narrowed(template)
	}
	if scope == ScopeTool {
		return []Rule{template}, nil
	}
	keys := []string(nil)
	if known, ok := WellKnown(c.Tool); ok {
		keys = wellKnown[known.Tool].narrow
	}
	if keys == nil {
		return []Rule{template}, nil
	}
	var patterns []string
	for _, key := range keys {
		value, ok := t.args.object()[key]
		if !ok {
			continue
		}
		if path, is := value.(string); is && slices.Contains(pathKeys, key) {
			value = c.absolute(path)
		}
		patterns = append(patterns, exactArg(key, value))
	}
	if len(patterns) == 0 {
		return nil, notRemembered("The call of " + c.Tool + " does not say what it is about.")
	}
	template.ArgsPattern = strings.Join(patterns, ".*")
	return []Rule{template}, nil
}

// exactArg is the ArgsPattern of exactly one value of an argument.
func exactArg(key string, value any) string {
	pair := appendString(nil, key)
	pair = append(pair, ':')
	pair = appendCanonical(pair, value, false)
	return `\x00` + regexp.QuoteMeta(string(pair)) + `\x00`
}

// narrowed makes rules of a template that allow the parts of the line that are
// not allowed yet: one for the beginnings of ordinary commands, and one for
// each command that is only approved as it stands.
func (j *judge) narrowed(template Rule) ([]Rule, error) {
	var beginnings, exact []string
	covered := make([]bool, len(j.parts)) // by an exact rule for the parent
	need := func(i int) error {
		p := &j.parts[i]
		if p.Kind != shell.Command {
			return notRemembered("It is not a plain command: " + abridged(p.Text) + ".")
		}
		if j.exactOnly(i) {
			if slices.ContainsFunc(p.Words, func(w shell.Word) bool { return !fixed(w) }) {
				return notRemembered("It may do something else the next time: " + abridged(p.Text) + ".")
			}
			if program := p.Words[0].Text; strings.Contains(program, "/") && !filepath.IsAbs(program) {
				return notRemembered("Which program it is depends on the folder: " + abridged(p.Text) + ".")
			}
			exact = append(exact, exactCommand(p.Text))
			for k := range j.parts {
				covered[k] = covered[k] || j.parts[k].Parent == i && j.parts[k].Own < len(p.Words)
			}
			return nil
		}
		beginnings = append(beginnings, shell.Quote(j.beginning(p)))
		return nil
	}
	for i := range j.parts {
		p := &j.parts[i]
		if j.judged[i].verdict == Allow || covered[i] {
			continue
		}
		if p.Kind != shell.Write {
			if err := need(i); err != nil {
				return nil, err
			}
			continue
		}
		template.AllowRedirection = true
		for _, k := range j.writers(p) {
			if j.judged[k].verdict != Allow {
				continue // it has its rule
			}
			if err := need(k); err != nil {
				return nil, err
			}
		}
	}
	var rules []Rule
	if len(beginnings) > 0 {
		r := template
		r.CommandPrefix = unique(beginnings)
		rules = append(rules, r)
	}
	for _, pattern := range unique(exact) {
		r := template
		r.ArgsPattern = pattern
		rules = append(rules, r)
	}
	return rules, nil
}

// exactOnly reports whether approving the part approves nothing that merely
// begins like it: the program does what its words say, or the part brings
// along what is not allowed.
func (j *judge) exactOnly(i int) bool {
	p := &j.parts[i]
	if len(p.Words) == 0 || slices.Contains(exactPrograms, programName(p.Words[0].Text)) {
		return true
	}
	for k := range j.parts {
		if j.parts[k].Parent == i && j.parts[k].Kind != shell.Write && j.judged[k].verdict != Allow {
			return true
		}
	}
	return false
}

// beginning returns the words that a part is remembered by. A program that is
// named by a path is named so that it is found again.
func (j *judge) beginning(p *shell.Part) []string {
	words := suggested(p)
	if len(words) == 0 || j.begins(words, p) {
		return words
	}
	if places, ok := j.places(p, words[0]); ok && len(places) == 1 {
		words[0] = places[0]
	}
	return words
}

// writers lists the commands that a file is written for.
func (j *judge) writers(p *shell.Part) []int {
	if p.Parent < 0 {
		return nil
	}
	if !j.parts[p.Parent].Wraps {
		return []int{p.Parent}
	}
	var writers []int
	for k := range j.parts {
		if j.parts[k].Parent == p.Parent && j.parts[k].Kind != shell.Write {
			writers = append(writers, k)
		}
	}
	return writers
}

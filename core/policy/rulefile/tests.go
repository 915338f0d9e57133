package rulefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// Test is a [[test]] of a policy file: a call and the expected decision.
type Test struct {
	Name   string // for display; "" if it has none
	Path   string
	Line   int              // 1-based
	Call   policy.Call      // without Dir, Roots and RealPaths, which a session sets
	Expect policy.Verdict   // the decision
	Rule   string           // name of the deciding rule; "": any
	How    confirmation.Run // how the command runs; "": any
}

const testDropped = "The test is not run."

// test reads a [[test]]. An unknown key drops it, because a test must not pass because
// of a typing mistake.
func (r *reader) test(t *position.Table) {
	f := r.fields(t, "", testDropped)
	test := Test{Name: f.line("name"), Path: r.file.Path, Line: t.Line, Rule: f.line("rule")}
	tool, server := f.line(f.one("toolName", "tool")), f.line(f.one("mcpName", "server"))
	args := f.args()
	if tool == "" && f.t.Find("command") != nil {
		tool = "run_shell_command"
	}
	if tool == "" && f.t.Find("toolName") == nil && f.t.Find("tool") == nil {
		f.fail(t.Line, "toolName", KindSchema, "The key is missing.", "Name the tool that is called, or give a command.")
	}
	if e := f.t.Find("command"); e != nil && !f.invalid && tool != "" && (server != "" || !onlyShell([]string{tool})) {
		f.fail(e.Line, "command", KindRule, "The tool "+quote(tool)+" takes no command line.", "Name run_shell_command, or write the arguments into args.")
	}
	test.Call = callOf(tool, server)
	test.Call.Params = args
	test.Call.Subagent = f.line("subagent")
	test.Call.Mode = f.mode(f.one("approvalMode", "mode"))
	if b := f.flag("interactive"); b != nil {
		test.Call.Headless = !*b
	}
	if b := f.flag("untrusted"); b != nil {
		test.Call.Untrusted = *b
	}
	test.Call.Confined = f.confinement(test.Call)
	if test.Call.Confined == policy.Namespaces {
		test.Call.Confined, test.Call.Confinable, test.Call.Sealed = "", policy.Namespaces, true
	}
	test.How = confirmation.Run(f.choice([]string{string(confirmation.RunConfined), string(confirmation.RunRead), string(confirmation.RunUnconfined)}, "run"))
	decision := f.one("decision", "expect")
	test.Expect = f.verdict(decision)
	f.need(decision)
	for _, e := range f.unknown() {
		remedy := "Remove it."
		if nearest := nearestKey(e.Key, f.known()); nearest != "" {
			remedy = "Did you mean " + nearest + "?"
		}
		f.fail(e.Line, e.Key, KindUnknownKey, fmt.Sprintf("The key %s is unknown.", quote(e.Key)), remedy)
	}
	if !f.invalid {
		r.file.Tests = append(r.file.Tests, test)
	}
}

// confinement reads the confinement of the call's command; true is landlock.
func (f *fields) confinement(call policy.Call) string {
	e := f.get("confined")
	if e == nil {
		return ""
	}
	kind := ""
	switch v := e.Value.(type) {
	case bool:
		if v {
			kind = "landlock"
		}
	case string:
		kind = f.choice([]string{policy.Namespaces, "landlock", "container"}, "confined")
	default:
		f.wrong(e, e.Line, e.Value, "true, false or a confinement, as \"landlock\"")
	}
	if kind != "" && call.Tool != "" && !policy.CanBeConfined(call.Tool) {
		f.fail(e.Line, e.Key, KindRule, "The tool "+quote(call.Tool)+" runs no command, so nothing confines it.", "Remove it.")
	}
	return kind
}

// one returns the given one of two names of a key. Both together are a problem.
func (f *fields) one(name, short string) string {
	f.seen[name], f.seen[short] = true, true
	e := f.t.Find(short)
	if e == nil {
		return name
	}
	if f.t.Find(name) != nil {
		f.fail(e.Line, short, KindSpelling, fmt.Sprintf("%s and %s are the same key.", name, short), "Remove one of them.")
		return name
	}
	return short
}

// args reads the arguments of the call, as JSON.
func (f *fields) args() json.RawMessage {
	args := f.settings("args")
	command := f.get("command")
	switch {
	case command == nil:
	case f.t.Find("args") != nil:
		f.fail(command.Line, "command", KindRule, "A test has args or a command.", "Write the command into args.")
	default:
		text, ok := command.Value.(string)
		if !ok {
			f.wrong(command, command.Line, command.Value, "a string")
		}
		args = map[string]any{"command": text}
	}
	if args == nil {
		args = map[string]any{}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(args); err != nil {
		f.fail(f.get("args").Line, "args", KindSchema, "They contain a number that JSON cannot represent.", "")
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

func (f *fields) mode(key string) policy.ApprovalMode {
	text := f.text(key)
	mode, err := policy.ParseApprovalMode(text)
	if err != nil {
		f.badMode(f.get(key).Line, key, text)
	}
	return mode
}

// callOf returns a call of a tool. A tool of a server may be given by its own or by the
// composed name.
func callOf(tool, server string) policy.Call {
	if server != "" {
		own := strings.TrimPrefix(tool, "mcp_"+server+"_")
		return policy.Call{Tool: "mcp_" + server + "_" + own, Server: server, ServerTool: own, Kind: "other"}
	}
	if call, ok := policy.WellKnown(tool); ok {
		return call
	}
	return policy.Call{Tool: tool, Kind: "other"}
}

// Run calls decide for the test's call. The error, of code invalid_config, gives the
// position of the test, the expected and the actual decision, and the reason.
func (t Test) Run(decide func(policy.Call) policy.Decision) error {
	d := decide(t.Call)
	if d.Decision == t.Expect && (t.Rule == "" || t.Rule == d.Rule) && (t.How == "" || t.How == d.Run) {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: ", t.Path, t.Line)
	if t.Name != "" {
		b.WriteString("test " + quote(t.Name) + ": ")
	}
	fmt.Fprintf(&b, "expected %s", t.Expect)
	if t.Rule != "" {
		fmt.Fprintf(&b, " by rule %s", quote(t.Rule))
	}
	if t.How != "" {
		fmt.Fprintf(&b, " to run %s", t.How)
	}
	fmt.Fprintf(&b, ", got %s", d.Decision)
	if d.Rule != "" {
		fmt.Fprintf(&b, " by rule %s", quote(d.Rule))
	}
	if t.How != "" && d.Run != "" {
		fmt.Fprintf(&b, " to run %s", d.Run)
	}
	if d.Source != "" {
		fmt.Fprintf(&b, " of %s", d.Source)
		if d.Line > 0 {
			fmt.Fprintf(&b, ":%d", d.Line)
		}
	}
	b.WriteString(". " + d.Reason)
	return fault.New(fault.InvalidConfig, "policy.test", b.String(), d.Remedy)
}

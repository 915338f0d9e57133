package gateway

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/policy"
)

// Limits of a question, in displayed bytes.
const (
	maxName      = 200
	maxArguments = 12 << 10
	maxReason    = 1000
)

// form is the question whether a call may run.
type form struct {
	text    string
	offered []offer
}

// offer is an answer of a form.
type offer struct {
	bus.OutcomeInfo
	means   string
	pattern string // of the tools that it allows from now on; "": none
}

// newForm returns the question about a call. It offers no lasting answer for a
// call that it cannot show completely.
func (j *judge) newForm(c call, d policy.Decision) form {
	var b strings.Builder
	arguments, whole := shown(c.args)
	fmt.Fprintf(&b, "The tool %s of the MCP server %s wants to run.\n", escape.Plain(c.tool, maxName), escape.Plain(j.server, maxName))
	if arguments != "" {
		fmt.Fprintf(&b, "Arguments:\n%s\n", arguments)
	}
	if !whole {
		b.WriteString("IMPORTANT: the call is not shown completely, so only this one call can be approved.\n")
	}
	if d.Reason != "" {
		fmt.Fprintf(&b, "Why it is asked: %s\n", escape.ClipBytes(escape.Text(d.Reason), maxReason))
	}
	f := form{text: strings.TrimSuffix(b.String(), "\n")}
	for _, o := range bus.Outcomes() {
		switch {
		case o.Means == "" || o.Kept:
		case o.Until == "":
			f.offered = append(f.offered, offer{o, o.Means, ""})
		case whole:
			if words, pattern := j.lasting(c, d, policy.Scope(o.Name)); pattern != "" {
				f.offered = append(f.offered, offer{o, o.Means + " " + words, pattern})
			}
		}
	}
	return f
}

// shown returns the arguments in displayable form, and whether they are complete.
func shown(args json.RawMessage) (text string, whole bool) {
	var indented bytes.Buffer
	if json.Indent(&indented, args, "", "  ") != nil || indented.String() == "{}" {
		return "", true
	}
	text = escape.Text(indented.String())
	head, tail, omitted := escape.Ends(text, maxArguments*3/4, maxArguments/4)
	if omitted == 0 {
		return text, true
	}
	return fmt.Sprintf("%s\n[… %d bytes are omitted here …]\n%s", head, omitted, tail), false
}

// params returns the parameters of elicitation/create.
func (f form) params(revision string) map[string]any {
	var names, lines []string
	for _, o := range f.offered {
		names, lines = append(names, o.Name), append(lines, o.Name+": "+o.means)
	}
	p := map[string]any{
		"message": f.text,
		"requestedSchema": map[string]any{
			"type": "object", "required": []string{"answer"},
			"properties": map[string]any{
				"answer": map[string]any{"type": "string", "title": "Run the call?", "description": strings.Join(lines, "\n"), "enum": names},
				"reason": map[string]any{"type": "string", "title": "Message for the model", "description": "After a denial: the next step. Optional."},
			},
		},
	}
	if revision >= "2025-11-25" {
		p["mode"] = "form"
	}
	return p
}

// answer reads the client's answer. Anything but a clear yes is a no, and why
// states the reason for the model.
func (f form) answer(given json.RawMessage) (o offer, why string) {
	r := members(given)
	no := offer{OutcomeInfo: bus.OutcomeInfo{Outcome: bus.Cancel, Name: "no"}}
	switch action := text(r["action"]); action {
	case "accept":
	case "decline":
		return no, "The user denied it."
	case "cancel":
		return no, "The request for approval was not answered, which counts as a denial."
	default:
		return no, fmt.Sprintf("The action %q of the client's answer is unknown, and the answer counts as none.", escape.ClipBytes(escape.Text(action), 100))
	}
	content := members(r["content"])
	chosen := text(content["answer"])
	for _, o := range f.offered {
		switch {
		case o.Name != chosen:
		case o.Outcome == bus.Cancel:
			why = "The user denied it."
			if reason := strings.TrimSpace(text(content["reason"])); reason != "" {
				why += " The user's message: " + escape.ClipBytes(escape.Text(reason), 2000)
			}
			return o, why
		default:
			return o, ""
		}
	}
	return no, fmt.Sprintf("The answer %q was not offered, and counts as a denial.", escape.ClipBytes(escape.Text(chosen), 100))
}

// asks reports whether a client with these capabilities shows forms.
func asks(capabilities json.RawMessage) bool {
	e, ok := members(capabilities)["elicitation"]
	if modes := members(e); ok && modes != nil {
		_, form := modes["form"]
		_, url := modes["url"]
		return form || !url
	}
	return false
}

// newID returns an id that no server uses.
func newID(kind string) string { return "fettle-guard-" + kind + "-" + rand.Text() }

// noApprover is the reason of a denial without an approver, with the remedy.
func noApprover(grant string) string {
	return "It requires approval, and this client cannot ask its user (it does not support elicitation). " +
		"The user can allow it with a rule in the policy file, or with --grant " + grant + " of fettle-guard mcp."
}

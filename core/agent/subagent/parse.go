package subagent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// MaxFile is how long a definition file may be, in bytes.
const MaxFile = 1 << 20

// Parse reads an agent.md file: a YAML front matter between lines of
// three hyphens, and the system prompt. The front matter may also be a list of
// remote agents. s says where the file comes from; Line and Hash are filled in.
//
// Parse is lenient: what it does not know or cannot use is a problem and
// otherwise left out. A definition that cannot be used at all is missing in
// what it returns, with a problem that says so; the others are not touched.
func Parse(data []byte, s Source) ([]Definition, []fault.Problem) {
	sum := sha256.Sum256(data)
	s.Hash = hex.EncodeToString(sum[:])
	p := &parsing{source: s}
	if len(data) > MaxFile {
		p.lose(0, fmt.Sprintf("The file has more than %d KiB and was not read.", MaxFile>>10), "Shorten the definition.")
		return nil, p.problems
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		p.lose(0, "The file is no text in UTF-8.", "Save it as UTF-8.")
		return nil, p.problems
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	front, before, body, found := position.SplitFrontMatter(text)
	if !found {
		p.lose(1, "The file has no front matter: its first line must be three hyphens, and another such line must follow.",
			"Begin the file with lines of ---, name: …, description: …, ---.")
		return nil, p.problems
	}
	root, err := position.ParseYAML(front, before)
	if err != nil {
		if mended, line := position.QuoteYAML(front); line > 0 {
			if again, failed := position.ParseYAML(mended, before); failed == nil {
				root, err = again, nil
				p.warn(before+line, "The front matter is not valid YAML, because a text in it has a colon and a blank; it was taken as text.", "Put the text in quotes.")
			}
		}
	}
	if err != nil {
		e := position.As(err)
		p.lose(e.Line, fmt.Sprintf("The front matter cannot be read: %s.", e.Message),
			"Correct the YAML; a text that has a colon and a blank, or begins with a sign, needs quotes.")
		return nil, p.problems
	}
	switch v := root.Value.(type) {
	case []position.Node:
		for _, item := range v {
			p.add(item, "", true)
		}
	case *position.Table:
		p.add(root, strings.TrimSpace(body), false)
	default:
		p.lose(root.Line, "The front matter is no list of keys and values.", "Write each as KEY: VALUE.")
	}
	return p.defs, p.problems
}

// parsing is one file that is read.
type parsing struct {
	source   Source
	defs     []Definition
	problems []fault.Problem
}

func (p *parsing) warn(line int, message, remedy string) {
	p.problems = append(p.problems, fault.Problem{Path: p.source.Path, Line: line, Message: message, Remedy: remedy})
}

func (p *parsing) lose(line int, message, remedy string) {
	p.problems = append(p.problems, fault.Problem{Path: p.source.Path, Line: line, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

// add reads one definition. One of a list is remote.
func (p *parsing) add(n position.Node, body string, ofList bool) {
	if _, ok := n.Value.(*position.Table); !ok {
		p.lose(n.Line, "One of the agents in the list is no list of keys and values.", "Write each as - name: NAME, and its other keys below.")
		return
	}
	d := Definition{Source: p.source, Kind: KindLocal, Prompt: body}
	d.Source.Line = n.Line
	if ofList {
		d.Kind = KindRemote
	}
	r := &reading{parsing: p, d: &d}
	for _, m := range n.Members() {
		r.member(m)
	}
	if r.finish(n.Line, ofList) {
		p.defs = append(p.defs, d)
	}
}

// reading is one definition that is read.
type reading struct {
	*parsing
	d      *Definition
	seen   map[string]bool // keys, by their first spelling
	remote Remote
	isLost bool
}

// lost says why there is no such agent.
func (r *reading) lost(line int, message, remedy string) {
	r.isLost = true
	r.lose(line, message, remedy)
}

// finish says what is missing, and reports whether there is an agent.
func (r *reading) finish(line int, ofList bool) bool {
	d := r.d
	if r.isLost {
		return false
	}
	if d.Name == "" {
		r.lost(line, "The agent has no name.", "Add a line name: NAME, of small letters, digits, hyphens and underscores.")
		return false
	}
	if r.remote != (Remote{}) && !r.seen["kind"] {
		d.Kind = KindRemote
	}
	if d.Kind == KindRemote {
		return r.finishRemote(line)
	}
	switch {
	case ofList:
		r.lost(line, fmt.Sprintf("The agent %s stands in a list and is not remote; only remote agents may.", d.Name), "Give it a file of its own.")
	case d.Description == "":
		r.lost(line, fmt.Sprintf("The agent %s has no description, by which it is chosen.", d.Name), "Add a line description: WHAT IT IS GOOD FOR.")
	case d.Prompt == "":
		r.lost(line, fmt.Sprintf("The agent %s has no system prompt.", d.Name), "Write it below the front matter.")
	case r.remote != (Remote{}):
		r.warn(line, fmt.Sprintf("The agent %s is local, so that its card and its authentication are not used.", d.Name), "Write kind: remote, or leave them out.")
	}
	if r.isLost {
		return false
	}
	r.checkPlaceholders(line)
	return true
}

func (r *reading) finishRemote(line int) bool {
	d := r.d
	switch {
	case r.remote.CardURL == "" && r.remote.CardJSON == "":
		r.lost(line, fmt.Sprintf("The remote agent %s has no card.", d.Name), "Add agent_card_url: URL, or agent_card_json with the card itself.")
		return false
	case r.remote.CardURL != "" && r.remote.CardJSON != "":
		r.lost(line, fmt.Sprintf("The remote agent %s has both a card and the URL of one.", d.Name), "Keep one of agent_card_url and agent_card_json.")
		return false
	}
	for _, key := range restricting {
		if r.seen[key] && key != "tools" {
			r.lost(line, fmt.Sprintf("The remote agent %s is restricted by %s, which cannot be applied at another server.", d.Name, key), "Leave the key out.")
			return false
		}
	}
	d.Remote, d.Prompt = &r.remote, ""
	if d.Description == "" {
		d.Description = "The remote agent " + d.Display() + "."
	}
	return true
}

// checkPlaceholders tells of what would fail when the agent is run.
func (r *reading) checkPlaceholders(line int) {
	texts := []string{r.d.Prompt, r.d.Query}
	for _, c := range r.d.InitialMessages {
		texts = append(texts, c.Text())
	}
	known := append([]string{"query"}, ownPlaceholders...)
	for _, name := range unknownPlaceholders(texts, known) {
		r.warn(line, fmt.Sprintf("The prompt of the agent %s asks for ${%s}, which has no value; it cannot be run.", r.d.Name, name),
			fmt.Sprintf("Write $${%s} for the text itself. There are ${%s}.", name, strings.Join(known, "}, ${")))
	}
}

// member reads one key.
func (r *reading) member(m *position.Member) {
	key, known := spelling(m.Key)
	if !known {
		r.unknownKey(m)
		return
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	if r.seen[key] {
		if slices.Contains(restricting, key) {
			r.lost(m.Line, fmt.Sprintf("The key %s restricts the agent a second time.", m.Key), "Keep one of the two.")
			return
		}
		r.warn(m.Line, fmt.Sprintf("The key %s gives again what stands above, and is not used.", m.Key), "Keep one of them.")
		return
	}
	r.seen[key] = true
	keys[key](r, m)
}

func (r *reading) unknownKey(m *position.Member) {
	message := fmt.Sprintf("The key %s is not known.", quoted(m.Key))
	if because, ok := foreignKeys[folded(m.Key)]; ok {
		r.warn(m.Line, fmt.Sprintf("The key %s is not used: %s.", m.Key, because), "")
		return
	}
	var all []string
	for k := range keys {
		all = append(all, k)
	}
	remedy := "Leave it out."
	near := nearest(m.Key, all)
	if near != "" {
		remedy = fmt.Sprintf("Did you mean %s?", near)
	}
	if slices.Contains(restricting, near) || slices.Contains(foreignRestrictions, folded(m.Key)) {
		r.lost(m.Line, message+" It seems to restrict the agent, which is not used without that.", remedy)
		return
	}
	r.warn(m.Line, message, remedy)
}

// wrongValue tells that a key's value is not used.
func (r *reading) wrongValue(m *position.Member, want string) {
	r.warn(m.Node.Line, fmt.Sprintf("The value of %s is not %s, and is not used.", m.Key, want), "")
}

func (r *reading) name(m *position.Member) {
	text, ok := m.Text()
	name := slug(text)
	if !ok || name == "" {
		r.lost(m.Line, "The name of the agent cannot be used.", "Use small letters, digits, hyphens and underscores.")
		return
	}
	if strings.HasPrefix(name, mcpPrefix) {
		r.lost(m.Line, fmt.Sprintf("An agent cannot be named %s, as names that begin with mcp_ are those of MCP servers' tools.", name), "Give it another name.")
		return
	}
	if name != text {
		r.warn(m.Line, fmt.Sprintf("The agent's name %s is written %s, as names have small letters, digits, hyphens and underscores only.", quoted(text), name),
			fmt.Sprintf("Write name: %s.", name))
	}
	r.d.Name = name
}

// mcpPrefix begins the names that policy takes for tools of MCP servers.
const mcpPrefix = "mcp_"

// slug makes a name of a text.
func slug(text string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_':
			return c
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		case c == ' ' || c == '.' || c == '/':
			return '-'
		}
		return -1
	}, strings.TrimSpace(text))
	return name[:min(len(name), tools.MaxNameLength)]
}

func (r *reading) kind(m *position.Member) {
	switch text, _ := m.Text(); Kind(strings.ToLower(strings.TrimSpace(text))) {
	case KindLocal:
		r.d.Kind = KindLocal
	case KindRemote:
		r.d.Kind = KindRemote
	default:
		r.lost(m.Line, "The kind of the agent is neither local nor remote.", "Write kind: local, or leave it out.")
	}
}

func (r *reading) text(to *string) func(m *position.Member) {
	return func(m *position.Member) {
		text, ok := m.Text()
		if !ok {
			r.wrongValue(m, "a text")
			return
		}
		*to = strings.TrimSpace(text)
	}
}

func (r *reading) model(m *position.Member) {
	r.text(&r.d.Model)(m)
	if r.d.Model == "inherit" {
		r.d.Model = ""
	}
}

// number returns a finite number, also one that is written as text.
func number(n position.Node) (float64, bool) {
	f, ok := n.Number()
	if text, isText := n.Value.(string); isText {
		var err error
		f, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
		ok = err == nil
	}
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}

func (r *reading) temperature(m *position.Member) {
	f, ok := number(m.Node)
	if !ok || f < 0 || f > 2 {
		r.wrongValue(m, "a number from 0 to 2")
		return
	}
	r.d.Temperature = &f
}

func (r *reading) maxTurns(m *position.Member) {
	f, ok := number(m.Node)
	if !ok || f < 1 || f != float64(int(f)) || f > 1e6 {
		r.wrongValue(m, "a whole number above 0")
		return
	}
	r.d.MaxTurns = int(f)
}

// mostMinutes is the longest run that can be asked for: a week.
const mostMinutes = 7 * 24 * 60

func (r *reading) maxTime(m *position.Member) {
	f, ok := number(m.Node)
	if !ok || f <= 0 || f > mostMinutes {
		r.wrongValue(m, fmt.Sprintf("a number of minutes above 0 and up to %d", mostMinutes))
		return
	}
	r.d.MaxTime = time.Duration(f * float64(time.Minute))
}

// initialMessages reads turns: each a text, which is the user's, or a role with
// its text or parts.
func (r *reading) initialMessages(m *position.Member) {
	if _, ok := m.Value.([]position.Node); !ok {
		r.wrongValue(m, "a list")
		return
	}
	for _, item := range m.List() {
		if c, ok := message(item); ok {
			r.d.InitialMessages = append(r.d.InitialMessages, c)
			continue
		}
		r.warn(item.Line, "One of the initial messages has no text, or a role other than user and model, and is left out.",
			"Write each as role: user, and text: TEXT.")
	}
}

func message(n position.Node) (model.Content, bool) {
	c := model.Content{Role: model.RoleUser}
	if text, ok := n.Text(); ok {
		c.Parts = texts(text)
		return c, len(c.Parts) > 0
	}
	for _, m := range n.Members() {
		switch folded(m.Key) {
		case "role":
			switch role, _ := m.Text(); role {
			case "user":
			case "model", "assistant":
				c.Role = model.RoleModel
			default:
				return c, false
			}
		case "text", "content", "parts":
			if text, ok := m.Text(); ok {
				c.Parts = append(c.Parts, texts(text)...)
			}
			for _, part := range m.List() {
				if text, ok := part.Text(); ok {
					c.Parts = append(c.Parts, texts(text)...)
				}
				for _, field := range part.Members() {
					if text, ok := field.Text(); ok && field.Key == "text" {
						c.Parts = append(c.Parts, texts(text)...)
					}
				}
			}
		}
	}
	return c, len(c.Parts) > 0
}

func texts(text string) []model.Part {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []model.Part{model.TextPart(text)}
}

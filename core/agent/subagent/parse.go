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
	"github.com/fettle-dev/fettle/core/internal/frontmatter"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// MaxFile is the largest size of a definition file in bytes.
const MaxFile = 1 << 20

// Parse parses an agent.md file: a YAML front matter between lines of three hyphens, and the system
// prompt. The front matter may also be a list of remote agents. s is the origin of the file; Parse
// sets Line and Hash.
//
// Parse is lenient: unknown and invalid parts are ignored and reported as problems. A definition
// that is unusable is omitted from the result, with a problem that reports it; it does not affect
// the others.
func Parse(data []byte, s Source) ([]Definition, []fault.Problem) {
	sum := sha256.Sum256(data)
	s.Hash = hex.EncodeToString(sum[:])
	p := &parsing{source: s}
	if len(data) > MaxFile {
		p.fail(0, fmt.Sprintf("The file is larger than %d KiB and was not read.", MaxFile>>10), "Shorten the definition.")
		return nil, p.problems
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		p.fail(0, "The file is not text in UTF-8.", "Save it as UTF-8.")
		return nil, p.problems
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	front, before, body, found := frontmatter.Split(text)
	if !found {
		p.fail(1, "The file has no front matter: its first line must be three hyphens, and a second such line must follow.",
			"Begin the file with lines of ---, name: …, description: …, ---.")
		return nil, p.problems
	}
	root, textLine, err := frontmatter.Parse(front, before)
	if textLine > 0 {
		p.warn(textLine, "The front matter is not valid YAML, because a text in it has no quotes; it was taken as text.", "Put the text in quotes.")
	}
	if err != nil {
		e := position.As(err)
		p.fail(e.Line, fmt.Sprintf("The front matter cannot be read: %s.", e.Message),
			"Correct the YAML; quote a text that has a colon and a blank, or begins with a special character.")
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
		p.fail(root.Line, "The front matter is not a list of keys and values.", "Write each as KEY: VALUE.")
	}
	return p.defs, p.problems
}

// parsing is the state of parsing one file.
type parsing struct {
	source   Source
	defs     []Definition
	problems []fault.Problem
}

func (p *parsing) warn(line int, message, remedy string) {
	p.problems = append(p.problems, fault.Problem{Path: p.source.Path, Line: line, Message: message, Remedy: remedy})
}

func (p *parsing) fail(line int, message, remedy string) {
	p.problems = append(p.problems, fault.Problem{Path: p.source.Path, Line: line, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

// add parses one definition. A definition in a list is remote.
func (p *parsing) add(n position.Node, body string, ofList bool) {
	if _, ok := n.Value.(*position.Table); !ok {
		p.fail(n.Line, "One of the agents in the list is not a list of keys and values.", "Write each as - name: NAME, and its other keys below.")
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

// reading is the state of parsing one definition.
type reading struct {
	*parsing
	d       *Definition
	seen    map[string]bool // keys, by their main spelling
	remote  Remote
	skills  []string // of a definition of Claude Code
	dropped bool
}

// drop reports an error that makes the agent unusable.
func (r *reading) drop(line int, message, remedy string) {
	r.dropped = true
	r.fail(line, message, remedy)
}

// finish reports missing parts, and whether the agent is usable.
func (r *reading) finish(line int, ofList bool) bool {
	d := r.d
	if r.dropped {
		return false
	}
	if d.Source.Claude {
		r.finishClaude()
	}
	if d.Name == "" {
		r.drop(line, "The agent has no name.", "Add a line name: NAME, of small letters, digits, hyphens and underscores.")
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
		r.drop(line, fmt.Sprintf("The agent %s is in a list and is not remote; a list may have only remote agents.", d.Name), "Put it into a separate file.")
	case d.Description == "":
		r.drop(line, fmt.Sprintf("The agent %s has no description, by which a model chooses it.", d.Name), "Add a line description: PURPOSE.")
	case d.Prompt == "":
		r.drop(line, fmt.Sprintf("The agent %s has no system prompt.", d.Name), "Write it below the front matter.")
	case r.remote != (Remote{}):
		r.warn(line, fmt.Sprintf("The agent %s is local, so its card and its authentication are not used.", d.Name), "Write kind: remote, or remove them.")
	}
	if r.dropped {
		return false
	}
	r.checkPlaceholders(line)
	return true
}

func (r *reading) finishRemote(line int) bool {
	d := r.d
	switch {
	case r.remote.CardURL == "" && r.remote.CardJSON == "":
		r.drop(line, fmt.Sprintf("The remote agent %s has no card.", d.Name), "Add agent_card_url: URL, or agent_card_json with the card itself.")
		return false
	case r.remote.CardURL != "" && r.remote.CardJSON != "":
		r.drop(line, fmt.Sprintf("The remote agent %s has both a card and the URL of one.", d.Name), "Keep one of agent_card_url and agent_card_json.")
		return false
	}
	for _, key := range restricting {
		if r.seen[key] && key != "tools" {
			r.drop(line, fmt.Sprintf("The remote agent %s is restricted by %s, which cannot be enforced on a remote server.", d.Name, key), "Remove the key.")
			return false
		}
	}
	d.Remote, d.Prompt = &r.remote, ""
	if d.Description == "" {
		d.Description = "The remote agent " + d.Display() + "."
	}
	return true
}

// checkPlaceholders reports placeholders that would fail when the agent runs.
func (r *reading) checkPlaceholders(line int) {
	texts := []string{r.d.Prompt, r.d.Query}
	for _, c := range r.d.InitialMessages {
		texts = append(texts, c.Text())
	}
	known := append([]string{"query"}, ownPlaceholders...)
	for _, name := range unknownPlaceholders(texts, known) {
		r.warn(line, fmt.Sprintf("The prompt of the agent %s has the placeholder ${%s}, which has no value, so the agent cannot run.", r.d.Name, name),
			fmt.Sprintf("Write $${%s} for the text itself. The available ones are ${%s}.", name, strings.Join(known, "}, ${")))
	}
}

// member parses one key.
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
			r.drop(m.Line, fmt.Sprintf("The key %s restricts the agent a second time.", m.Key), "Remove one of the two.")
			return
		}
		r.warn(m.Line, fmt.Sprintf("The key %s is a duplicate and is ignored.", m.Key), "Remove one of the two.")
		return
	}
	r.seen[key] = true
	keys[key](r, m)
}

func (r *reading) unknownKey(m *position.Member) {
	message := fmt.Sprintf("The key %s is not known.", quoted(m.Key))
	if r.d.Source.Claude && r.claudeKey(m) {
		return
	}
	if because, ok := foreignKeys[folded(m.Key)]; ok {
		r.warn(m.Line, fmt.Sprintf("The key %s is not used: %s.", m.Key, because), "")
		return
	}
	var all []string
	for k := range keys {
		all = append(all, k)
	}
	remedy := "Remove it."
	near := nearest(m.Key, all)
	if near != "" {
		remedy = fmt.Sprintf("Did you mean %s?", near)
	}
	if slices.Contains(restricting, near) || slices.Contains(foreignRestrictions, folded(m.Key)) || frontmatter.Restricts(m) {
		r.drop(m.Line, message+" It seems to restrict the agent, so the agent is not used without it.", remedy)
		return
	}
	r.warn(m.Line, message, remedy)
}

// invalidValue reports an invalid value that is ignored.
func (r *reading) invalidValue(m *position.Member, want string) {
	r.warn(m.Node.Line, fmt.Sprintf("The value of %s is not %s and is ignored.", m.Key, want), "")
}

func (r *reading) name(m *position.Member) {
	text, ok := m.Text()
	name := slug(text)
	if !ok || name == "" {
		r.drop(m.Line, "The name of the agent is not valid.", "Use small letters, digits, hyphens and underscores.")
		return
	}
	if strings.HasPrefix(name, mcpPrefix) {
		r.drop(m.Line, fmt.Sprintf("An agent cannot be named %s: names that begin with mcp_ are reserved for tools of MCP servers.", name), "Give it a different name.")
		return
	}
	if name != text {
		r.warn(m.Line, fmt.Sprintf("The agent's name %s is changed to %s, because names have only small letters, digits, hyphens and underscores.", quoted(text), name),
			fmt.Sprintf("Write name: %s.", name))
	}
	r.d.Name = name
}

// mcpPrefix is the prefix of names that policy treats as tools of MCP servers.
const mcpPrefix = "mcp_"

// slug converts a text to a valid name.
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
		r.drop(m.Line, "The kind of the agent is neither local nor remote.", "Write kind: local, or remove it.")
	}
}

func (r *reading) text(to *string) func(m *position.Member) {
	return func(m *position.Member) {
		text, ok := m.Text()
		if !ok {
			r.invalidValue(m, "a text")
			return
		}
		*to = strings.TrimSpace(text)
	}
}

func (r *reading) model(m *position.Member) {
	r.text(&r.d.Model)(m)
	if r.d.Model == "inherit" || r.d.Source.Claude && r.claudeModel(m) {
		r.d.Model = ""
	}
}

// number returns a finite number, also from a text.
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
		r.invalidValue(m, "a number from 0 to 2")
		return
	}
	r.d.Temperature = &f
}

func (r *reading) maxTurns(m *position.Member) {
	f, ok := number(m.Node)
	if !ok || f < 1 || f != float64(int(f)) || f > 1e6 {
		r.invalidValue(m, "a whole number above 0")
		return
	}
	r.d.MaxTurns = int(f)
}

// mostMinutes is the longest time limit: a week.
const mostMinutes = 7 * 24 * 60

func (r *reading) maxTime(m *position.Member) {
	f, ok := number(m.Node)
	if !ok || f <= 0 || f > mostMinutes {
		r.invalidValue(m, fmt.Sprintf("a number of minutes above 0 and up to %d", mostMinutes))
		return
	}
	r.d.MaxTime = time.Duration(f * float64(time.Minute))
}

// initialMessages parses turns: each is a text of the user, or a role with its text or parts.
func (r *reading) initialMessages(m *position.Member) {
	if _, ok := m.Value.([]position.Node); !ok {
		r.invalidValue(m, "a list")
		return
	}
	for _, item := range m.List() {
		if c, ok := message(item); ok {
			r.d.InitialMessages = append(r.d.InitialMessages, c)
			continue
		}
		r.warn(item.Line, "One of the initial messages has no text, or a role other than user and model, and is ignored.",
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

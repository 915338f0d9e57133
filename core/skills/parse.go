package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/frontmatter"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// Bounds of a SKILL.md.
const (
	maxFile        = 256 << 10 // bytes of the file
	maxName        = 128       // bytes
	maxDescription = 4 << 10   // bytes
)

// parse reads a SKILL.md into s, which has Path, Scope and Extension: a YAML front matter
// between lines of three hyphens, with name and description, and the instructions. It is
// lenient. Unknown keys are kept in Extra. If the YAML is invalid, which is a problem with
// its line, or has no name or description, the lines that begin with name: and
// description: are read as plain text, with the indented lines that follow. ok is false,
// with a problem that gives the reason, if there is no skill.
func (s *Skill) parse(data []byte) (problems []fault.Problem, ok bool) {
	p := &parsing{path: s.Path}
	sum := sha256.Sum256(data)
	s.Hash = hex.EncodeToString(sum[:])
	if s.Path != "" {
		s.Dir = filepath.Dir(s.Path)
	}
	ok = p.parse(data, s)
	return p.problems, ok
}

// parsing is the state of one parse.
type parsing struct {
	path     string
	problems []fault.Problem
	refused  bool // one of its restrictions is not supported
}

// restriction refuses a skill with a restriction of another program that would get lost.
func (p *parsing) restriction(m *position.Member) {
	switch {
	case !frontmatter.Restricts(m):
	case frontmatter.Fold(m.Key) == "allowedtools":
		p.refused = true
		p.fail(m.Line, "The skill is not used, because allowed-tools is not a list of tools.", "Write allowed-tools: TOOL, TOOL.")
	default:
		p.refuse(m.Line, m.Key)
	}
}

func (p *parsing) refuse(line int, key string) {
	p.refused = true
	p.fail(line, "The skill is not used, because its restriction "+escape.Clip(escape.Line(key), 60)+" is not supported.", "Remove the key if the skill may be used without it.")
}

// plainRestrictions applies restrictions in a front matter that is not valid YAML: each
// line that begins with one word and a colon, indented or not.
func (p *parsing) plainRestrictions(front string, before int, s *Skill) {
	number := before
	for line := range strings.Lines(front) {
		number++
		key, text, isKey := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case !isKey || strings.ContainsAny(key, " \t"):
		case frontmatter.RestrictsKey(key):
			p.refuse(number, key)
		case frontmatter.Fold(key) == frontmatter.Fold(userOnlyKey) && !strings.EqualFold(strings.TrimSpace(text), "false"):
			s.Extra = map[string]any{userOnlyKey: true}
		}
	}
}

func (p *parsing) warn(line int, message, remedy string) {
	p.problems = append(p.problems, fault.Problem{Path: p.path, Line: line, Message: message, Remedy: remedy})
}

// fail reports the problem that invalidates the skill.
func (p *parsing) fail(line int, message, remedy string) bool {
	p.problems = append(p.problems, fault.Problem{Path: p.path, Line: line, Message: message, Remedy: remedy, Severity: fault.SeverityError})
	return false
}

func (p *parsing) parse(data []byte, s *Skill) bool {
	if len(data) > maxFile {
		return p.fail(0, fmt.Sprintf("The skill has more than %d KiB and was not read.", maxFile>>10),
			"Move details into other files of its directory, and name them in the SKILL.md.")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return p.fail(0, "The skill is no text in UTF-8.", "Save it as UTF-8.")
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	front, before, body, found := frontmatter.Split(text)
	if !found {
		return p.fail(1, "The skill has no front matter: its first line must be three hyphens, and another such line must follow.",
			"Begin the file with lines of ---, name: …, description: …, ---.")
	}
	s.Body = strings.TrimSpace(body)
	p.front(front, before, s)
	if p.refused {
		return false
	}
	switch {
	case s.Name == "":
		return p.fail(before+1, "The skill has no name.", "Add a line name: NAME to its front matter.")
	case s.Description == "":
		return p.fail(before+1, fmt.Sprintf("The skill %q has no description, by which it is chosen.", s.Name),
			"Add a line description: WHAT IT DOES AND WHEN TO USE IT.")
	}
	if len(s.Description) > maxDescription {
		s.Description = escape.Head(s.Description, maxDescription)
		p.warn(before+1, fmt.Sprintf("The description of the skill %q has more than %d KiB and was cut.", s.Name, maxDescription>>10), "Move details into its body.")
	}
	return true
}

// front reads name, description and the other keys.
func (p *parsing) front(front string, before int, s *Skill) {
	root, err := frontmatter.ParseYAML(front, before)
	if err != nil {
		e := position.As(err)
		p.warn(e.Line, fmt.Sprintf("The front matter is not valid YAML: %s. Its lines were taken as they stand.", strings.TrimSuffix(e.Message, ".")),
			"Correct it; a text that has a colon and a blank, or begins with a sign, needs quotes.")
		p.plainRestrictions(front, before, s)
	}
	nameLine, named := before+1, ""
	for _, m := range root.Members() {
		text, isText := m.Text()
		switch key := strings.ToLower(m.Key); {
		case key == "name" && isText:
			named, nameLine = text, m.Line
		case key == "description" && isText:
			s.Description = escape.OneLine(text)
		default:
			p.restriction(m)
			if s.Extra == nil {
				s.Extra = map[string]any{}
			}
			s.Extra[m.Key] = m.Plain()
		}
	}
	if strings.TrimSpace(named) == "" || s.Description == "" {
		lines := plainLines(front)
		if l, ok := lines["name"]; ok && strings.TrimSpace(named) == "" {
			named, nameLine = l.text, before+l.number
		}
		if l, ok := lines["description"]; ok && s.Description == "" {
			s.Description = l.text
		}
	}
	s.Name = cleanName(named)
	if s.Name != strings.TrimSpace(named) && s.Name != "" {
		p.warn(nameLine, fmt.Sprintf("The name of the skill, %q, is written %q here.", escape.Head(named, maxName), s.Name),
			`Leave out : \ / < > * ? " | and what is no visible character.`)
	}
}

// plainLine is a value that was read without YAML.
type plainLine struct {
	text   string
	number int // 1-based, in the front matter
}

// plainLines reads lines of KEY: TEXT; indented lines continue the text. The first of
// equal keys wins.
func plainLines(front string) map[string]plainLine {
	found := map[string]plainLine{}
	last, number := "", 0
	for line := range strings.Lines(front) {
		number++
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if l, ok := found[last]; ok {
				l.text = strings.TrimSpace(l.text + " " + strings.TrimSpace(line))
				found[last] = l
			}
			continue
		}
		key, text, isKey := strings.Cut(line, ":")
		last = ""
		if key = strings.ToLower(strings.TrimSpace(key)); !isKey || key == "" {
			continue
		}
		if _, twice := found[key]; twice {
			continue
		}
		last = key
		found[key] = plainLine{unquoted(blockSign(strings.TrimSpace(text))), number}
	}
	return found
}

// blockSign removes the indicator of a block scalar.
func blockSign(text string) string {
	if strings.Trim(text, "|>+-") == "" {
		return ""
	}
	return text
}

// unquoted removes a pair of quotes.
func unquoted(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return strings.TrimSpace(text[1 : n-1])
	}
	return text
}

// cleanName returns a valid name: characters that are invalid in file names or invisible
// become hyphens, white space becomes one space, and a long name is cut.
func cleanName(text string) string {
	text = escape.OneLine(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) && r != '\v' && r != '\f':
			return ' '
		case strings.ContainsRune(`:\/<>*?"|`, r), !unicode.IsPrint(r):
			return '-'
		}
		return r
	}, strings.TrimSpace(text)))
	return strings.TrimSpace(escape.Head(text, maxName))
}

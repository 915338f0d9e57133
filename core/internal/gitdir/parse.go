package gitdir

import (
	"bytes"
	"fmt"
	"strings"
)

// Setting is a key of a git configuration with its value.
type Setting struct {
	Name       string // section, subsection and key, as in "remote.origin.url"; section and key in lower case
	Value      string // "true" for a key without a value
	File       string // absolute path of the configuration file
	Line       int    // 1-based
	Repository string // the directory of the repository's files, links resolved
	// Problem is the reason why a file cannot be read; Name and Value are "" then.
	Problem string
}

// split returns section, subsection and key of the name.
func (s Setting) split() (section, sub, key string) {
	section, rest, _ := strings.Cut(s.Name, ".")
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		return section, rest[:at], rest[at+1:]
	}
	return section, "", rest
}

// parser parses the text of a configuration as git does.
type parser struct {
	data []byte
	line int
}

// parseConfig returns the settings in the text of a configuration file, in order. An error means
// that git would reject the file, too.
func parseConfig(data []byte) ([]Setting, error) {
	p := parser{data: bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n")), line: 1}
	var all []Setting
	section := ""
	for {
		switch c := p.peek(); {
		case c == 0 && len(p.data) == 0:
			return all, nil
		case isSpace(c):
			p.next()
		case c == '#', c == ';':
			p.skipLine()
		case c == '[':
			p.next()
			name, ok := p.header()
			if !ok {
				return all, fmt.Errorf("bad section header in line %d", p.line)
			}
			section = name
		default:
			line := p.line
			key, value, ok := p.setting()
			if !ok || section == "" {
				return all, fmt.Errorf("bad setting in line %d", line)
			}
			all = append(all, Setting{Name: section + "." + key, Value: value, Line: line})
		}
	}
}

// peek returns the next byte; 0 at the end.
func (p *parser) peek() byte {
	if len(p.data) == 0 {
		return 0
	}
	return p.data[0]
}

// next returns the next byte and removes it; a newline at the end.
func (p *parser) next() byte {
	if len(p.data) == 0 {
		return '\n'
	}
	c := p.data[0]
	p.data = p.data[1:]
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *parser) skipLine() {
	for len(p.data) > 0 && p.next() != '\n' {
		continue
	}
}

// header parses a section header after its bracket.
func (p *parser) header() (string, bool) {
	var name strings.Builder
	for {
		switch c := p.next(); {
		case c == ']':
			return strings.ToLower(name.String()), name.Len() > 0
		case c == ' ' || c == '\t':
			sub, ok := p.subsection()
			return strings.ToLower(name.String()) + "." + sub, ok && name.Len() > 0
		case isKeyByte(c) || c == '.':
			name.WriteByte(c)
		default:
			return "", false
		}
	}
}

// subsection parses the quoted part of a section header, and the bracket.
func (p *parser) subsection() (string, bool) {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	if p.next() != '"' {
		return "", false
	}
	var sub strings.Builder
	for {
		c := p.next()
		switch c {
		case '\n':
			return "", false
		case '"':
			return sub.String(), p.next() == ']'
		case '\\':
			if c = p.next(); c == '\n' {
				return "", false
			}
		}
		sub.WriteByte(c)
	}
}

// setting parses a key and its value.
func (p *parser) setting() (key, value string, ok bool) {
	var name strings.Builder
	for isKeyByte(p.peek()) {
		name.WriteByte(p.next())
	}
	key = strings.ToLower(name.String())
	if key == "" || key[0] < 'a' || key[0] > 'z' {
		return "", "", false
	}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	switch p.next() {
	case '\n':
		return key, "true", true
	case '=':
		value, ok = p.value()
		return key, value, ok
	}
	return "", "", false
}

// value parses a value: white space at its ends and comments are omitted, except in quotes.
func (p *parser) value() (string, bool) {
	var value strings.Builder
	end := 0 // of the value without trailing white space
	quoted, comment := false, false
	for {
		c := p.next()
		switch {
		case c == '\n':
			return value.String()[:end], !quoted
		case comment:
			continue
		case isSpace(c) && !quoted:
			if value.Len() > 0 {
				value.WriteByte(c)
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			comment = true
			continue
		case c == '"':
			quoted = !quoted
			continue
		case c == '\\':
			c = p.next()
			at := strings.IndexByte(`tbn\"`, c)
			if c == '\n' {
				continue
			}
			if at < 0 {
				return "", false
			}
			c = "\t\b\n\\\""[at]
		}
		value.WriteByte(c)
		end = value.Len()
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}

func isKeyByte(c byte) bool {
	return c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

package discovery

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxIgnoreFile bounds the bytes read of one ignore file.
const maxIgnoreFile = 1 << 20

// ignoreRules are the lines of one .gitignore, in its order. The zero value
// ignores nothing.
type ignoreRules struct {
	rules []ignoreRule
}

type ignoreRule struct {
	pattern string // relative to the file's folder, anchored by a leading **/ if it floats
	negated bool
	dirOnly bool
}

// loadIgnoreRules reads folder/.gitignore; a missing or unreadable one
// ignores nothing.
func loadIgnoreRules(files *workspace.Workspace, folder string) *ignoreRules {
	p, err := files.Resolve(filepath.Join(folder, ".gitignore"))
	if err != nil {
		return &ignoreRules{}
	}
	f, err := files.OpenRead(p)
	if err != nil {
		return &ignoreRules{}
	}
	defer f.Close()
	if info, err := workspace.InfoOf(f); err != nil || !info.Mode.IsRegular() {
		return &ignoreRules{}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return &ignoreRules{}
	}
	return parseIgnoreRules(string(text))
}

// parseIgnoreRules reads rules as git does. Lines that are no valid pattern
// are left out.
func parseIgnoreRules(text string) *ignoreRules {
	r := &ignoreRules{}
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		var rule ignoreRule
		line, rule.negated = strings.CutPrefix(line, "!")
		line, rule.dirOnly = strings.CutSuffix(line, "/")
		if line == "" {
			continue
		}
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if !anchored {
			line = "**/" + line
		}
		if strings.HasSuffix(line, "/**") {
			line += "/*" // git: what is in the folder, not the folder itself
		}
		rule.pattern = withoutAlternatives(line)
		if doublestar.ValidatePattern(rule.pattern) {
			r.rules = append(r.rules, rule)
		}
	}
	return r
}

// withoutAlternatives escapes the braces that git takes literally and
// doublestar does not.
func withoutAlternatives(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, c := range []byte(pattern) {
		if !escaped && (c == '{' || c == '}') {
			b.WriteByte('\\')
		}
		escaped = c == '\\' && !escaped
		b.WriteByte(c)
	}
	return b.String()
}

// match reports whether the last rule that fits rel, a slash-separated path,
// ignores it.
func (r *ignoreRules) match(rel string, dir bool) bool {
	if rel == "" || rel == "." {
		return false
	}
	for i := len(r.rules) - 1; i >= 0; i-- {
		rule := r.rules[i]
		if rule.dirOnly && !dir {
			continue
		}
		if ok, _ := doublestar.Match(rule.pattern, rel); ok {
			return !rule.negated
		}
	}
	return false
}

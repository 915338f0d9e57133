package discovery

import (
	"io"
	"path"
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

func parseIgnoreRules(text string) *ignoreRules {
	r := &ignoreRules{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var rule ignoreRule
		if strings.HasPrefix(line, "!") {
			rule.negated, line = true, line[1:]
		}
		if strings.HasSuffix(line, "/") {
			rule.dirOnly, line = true, strings.TrimSuffix(line, "/")
		}
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if !anchored {
			line = "**/" + line
		}
		rule.pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
		if doublestar.ValidatePattern(rule.pattern) {
			r.rules = append(r.rules, rule)
		}
	}
	return r
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
		if ok, _ := doublestar.Match(rule.pattern, path.Clean(rel)); ok {
			return !rule.negated
		}
	}
	return false
}

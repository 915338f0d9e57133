package discovery

import "strings"

// ruleFile is an ignore file, with its rules sorted for matching.
type ruleFile struct {
	source string // absolute path, for messages
	base   string // directory of anchored rules, relative to the workspace directory with slashes; "" is that itself
	prefix string // path from the ignore file's directory to the workspace directory, if the file is above it
	rules  []rule

	byName   map[string][]int // floating rules with plain names, last first
	floating []int            // other floating rules, last first
	anchored []int            // rules that do not float, last first
}

// newRuleFile parses text; nil if it contains no rule.
func newRuleFile(source, base, text string) *ruleFile {
	f := &ruleFile{source: source, base: base, rules: parseRules(text)}
	for i := len(f.rules) - 1; i >= 0; i-- {
		r := &f.rules[i]
		switch {
		case !r.floating:
			f.anchored = append(f.anchored, i)
		case r.wild == nil && r.suffix == "":
			if f.byName == nil {
				f.byName = make(map[string][]int)
			}
			f.byName[r.literal] = append(f.byName[r.literal], i)
		default:
			f.floating = append(f.floating, i)
		}
	}
	if len(f.rules) == 0 {
		return nil
	}
	return f
}

// level is an ignore file as seen from one directory: with the anchored rules that may apply in or
// below it.
type level struct {
	*ruleFile
	anchored []int
}

// from returns the level as seen from dir, a directory below that of l.
func (l level) from(dir string) level {
	below, ok := l.below(dir)
	if !ok {
		return level{ruleFile: l.ruleFile}
	}
	for i, index := range l.anchored {
		if l.rules[index].mayReach(below) {
			continue
		}
		kept := append([]int(nil), l.anchored[:i]...)
		for _, index := range l.anchored[i+1:] {
			if l.rules[index].mayReach(below) {
				kept = append(kept, index)
			}
		}
		return level{l.ruleFile, kept}
	}
	return l
}

// match returns the last rule for name in the directory dir, or nil.
func (l level) match(dir, name string, isDir bool) *rule {
	best := -1
	for _, i := range l.byName[name] {
		if !l.rules[i].dirOnly || isDir {
			best = i
			break
		}
	}
	for _, i := range l.floating {
		if i < best {
			break
		}
		if l.rules[i].matches(name, isDir) {
			best = i
			break
		}
	}
	if len(l.anchored) > 0 && l.anchored[0] > best {
		if below, ok := l.below(dir); ok {
			path := join(below, name)
			for _, i := range l.anchored {
				if i < best {
					break
				}
				if l.rules[i].matches(path, isDir) {
					best = i
					break
				}
			}
		}
	}
	if best < 0 {
		return nil
	}
	return &l.rules[best]
}

// below returns dir, which is relative to the workspace directory, relative to the directory of
// anchored rules.
func (f *ruleFile) below(dir string) (rel string, ok bool) {
	switch {
	case f.prefix == "":
		return relativeTo(f.base, dir)
	case dir == "":
		return f.prefix, true
	}
	return join(f.prefix, dir), true
}

// relativeTo returns dir relative to base, both relative to the workspace directory ("" is that
// itself).
func relativeTo(base, dir string) (rel string, ok bool) {
	if base == "" {
		return dir, true
	}
	rest, ok := strings.CutPrefix(dir, base)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "", true
	case rest[0] == '/':
		return rest[1:], true
	}
	return "", false
}

// join joins two cleaned relative paths with a slash; "" is no element.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// empty reports whether l has no rule for files below its directory.
func (l level) empty() bool {
	return len(l.anchored) == 0 && len(l.floating) == 0 && len(l.byName) == 0
}

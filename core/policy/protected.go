package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// protected returns the row of a changed protected file, which autoEdit does not
// cover, or nil if there is none. The plans directory is not protected.
func (t *trial) protected() *ProtectedPath {
	for _, path := range t.changed() {
		row := t.leadsToProtected(path)
		if row == nil {
			continue
		}
		if t.plansFile() {
			return nil
		}
		return row
	}
	return nil
}

// Protects reports whether an absolute path without links is a protected path of
// the engine. The names of the given workspace directories themselves protect
// nothing.
func (e *Engine) Protects(path string, roots []string) bool {
	c := Call{Roots: roots}
	return e.protects.find(path, c.ownNames(path)) != nil
}

// leadsToProtected returns the row of an absolute path, by its text or by its
// target; nil if there is none.
func (t *trial) leadsToProtected(path string) *ProtectedPath {
	if row := t.protects.find(path, t.call.ownNames(path)); row != nil {
		return row
	}
	if real := t.call.follow(path); real != path {
		return t.protects.find(real, t.call.ownNames(real))
	}
	return nil
}

// ownNames returns the number of bytes of an absolute path that name a workspace
// directory: its own name protects nothing, unless it lies in a repository.
func (c *Call) ownNames(path string) int {
	most := 0
	for _, root := range c.anchors() {
		if len(root) > most && beneath(root, path) && !slices.Contains(strings.Split(fold(filepath.ToSlash(root)), "/"), ".git") {
			most = len(root)
		}
	}
	return most
}

// named returns the absolute paths that a call's arguments name.
func (t *trial) named() []string {
	var paths []string
	for _, key := range pathKeys {
		if path := t.args.text(key); path != "" {
			paths = append(paths, t.call.absolute(path))
		}
	}
	return paths
}

// changed returns the absolute paths that a call of kind edit may change: those
// that it names or, if it names none, each of its texts.
func (t *trial) changed() []string {
	paths := t.named()
	for _, key := range listKeys {
		paths = t.appendTexts(paths, t.args.value(key))
	}
	if len(paths) == 0 {
		paths = t.appendTexts(paths, t.args.object())
	}
	return paths
}

// appendTexts appends the texts in an argument that may be paths.
func (t *trial) appendTexts(paths []string, value any) []string {
	switch v := value.(type) {
	case string:
		if mayBePath(v) {
			paths = append(paths, t.call.absolute(v))
		}
	case []any:
		for _, e := range v {
			paths = t.appendTexts(paths, e)
		}
	case map[string]any:
		for _, e := range v {
			paths = t.appendTexts(paths, e)
		}
	}
	return paths
}

// mayBePath reports whether s could be a file name on some system.
func mayBePath(s string) bool {
	const longestPath, longestName = 4096, 255
	if s == "" || len(s) > longestPath || strings.ContainsAny(s, "\n\x00") {
		return false
	}
	for name := range strings.SplitSeq(s, "/") {
		if len(name) > longestName {
			return false
		}
	}
	return true
}

// protects is the table of protected paths, with the rows of one engine. The cost
// of a search depends on the path, not on the table.
type protects struct {
	own func() *protectedIndex // created on first use; nil: none
}

// protectedIndex contains rows in searchable form.
type protectedIndex struct {
	byName   map[string][]protectedName // by the last name, folded
	stems    map[byte][]protectedName   // those with a *, by their first byte; 0: the * is first
	absolute []protectedName
	inOrder  []protectedName // except absolute ones
}

// protectedName is one name of a row.
type protectedName struct {
	row        *ProtectedPath
	stem, ends string   // of the last name, around the *
	open       bool     // there is a *
	before     []string // the names before the last, the nearest first
	dir        string   // absolute
}

// protectedTable returns the table alone, which all engines share.
var protectedTable = sync.OnceValue(func() *protectedIndex { return newProtectedIndex(protectedRows) })

func newProtects(rows []ProtectedPath) protects {
	if len(rows) == 0 {
		return protects{}
	}
	return protects{own: sync.OnceValue(func() *protectedIndex { return newProtectedIndex(rows) })}
}

// find returns the row of a path, or of a directory above it; nil if there is
// none. Names in the first from bytes are ignored.
func (p protects) find(file string, from int) *ProtectedPath {
	cleaned := filepath.Clean(file)
	if cleaned != file {
		from = min(from, len(cleaned))
	}
	start := len(fold(cleaned[:from]))
	file = fold(cleaned)
	if row := protectedTable().find(file, start); row != nil || p.own == nil {
		return row
	}
	return p.own().find(file, start)
}

// mayMatch returns a row with a name that one of bash's patterns may match. A
// pattern matches a name that begins with a dot only if it begins with a dot
// itself, or with hidden. Of other names, only those that it partly spells count:
// *.md matches none.
func (p protects) mayMatch(pattern string, hidden bool) *ProtectedPath {
	if row := protectedTable().mayMatch(pattern, hidden); row != nil || p.own == nil {
		return row
	}
	return p.own().mayMatch(pattern, hidden)
}

func newProtectedIndex(rows []ProtectedPath) *protectedIndex {
	p := &protectedIndex{byName: make(map[string][]protectedName), stems: make(map[byte][]protectedName)}
	for i := range rows {
		for _, given := range rows[i].Names {
			n := protectedName{row: &rows[i]}
			if filepath.IsAbs(given) {
				n.dir = fold(filepath.Clean(given))
				p.absolute = append(p.absolute, n)
				continue
			}
			names := strings.Split(fold(given), "/")
			last := names[len(names)-1]
			n.before = names[:len(names)-1]
			slices.Reverse(n.before)
			n.stem, n.ends, n.open = strings.Cut(last, "*")
			p.inOrder = append(p.inOrder, n)
			if n.open {
				p.stems[firstByte(n.stem)] = append(p.stems[firstByte(n.stem)], n)
			} else {
				p.byName[last] = append(p.byName[last], n)
			}
		}
	}
	return p
}

func (p *protectedIndex) find(file string, start int) *ProtectedPath {
	for _, n := range p.absolute {
		if beneath(n.dir, file) {
			return n.row
		}
	}
	file = filepath.ToSlash(file)
	for start < len(file) {
		end := strings.IndexByte(file[start:], '/')
		if end < 0 {
			end = len(file) - start
		}
		if row := p.named(file[:start], file[start:start+end]); row != nil {
			return row
		}
		start += end + 1
	}
	return nil
}

// named returns the row of a name after a path.
func (p *protectedIndex) named(before, name string) *ProtectedPath {
	for _, n := range p.byName[name] {
		if n.follows(before) {
			return n.row
		}
	}
	for _, first := range [...]byte{firstByte(name), 0} {
		for _, n := range p.stems[first] {
			if len(name) >= len(n.stem)+len(n.ends) && strings.HasPrefix(name, n.stem) && strings.HasSuffix(name, n.ends) && n.follows(before) {
				return n.row
			}
		}
	}
	return nil
}

// above returns a row of several names whose first ones end a path, as .github
// for .github/workflows; nil if there is none.
func (p protects) above(file string) *ProtectedPath {
	file = filepath.ToSlash(fold(filepath.Clean(file)))
	for _, index := range []func() *protectedIndex{protectedTable, p.own} {
		if index == nil {
			continue
		}
		for _, n := range index().inOrder {
			for k := range n.before {
				if base := (protectedName{before: n.before[k:]}); base.follows(file) {
					return n.row
				}
			}
		}
	}
	return nil
}

// firstByte returns the first byte of a name, 0 for "".
func firstByte(name string) byte {
	if name == "" {
		return 0
	}
	return name[0]
}

// follows reports whether a path ends with the names before the last.
func (n *protectedName) follows(before string) bool {
	for _, name := range n.before {
		before = strings.TrimSuffix(before, "/")
		if path.Base(before) != name {
			return false
		}
		before = before[:len(before)-len(name)]
	}
	return true
}

// laterReason explains why a change of a protected path requires approval.
func laterReason(what string, row *ProtectedPath) string {
	return what + " a file that decides what runs later, of " + row.What + ": " + row.Why + "."
}

func (p *protectedIndex) mayMatch(pattern string, hidden bool) *ProtectedPath {
	const enough = 4
	literal := strings.NewReplacer("*", "", "?", "", "[", "", "]", "")
	for name := range strings.SplitSeq(fold(filepath.ToSlash(pattern)), "/") {
		if at := extGlob(name); at >= 0 {
			name = name[:at] + "*"
		}
		literals := len(literal.Replace(name))
		if literals == len(name) {
			continue
		}
		dots, plain := name, !strings.HasPrefix(name, "*.") && literals >= enough
		switch first := name[0]; {
		case first == '.':
			plain = false
		case !hidden || strings.IndexByte("*?[", first) < 0:
			dots = ""
		case strings.HasPrefix(name, "*."): // of these, only names that it spells from the dot on
			dots = name[1:]
		}
		for _, n := range p.inOrder {
			use := dots
			if n.stem == "" || n.stem[0] != '.' && !plain {
				continue
			} else if n.stem[0] != '.' {
				use = name
			}
			if use != "" && (n.open && mayBegin(use, n.stem) || !n.open && mayBe(use, n.stem)) {
				return n.row
			}
		}
	}
	return nil
}

// extGlob returns the index of the first extended pattern in a name, such as
// @(a|b); -1 if there is none.
func extGlob(name string) int {
	for i := 1; i < len(name); i++ {
		if name[i] == '(' && strings.IndexByte("?*+@!", name[i-1]) >= 0 {
			return i - 1
		}
	}
	return -1
}

// mayBe reports whether a pattern matches a name, or is invalid.
func mayBe(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}

// mayBegin reports whether a pattern matches a name with a prefix.
func mayBegin(pattern, stem string) bool {
	for n := range len(pattern) {
		if mayBe(pattern[:n+1], stem) {
			return true
		}
	}
	return false
}

// fold maps names to one form that a file system may treat as equal: without
// letter case, and without characters that some file systems ignore.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Cf, r) {
					return -1
				}
				return unicode.ToLower(unicode.ToUpper(r))
			}, s)
		}
	}
	return strings.ToLower(s)
}

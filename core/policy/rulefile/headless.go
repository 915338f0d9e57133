package rulefile

import (
	"github.com/fettle-dev/fettle/core/internal/editdistance"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// headless makes up for a rule or a checker whose keys stand at the top of the
// file because their header is missing.
func (r *reader) headless(root *position.Table) {
	alone := &position.Table{}
	for _, e := range root.Members {
		switch e.Key {
		case ruleTable, checkerTable, testTable:
			continue
		}
		if e.Header == "" {
			alone.Add(e)
			if alone.Line == 0 {
				alone.Line = e.Line
			}
		}
	}
	if kind := looksLike(alone); kind != "" {
		r.makeUp(kind, alone)
	}
}

// makeUpBelow makes up for what looks like rules and checkers in a value that
// nobody reads, at any depth. kind is what the value's own name resembles; ""
// for nothing. It returns what has been found, "" for nothing.
func (r *reader) makeUpBelow(kind string, value any) (found string) {
	switch v := value.(type) {
	case []position.Node:
		for _, item := range v {
			if f := r.makeUpBelow(kind, item.Value); f != "" {
				found = f
			}
		}
	case *position.Table:
		if kind == "" {
			kind = looksLike(v)
		}
		if kind != "" {
			r.makeUp(kind, v)
			return kind
		}
		for _, e := range v.Members {
			if f := r.makeUpBelow(nearestKey(e.Key, []string{ruleTable, checkerTable, testTable}), e.Value); f != "" {
				found = f
			}
		}
	}
	return found
}

// looksLike tells from its keys what a table may be meant for; "" for nothing.
func looksLike(t *position.Table) (kind string) {
	for _, e := range t.Members {
		switch belongs(e) {
		case checkerTable:
			return checkerTable
		case ruleTable:
			kind = ruleTable
		}
	}
	return kind
}

// belongs tells which tables a key is one of; "" for none.
func belongs(e *position.Member) string {
	near := func(keys ...string) bool {
		for _, key := range keys {
			if editdistance.Of([]rune(folded(e.Key)), []rune(folded(key))) <= 1 {
				return true
			}
		}
		return false
	}
	switch {
	case near("checker"):
		return checkerTable
	case near("decision", "toolName", "tool", "mcpName", "commandPrefix", "commandRegex", "argsPattern", "denyMessage", "allowRedirection", "toolAnnotations"):
		return ruleTable
	}
	return ""
}

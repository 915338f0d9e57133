package rulefile

import (
	"github.com/fettle-dev/fettle/core/internal/editdistance"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// missingHeader adds stand-ins for a rule or checker whose keys are at the top of the file
// because the header is missing.
func (r *reader) missingHeader(root *position.Table) {
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
		r.addStandIns(kind, alone)
	}
}

// addStandInsBelow adds stand-ins for values that look like rules or checkers in an unknown
// key, at any depth. kind is the kind that the key's own name resembles, "" for none. It
// returns the kind found, "" for none.
func (r *reader) addStandInsBelow(kind string, value any) (found string) {
	switch v := value.(type) {
	case []position.Node:
		for _, item := range v {
			if f := r.addStandInsBelow(kind, item.Value); f != "" {
				found = f
			}
		}
	case *position.Table:
		if kind == "" {
			kind = looksLike(v)
		}
		if kind != "" {
			r.addStandIns(kind, v)
			return kind
		}
		for _, e := range v.Members {
			if f := r.addStandInsBelow(nearestKey(e.Key, []string{ruleTable, checkerTable, testTable}), e.Value); f != "" {
				found = f
			}
		}
	}
	return found
}

// looksLike infers the kind of a table from its keys; "" for none.
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

// belongs returns the kind of table that a key belongs to; "" for none.
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

package rulefile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// fields reads the keys of one table and reports their problems.
type fields struct {
	r       *reader
	t       *position.Table
	under   string          // prefix of a nested table, with the dot, as "checker."
	effect  string          // effect of a problem on the rule, checker or test, as a sentence
	seen    map[string]bool // known keys
	invalid bool            // a problem was reported
}

func (r *reader) fields(t *position.Table, under, effect string) *fields {
	return &fields{r: r, t: t, under: under, effect: effect, seen: make(map[string]bool)}
}

// fail reports a problem that drops the rule, checker or test.
func (f *fields) fail(line int, key string, kind Kind, message, remedy string) {
	f.invalid = true
	f.r.report(line, f.name(key), kind, Error, message+" "+f.effect, remedy)
}

func (f *fields) warn(line int, key string, kind Kind, message, remedy string) {
	f.r.report(line, f.name(key), kind, Warning, message, remedy)
}

func (f *fields) name(key string) string {
	if key == "" {
		return strings.TrimSuffix(f.under, ".")
	}
	return f.under + clip(key)
}

// get returns the member of a key with these spellings, of which the first takes
// precedence; nil if there is none.
func (f *fields) get(spellings ...string) *position.Member {
	var found *position.Member
	reported := f.seen[spellings[0]]
	for _, key := range spellings {
		f.seen[key] = true
		e := f.t.Find(key)
		switch {
		case e == nil:
		case found == nil:
			found = e
		default:
			if !reported {
				f.warn(e.Line, key, KindSpelling,
					fmt.Sprintf("%s and %s are the same key; %s applies.", found.Key, key, found.Key), "Remove one of them.")
			}
		}
	}
	return found
}

// wrong reports a value of the wrong type.
func (f *fields) wrong(e *position.Member, line int, value any, wanted string) {
	f.fail(line, e.Key, KindSchema, fmt.Sprintf("It is %s, and must be %s.", describe(value), wanted), "")
}

// text reads a string that is not blank. It returns "" without one.
func (f *fields) text(spellings ...string) string {
	e := f.get(spellings...)
	if e == nil {
		return ""
	}
	s, ok := e.Value.(string)
	switch {
	case !ok:
		f.wrong(e, e.Line, e.Value, "a string")
	case strings.TrimSpace(s) == "":
		f.fail(e.Line, e.Key, KindSchema, "It is empty.", "Remove the key, or give it a value.")
	default:
		return s
	}
	return ""
}

// line reads a string of one line without control characters.
func (f *fields) line(spellings ...string) string {
	s := f.text(spellings...)
	if strings.ContainsFunc(s, unicode.IsControl) {
		e := f.get(spellings...)
		f.fail(e.Line, e.Key, KindSchema, "It contains a line break or another control character.", "")
		return ""
	}
	return s
}

// texts reads an array of strings, none of them blank. With single, a string is accepted
// as an array of one; with empty, an array may be empty. It returns nil if the key is
// missing or an item is invalid.
func (f *fields) texts(single, empty bool, spellings ...string) []string {
	e := f.get(spellings...)
	if e == nil {
		return nil
	}
	wanted := "an array of strings"
	if single {
		wanted = "a string or an array of strings"
	}
	if s, ok := e.Value.(string); ok && single {
		if strings.TrimSpace(s) == "" {
			f.fail(e.Line, e.Key, KindSchema, "It is empty.", "Remove the key, or give it a value.")
			return nil
		}
		return []string{s}
	}
	items, ok := e.Value.([]position.Node)
	if !ok {
		f.wrong(e, e.Line, e.Value, wanted)
		return nil
	}
	if len(items) == 0 && !empty {
		f.fail(e.Line, e.Key, KindSchema, "The array is empty.", "Remove the key, or give it a value.")
		return nil
	}
	var out []string
	wrong := false
	for _, item := range items {
		s, ok := item.Value.(string)
		wrong = wrong || !ok || strings.TrimSpace(s) == ""
		switch {
		case !ok:
			f.fail(item.Line, e.Key, KindSchema, fmt.Sprintf("It contains %s, and must be %s.", describe(item.Value), wanted), "")
		case strings.TrimSpace(s) == "":
			f.fail(item.Line, e.Key, KindSchema, "It contains an empty string.", "")
		default:
			out = append(out, s)
		}
	}
	if wrong {
		return nil
	}
	return out
}

// flag reads a boolean; nil without one.
func (f *fields) flag(spellings ...string) *bool {
	e := f.get(spellings...)
	if e == nil {
		return nil
	}
	b, ok := e.Value.(bool)
	if !ok {
		f.wrong(e, e.Line, e.Value, "true or false")
		return nil
	}
	return &b
}

// integer reads an integer; ok is false without one.
func (f *fields) integer(spellings ...string) (n int64, ok bool) {
	e := f.get(spellings...)
	if e == nil {
		return 0, false
	}
	n, ok = e.Value.(int64)
	if !ok {
		f.wrong(e, e.Line, e.Value, "an integer")
	}
	return n, ok
}

// choice reads one of the given words.
func (f *fields) choice(words []string, spellings ...string) string {
	s := f.text(spellings...)
	if s == "" || slices.Contains(words, s) {
		return s
	}
	e := f.get(spellings...)
	f.badChoice(e.Line, e.Key, s, words)
	return ""
}

func (f *fields) badChoice(line int, key, got string, words []string) {
	remedy := "Use one of " + strings.Join(words, ", ") + "."
	if nearest := nearestKey(got, words); nearest != "" {
		remedy = "Did you mean " + nearest + "? " + remedy
	}
	f.fail(line, key, KindSchema, quote(got)+" is not a valid value.", remedy)
}

func (f *fields) badMode(line int, key, got string) {
	var names []string
	for _, m := range policy.Modes() {
		names = append(names, m.String())
	}
	f.badChoice(line, key, got, names)
}

// settings reads a table of arbitrary keys and values; nil without one.
func (f *fields) settings(spellings ...string) map[string]any {
	e := f.get(spellings...)
	if e == nil {
		return nil
	}
	t, ok := e.Value.(*position.Table)
	if !ok {
		f.wrong(e, e.Line, e.Value, "a table")
		return nil
	}
	return t.Plain()
}

// need reports required keys that are missing.
func (f *fields) need(keys ...string) {
	for _, key := range keys {
		if f.t.Find(key) == nil {
			f.fail(f.t.Line, key, KindSchema, "The key is missing.", "")
		}
	}
}

// unknown returns the members whose keys are unknown.
func (f *fields) unknown() []*position.Member {
	var out []*position.Member
	for _, e := range f.t.Members {
		if !f.seen[e.Key] {
			out = append(out, e)
		}
	}
	return out
}

// known returns the known keys, sorted.
func (f *fields) known() []string {
	keys := make([]string, 0, len(f.seen))
	for key := range f.seen {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// describe names the type of a value in messages.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "the integer " + strconv.FormatInt(v, 10)
	case float64:
		return "the number " + strconv.FormatFloat(v, 'g', -1, 64)
	case position.Time:
		return "a date or time"
	case []position.Node:
		return "an array"
	}
	return "a table"
}

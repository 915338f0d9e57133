package rulefile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/position"
)

// fields reads the keys of one table and reports what is wrong with them.
type fields struct {
	r     *reader
	t     *position.Table
	under string          // of a table in the table, with its dot, as "checker."
	lost  string          // what a mistake does to what the table stands for, as a sentence
	asked map[string]bool // keys that somebody reads
	spoil bool            // a mistake was reported
}

func (r *reader) fields(t *position.Table, under, lost string) *fields {
	return &fields{r: r, t: t, under: under, lost: lost, asked: make(map[string]bool)}
}

// fail reports a mistake that drops what the table stands for.
func (f *fields) fail(line int, key string, kind Kind, message, remedy string) {
	f.spoil = true
	f.r.report(line, f.name(key), kind, Error, message+" "+f.lost, remedy)
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

// get returns the entry of a key that has these spellings, the first of which
// wins; nil if there is none.
func (f *fields) get(spellings ...string) *position.Member {
	var found *position.Member
	told := f.asked[spellings[0]]
	for _, key := range spellings {
		f.asked[key] = true
		e := f.t.Find(key)
		switch {
		case e == nil:
		case found == nil:
			found = e
		default:
			if !told {
				f.warn(e.Line, key, KindSpelling,
					fmt.Sprintf("%s and %s are the same key, and %s holds.", found.Key, key, found.Key), "Remove one of them.")
			}
		}
	}
	return found
}

// wrong reports a value of the wrong type.
func (f *fields) wrong(e *position.Member, line int, value any, wanted string) {
	f.fail(line, e.Key, KindSchema, fmt.Sprintf("It is %s, and must be %s.", describe(value), wanted), "")
}

// text reads a string that is not empty. It returns "" without one.
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
		f.fail(e.Line, e.Key, KindSchema, "It is empty.", "Remove the key, or say what it stands for.")
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
		f.fail(e.Line, e.Key, KindSchema, "It holds a line break or another control character.", "")
		return ""
	}
	return s
}

// texts reads an array of strings, none of them empty; a single string counts
// as an array of one if single. It returns nil without one, or if one of them
// is wrong. empty says that an array may be empty.
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
			f.fail(e.Line, e.Key, KindSchema, "It is empty.", "Remove the key, or say what it stands for.")
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
		f.fail(e.Line, e.Key, KindSchema, "The array is empty.", "Remove the key, or say what it stands for.")
		return nil
	}
	var out []string
	wrong := false
	for _, item := range items {
		s, ok := item.Value.(string)
		wrong = wrong || !ok || strings.TrimSpace(s) == ""
		switch {
		case !ok:
			f.fail(item.Line, e.Key, KindSchema, fmt.Sprintf("It holds %s, and must be %s.", describe(item.Value), wanted), "")
		case strings.TrimSpace(s) == "":
			f.fail(item.Line, e.Key, KindSchema, "It holds an empty string.", "")
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

// integer reads a whole number; ok is false without one.
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

// choice reads one of some words.
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
		remedy = "Is " + nearest + " meant? " + remedy
	}
	f.fail(line, key, KindSchema, quote(got)+" is not a value of it.", remedy)
}

// settings reads a table of any keys and values; nil without one.
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

// need reports keys that must be there and are not.
func (f *fields) need(keys ...string) {
	for _, key := range keys {
		if f.t.Find(key) == nil {
			f.fail(f.t.Line, key, KindSchema, "The key is missing.", "")
		}
	}
}

// unknown returns the entries that nobody has asked for.
func (f *fields) unknown() []*position.Member {
	var out []*position.Member
	for _, e := range f.t.Members {
		if !f.asked[e.Key] {
			out = append(out, e)
		}
	}
	return out
}

// known returns the keys that somebody reads, sorted.
func (f *fields) known() []string {
	keys := make([]string, 0, len(f.asked))
	for key := range f.asked {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// describe names a value's type for people.
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

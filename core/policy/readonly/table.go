package readonly

import (
	_ "embed" // the table
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed table.txt
var text string

// Row is a program, or a subcommand of one, that changes nothing.
type Row struct {
	Names    []string // "git log" is a subcommand
	Source   string   // where the options are documented
	Note     string   // the omitted uses of the program; "" for none of interest
	Options  []Option // in the order of the table
	Operands string   // their kinds, for display

	operands []operand
	flags    []string
	options  map[string]*Option
	bare     bool // one of the options is required
}

// Option is a harmless option in its exact spelling.
type Option struct {
	Name     string
	Values   []string // the kinds of its values; empty: it takes none
	Optional bool     // the value, if any, is in the same word
	Marks    []string // see the head of the table
}

// operand is one kind in the list of a row.
type operand struct {
	kind     string
	any      bool // any number of them
	optional bool
}

// Rows returns the rows in the order of the table. They must not be modified.
func Rows() []*Row { return table().rows }

type tableIndex struct {
	rows  []*Row
	names map[string]*Row
}

// table returns the table, which is parsed once.
var table = sync.OnceValue(func() tableIndex {
	t, err := parse(text)
	if err != nil {
		panic("policy/readonly: " + err.Error()) // a mistake in the program
	}
	return t
})

// parse parses a table.
func parse(text string) (tableIndex, error) {
	t := tableIndex{names: map[string]*Row{}}
	var row *Row
	number := 0
	for line := range strings.Lines(text) {
		number++
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == "" || key == "#" || key[0] == '#' {
			continue
		}
		if row == nil && key != "program" {
			return t, fmt.Errorf("line %d: no program", number)
		}
		if err := t.key(&row, key, value); err != nil {
			return t, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return t, nil
}

// key applies a line of the table.
func (t *tableIndex) key(row **Row, key, value string) error {
	switch r := *row; key {
	case "program":
		r = &Row{options: map[string]*Option{}}
		*row = r
		t.rows = append(t.rows, r)
		words := strings.Fields(value)
		program := ""
		if slices.Contains([]string{"git", "go"}, words[0]) && len(words) > 1 {
			program, words = words[0]+" ", words[1:]
			if words[0] == "remote" || words[0] == "stash" || words[0] == "worktree" || words[0] == "config" || words[0] == "reflog" {
				words = []string{strings.Join(words, " ")}
			}
		}
		for _, name := range words {
			if name = program + name; t.names[name] != nil {
				return fmt.Errorf("%s has two rows", name)
			}
			r.Names = append(r.Names, name)
			t.names[name] = r
		}
	case "source":
		r.Source, r.Note, _ = strings.Cut(strings.TrimSuffix(value, ")"), " (")
		if r.Note == "" {
			r.Source = value
		}
	case "like":
		other := t.names[value]
		if other == nil {
			return fmt.Errorf("there is no row %s before", value)
		}
		for _, o := range other.Options {
			r.add(o)
		}
		r.Operands, r.operands, r.flags, r.bare = other.Operands, other.operands, other.flags, other.bare
	case "options":
		for spec := range strings.FieldsSeq(value) {
			o := option(spec)
			if r.options[o.Name] != nil {
				return fmt.Errorf("%s is listed twice", o.Name)
			}
			r.add(o)
		}
	case "operands":
		r.Operands, r.operands = value, nil
		for kind := range strings.FieldsSeq(value) {
			o := operand{kind: strings.TrimRight(kind, "*?"), any: strings.HasSuffix(kind, "*"), optional: strings.HasSuffix(kind, "?")}
			if o.kind != "none" {
				r.operands = append(r.operands, o)
			}
		}
	case "flags":
		r.flags = strings.Fields(value)
	default:
		return fmt.Errorf("unknown key %s", key)
	}
	return nil
}

func (r *Row) add(o Option) {
	r.Options = append(r.Options, o)
	r.options[o.Name] = &o
	r.bare = r.bare || o.is("bare")
}

// option parses the notation of an option.
func option(spec string) Option {
	marks := strings.Split(spec, "!")
	name := marks[0]
	o := Option{Marks: marks[1:]}
	if at := strings.IndexByte(name, ':'); at > 0 {
		kinds := name[at+1:]
		name = name[:at]
		if strings.HasSuffix(name, "[") {
			name, kinds, o.Optional = name[:at-1], strings.TrimSuffix(kinds, "]"), true
		}
		o.Values = strings.Split(kinds, ",")
	}
	o.Name = name
	return o
}

// is reports whether an option has a mark.
func (o *Option) is(mark string) bool { return slices.Contains(o.Marks, mark) }

// Is reports whether a row has a flag.
func (r *Row) Is(flag string) bool { return slices.Contains(r.flags, flag) }

// Find returns the row of a program, or of a subcommand such as "git log"; nil if
// there is none.
func Find(name string) *Row { return table().names[name] }

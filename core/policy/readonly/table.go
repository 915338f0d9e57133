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
func Rows() []*Row {
	t := table()
	rows := make([]*Row, len(t.blocks))
	for i := range t.blocks {
		rows[i] = t.row(i)
	}
	return rows
}

// Find returns the row of a program, or of a subcommand such as "git log"; nil if
// there is none.
func Find(name string) *Row {
	t := table()
	if i, ok := t.names[name]; ok {
		return t.row(i)
	}
	return nil
}

// tableIndex is the table, whose rows are parsed at their first use: a command line
// needs few of them.
type tableIndex struct {
	blocks []block
	names  map[string]int // of programs and subcommands: the block
}

// block is the text of a row.
type block struct {
	names []string
	text  string // the lines below the names
	once  sync.Once
	row   *Row
}

// table returns the table, which is divided into blocks once.
var table = sync.OnceValue(func() *tableIndex {
	t, err := divide(text)
	if err != nil {
		panic("policy/readonly: " + err.Error()) // a mistake in the program
	}
	return t
})

// divide divides a table into its blocks.
func divide(text string) (*tableIndex, error) {
	const start = "program "
	count := strings.Count(text, "\n"+start) + 1
	t := &tableIndex{blocks: make([]block, 0, count), names: make(map[string]int, 2*count)}
	begin := 0 // of the lines below the last names
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		value, ok := strings.CutPrefix(line, start)
		if ok {
			if n := len(t.blocks); n > 0 {
				t.blocks[n-1].text = text[begin:at]
			}
			names := namesOf(value)
			for _, name := range names {
				if _, ok := t.names[name]; ok {
					return nil, fmt.Errorf("%s has two rows", name)
				}
				t.names[name] = len(t.blocks)
			}
			t.blocks = append(t.blocks, block{names: names})
			begin = min(at+len(line)+1, len(text))
		} else if len(t.blocks) == 0 && line != "" && line[0] != '#' {
			return nil, fmt.Errorf("no program before %q", line)
		}
		at += len(line) + 1
	}
	if n := len(t.blocks); n > 0 {
		t.blocks[n-1].text = text[begin:]
	}
	return t, nil
}

// namesOf returns the names in the value of the key program.
func namesOf(value string) []string {
	words := strings.Fields(value)
	program := ""
	if slices.Contains([]string{"git", "go"}, words[0]) && len(words) > 1 {
		program, words = words[0]+" ", words[1:]
		if words[0] == "remote" || words[0] == "stash" || words[0] == "worktree" || words[0] == "config" || words[0] == "reflog" {
			words = []string{strings.Join(words, " ")}
		}
	}
	for i, name := range words {
		words[i] = program + name
	}
	return words
}

// row returns the row of a block.
func (t *tableIndex) row(i int) *Row {
	b := &t.blocks[i]
	b.once.Do(func() {
		var err error
		if b.row, err = t.parse(i); err != nil {
			panic(fmt.Sprintf("policy/readonly: the row of %s: %v", b.names[0], err)) // a mistake in the program
		}
	})
	return b.row
}

// parse parses a block.
func (t *tableIndex) parse(i int) (*Row, error) {
	b := &t.blocks[i]
	r := &Row{Names: b.names, options: map[string]*Option{}}
	for line := range strings.Lines(b.text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == "" || key[0] == '#' {
			continue
		}
		if key == "like" {
			other, ok := t.names[value]
			if !ok || other >= i {
				return nil, fmt.Errorf("there is no row %s before", value)
			}
			r.like(t.row(other))
			continue
		}
		if err := r.set(key, value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// like adds the properties of another row.
func (r *Row) like(other *Row) {
	for _, o := range other.Options {
		r.add(o)
	}
	r.Operands, r.operands, r.flags, r.bare = other.Operands, other.operands, other.flags, other.bare
}

// set applies a line of the table.
func (r *Row) set(key, value string) error {
	switch key {
	case "source":
		r.Source, r.Note, _ = strings.Cut(strings.TrimSuffix(value, ")"), " (")
		if r.Note == "" {
			r.Source = value
		}
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

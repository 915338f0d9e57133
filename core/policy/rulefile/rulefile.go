// Package rulefile reads policy files (TOML) into rules, safety checkers and tests,
// reports each problem with file, line and key, and adds approvals to a file without
// changing anything else in it.
//
// # Effect of problems
//
// A problem drops only the rule, checker or test that contains it. An unknown key may be
// a misspelled condition that narrows a rule. It drops a rule that allows, unless the
// key resembles one that narrows nothing. A rule that denies or asks is kept with a
// warning, and so is a checker, because without the condition it only matches more
// calls. After a syntax error no allow rule, checker or test of the file is in force. So
// a problem never makes a rule allow more than written.
//
// For dropped rules that deny or ask, and for dropped checkers, [File.StandIns] contains
// rules that ask.
package rulefile

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// MaxBytes is the maximum size of a policy file.
const MaxBytes = 4 << 20

// File is the content of one policy file.
type File struct {
	Path     string
	Rules    []policy.Rule    // in file order; an engine accepts each
	Checkers []policy.Checker // likewise
	Tests    []Test           // likewise
	// StandIns replace rules that deny or ask, and checkers, that were dropped because
	// of a problem. Added to Rules, they ask about the same calls. An unreadable
	// condition always matches: if the tools are unreadable, a stand-in asks about every
	// call. After a syntax error they include the rules that deny or ask and are still
	// readable. For an unreadable file of the user or the administrator there is one
	// that asks about every call; its Line is 0.
	StandIns []policy.Rule
}

// Options describe the origin of a file.
type Options struct {
	// Tier of the rules. Required. In the extension tier rules that allow are dropped,
	// and so are rules and checkers that name the mode yolo.
	Tier policy.Tier
	// TightenOnly drops rules that allow, because the file's directory is not trusted.
	// The other rules lose their denyMessages and names, which the model would receive.
	TightenOnly bool
	// Label precedes the path in the Source of rules, as in "extension NAME: PATH"; ""
	// for the path alone.
	Label string
	// KnownTools are the names of existing tools, including aliases. Unknown names that
	// resemble one of them are reported as a warning. nil: the built-in tools.
	KnownTools []string
}

// Parse reads a policy file from its bytes; path is used in problems only. It does no
// I/O and never fails: problems are returned in file order.
func Parse(path string, data []byte, o Options) (File, []fault.Problem) {
	r := newReader(path, o)
	if len(data) > MaxBytes {
		r.report(0, "", KindFileRead, Error,
			fmt.Sprintf("The file has more than %d bytes: none of its rules is in force%s.", MaxBytes, r.fileStandIn()),
			"Split it into several files.")
		return r.file, r.problems
	}
	root, err := position.ParseTOML(data)
	if err != nil {
		root, r.single = readSingle(data)
	}
	if root == nil {
		r.file.StandIns = r.salvage(data)
		e := position.As(err)
		r.report(e.Line, "", KindTOML, Error,
			fmt.Sprintf("The file is not valid TOML (%s): none of its allow rules is in force%s.", clip(e.Message), standInEffect(r.file.StandIns)),
			"Correct that line.")
		return r.file, r.problems
	}
	r.document(root)
	if r.omitted > 0 {
		r.problems = append(r.problems, fault.Problem{
			Path: path, Kind: KindMore, Severity: Error, Message: fmt.Sprintf("There are %d more mistakes in the file.", r.omitted),
			Remedy: "Correct the others first.",
		})
	}
	return r.file, r.problems
}

// maxProblems bounds the problems reported for a file.
const maxProblems = 500

// readSingle reads a document with a syntax error caused by headers like [rule] among
// headers like [[rule]]. single are the lines of the former. root is nil after any other
// error.
func readSingle(data []byte) (root *position.Table, single map[int]bool) {
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*(rule|safety_checker|test)[ \t]*\]`)
	single = make(map[int]bool)
	var repaired []byte
	done, line := 0, 1
	for _, at := range header.FindAllSubmatchIndex(data, -1) {
		line += bytes.Count(data[done:at[0]], []byte("\n"))
		single[line] = true
		repaired = append(repaired, data[done:at[0]]...)
		repaired = append(append(append(repaired, "[["...), data[at[2]:at[3]]...), "]]"...)
		done = at[1]
	}
	if len(single) == 0 {
		return nil, nil
	}
	root, _ = position.ParseTOML(append(repaired, data[done:]...))
	return root, single
}

// reader collects the content of a file.
type reader struct {
	options  Options
	single   map[int]bool // lines of tables with single brackets
	skipped  int          // lines of the file before the text
	source   string       // Source of its rules
	file     File
	problems []fault.Problem
	omitted  int // problems beyond maxProblems
	names    *names
}

func newReader(path string, o Options) *reader {
	r := &reader{options: o, source: path, file: File{Path: path}, names: newNames(o.KnownTools)}
	if o.Label != "" {
		r.source = o.Label + ": " + path
	}
	return r
}

// section returns a reader for a later part of the same file, with its own results and
// problems. skipped is the number of lines before it.
func (r *reader) section(skipped int) *reader {
	return &reader{options: r.options, skipped: skipped, source: r.source, file: File{Path: r.file.Path}, names: r.names}
}

// report adds a problem after those of its line and of earlier lines. It does not use package
// slices, whose sorting of such large values takes 8 KB of the program for hooks.
func (r *reader) report(line int, key string, kind Kind, severity fault.Severity, message, remedy string) {
	if len(r.problems) == maxProblems {
		r.omitted++
		return
	}
	r.problems = append(r.problems, fault.Problem{
		Path: r.file.Path, Line: line, Key: key, Kind: kind, Severity: severity, Message: message, Remedy: remedy,
	})
	for i := len(r.problems) - 1; i > 0 && r.problems[i-1].Line > line; i-- {
		r.problems[i-1], r.problems[i] = r.problems[i], r.problems[i-1]
	}
}

// The arrays of tables in a file.
const (
	ruleTable    = "rule"
	checkerTable = "safety_checker"
	testTable    = "test"
)

func (r *reader) document(root *position.Table) {
	r.missingHeader(root)
	for _, e := range root.Members {
		var read func(*position.Table)
		switch e.Key {
		case ruleTable:
			read = r.rule
		case checkerTable:
			read = r.checker
		case testTable:
			read = r.test
		default:
			r.unknownTable(e)
			continue
		}
		r.tables(e, read)
	}
}

// tables reads each table of [[key]].
func (r *reader) tables(e *position.Member, read func(*position.Table)) {
	switch v := e.Value.(type) {
	case []position.Node:
		for _, item := range v {
			if t, ok := item.Value.(*position.Table); ok {
				if r.single[t.Line] {
					r.oneTable(e.Key, t)
				} else {
					read(t)
				}
				continue
			}
			r.report(item.Line, e.Key, KindSchema, Error,
				fmt.Sprintf("It contains %s instead of a table, which is ignored.", describe(item.Value)),
				fmt.Sprintf("Write each one as a table under its own [[%s]].", e.Key))
		}
	case *position.Table:
		r.oneTable(e.Key, v)
	default:
		r.report(e.Line, e.Key, KindSchema, Error,
			fmt.Sprintf("It is %s instead of an array of tables: it is not in force.", describe(v)),
			fmt.Sprintf("Write each one as a table under its own [[%s]].", e.Key))
	}
}

// oneTable reports a header like [rule], and adds stand-ins for the table.
func (r *reader) oneTable(key string, t *position.Table) {
	r.report(t.Line, key, KindSchema, Error,
		fmt.Sprintf("[%s] is a single table instead of an array of tables: %s.", key, effectOf(key)),
		fmt.Sprintf("Write [[%s]], with two brackets.", key))
	r.addStandIns(key, t)
}

// effectOf describes the effect of a wrong header on a table of a kind.
func effectOf(kind string) string {
	switch kind {
	case ruleTable:
		return "it applies only if it denies or asks"
	case checkerTable:
		return "its calls need approval"
	}
	return "it is not run"
}

func (r *reader) unknownTable(e *position.Member) {
	what, remedy, severity := "nothing in it is in force", "Remove it.", Warning
	kind := nearestKey(e.Key, []string{ruleTable, checkerTable, testTable})
	if kind != "" {
		what, remedy = effectOf(kind), fmt.Sprintf("Write [[%s]] if intended.", kind)
	}
	if meant := r.addStandInsBelow(kind, e.Value); meant != "" {
		what, remedy, severity = effectOf(meant), fmt.Sprintf("Write [[%s]] if intended.", meant), Error
	} else if belongs(e) != "" {
		what, remedy, severity = "it requires a header: "+effectOf(belongs(e)), fmt.Sprintf("Write [[%s]] in the line before.", belongs(e)), Error
	}
	name := "The key " + quote(e.Key)
	if e.Header != "" {
		name = clip(e.Header)
	}
	r.report(e.Line, clip(e.Key), KindUnknownKey, severity, fmt.Sprintf("%s is unknown: %s.", name, what), remedy)
}

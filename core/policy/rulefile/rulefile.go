// Package rulefile reads policy files (TOML) into rules, safety checkers and
// tests, names every mistake with its file, line and key, and adds approvals
// to a file without touching anything else in it.
//
// # What a mistake leaves in force
//
// A mistake drops the rule, checker or test that it is in, and nothing else.
// A key that nobody knows may be a condition that was meant to narrow a rule:
// a rule that allows is dropped for one, unless the key resembles one that
// narrows nothing; a rule that denies or asks is kept, with a warning, and so
// is a checker, as both only hold more widely. Of a document that is no TOML
// all is dropped that allows, checks or tests. So a mistake never makes a rule
// allow more than was written.
//
// What a mistake takes away of what denies, asks or checks is made up for by
// the rules in [File.StandIns], which ask.
package rulefile

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// MaxBytes is the size of the largest policy file that is read.
const MaxBytes = 4 << 20

// File is what one policy file holds.
type File struct {
	Path     string
	Rules    []policy.Rule    // in the order of the file; each is one that an engine takes
	Checkers []policy.Checker // likewise
	Tests    []Test           // likewise
	// StandIns make up for what denied, asked or checked and was dropped for a
	// mistake: added to Rules, they ask about the calls that it was for, so that
	// the mistake lets nothing run. Conditions that cannot be read hold always:
	// where the tools cannot be read, a stand-in asks about every call. Of a file
	// that is no TOML they are also the rules that deny or ask and can still be
	// read. For a user's or an administrator's file that cannot be read at all
	// there is one that asks about every call; its Line is 0.
	StandIns []policy.Rule
}

// Options say whose file it is.
type Options struct {
	// Tier that the rules get. Required. In the extension tier rules that allow
	// are left out, and so is what names the mode yolo (spec of the tiers).
	Tier policy.Tier
	// TightenOnly leaves out rules that allow: the file's directory is not trusted
	// (CF-09). Its rules lose their denyMessages and names, which would be told
	// to the model.
	TightenOnly bool
	// Label stands before the path in the Source of rules, as in
	// "extension NAME: PATH"; "" for the path alone.
	Label string
	// KnownTools are names of tools that exist, aliases included. A name in a
	// rule that resembles one of them and is none is warned about. nil: the
	// built-in ones.
	KnownTools []string
}

// Parse reads the policy file of that path from its bytes. It does no I/O and
// never fails: what cannot be used is told in the problems, in the order of
// the file (AR-26, CF-05).
func Parse(path string, data []byte, o Options) (File, []fault.Problem) {
	r := newReader(path, o)
	if len(data) > MaxBytes {
		r.report(0, "", KindFileRead, Error,
			fmt.Sprintf("The file has more than %d bytes: nothing of it is in force%s.", MaxBytes, r.insteadOfFile()),
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
			fmt.Sprintf("The file is no TOML (%s): nothing that it allows is in force%s.", clip(e.Message), made(r.file.StandIns)),
			"Mend that line.")
		return r.file, r.problems
	}
	r.document(root)
	slices.SortStableFunc(r.problems, func(a, b fault.Problem) int { return a.Line - b.Line })
	if r.untold > 0 {
		r.problems = append(r.problems, fault.Problem{
			Path: path, Kind: KindMore, Severity: Error, Message: fmt.Sprintf("There are %d more mistakes in the file.", r.untold),
			Remedy: "Mend the others first.",
		})
	}
	return r.file, r.problems
}

// maxProblems is how many mistakes of a file are told.
const maxProblems = 500

// readSingle reads a document that is no TOML because of headers like [rule]
// between others like [[rule]]. single are the lines of the former. root is nil
// if something else is wrong.
func readSingle(data []byte) (root *position.Table, single map[int]bool) {
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*(rule|safety_checker|test)[ \t]*\]`)
	single = make(map[int]bool)
	var mended []byte
	done, line := 0, 1
	for _, at := range header.FindAllSubmatchIndex(data, -1) {
		line += bytes.Count(data[done:at[0]], []byte("\n"))
		single[line] = true
		mended = append(mended, data[done:at[0]]...)
		mended = append(append(append(mended, "[["...), data[at[2]:at[3]]...), "]]"...)
		done = at[1]
	}
	if len(single) == 0 {
		return nil, nil
	}
	root, _ = position.ParseTOML(append(mended, data[done:]...))
	return root, single
}

// reader collects what a file holds.
type reader struct {
	options  Options
	single   map[int]bool // lines of tables whose header lacks brackets
	skipped  int          // lines of the file before the text that is read
	source   string       // of its rules
	file     File
	problems []fault.Problem
	untold   int // problems beyond maxProblems
	names    *names
}

func newReader(path string, o Options) *reader {
	r := &reader{options: o, source: path, file: File{Path: path}, names: newNames(o.KnownTools)}
	if o.Label != "" {
		r.source = o.Label + ": " + path
	}
	return r
}

// apart returns a reader for text of the same file that so many lines stand
// before. What it finds, and what is wrong with that, is its own.
func (r *reader) apart(skipped int) *reader {
	return &reader{options: r.options, skipped: skipped, source: r.source, file: File{Path: r.file.Path}, names: r.names}
}

func (r *reader) report(line int, key string, kind Kind, severity fault.Severity, message, remedy string) {
	if len(r.problems) == maxProblems {
		r.untold++
		return
	}
	r.problems = append(r.problems, fault.Problem{
		Path: r.file.Path, Line: line, Key: key, Kind: kind, Severity: severity, Message: message, Remedy: remedy,
	})
}

// The arrays of tables that a file may hold.
const (
	ruleTable    = "rule"
	checkerTable = "safety_checker"
	testTable    = "test"
)

func (r *reader) document(root *position.Table) {
	r.headless(root)
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
				fmt.Sprintf("It holds %s where a table belongs, which is left out.", describe(item.Value)),
				fmt.Sprintf("Write each one as a table under its own [[%s]].", e.Key))
		}
	case *position.Table:
		r.oneTable(e.Key, v)
	default:
		r.report(e.Line, e.Key, KindSchema, Error,
			fmt.Sprintf("It is %s where a list of tables belongs: it is not in force.", describe(v)),
			fmt.Sprintf("Write each one as a table under its own [[%s]].", e.Key))
	}
}

// oneTable reports a header like [rule], and makes up for what is below it.
func (r *reader) oneTable(key string, t *position.Table) {
	r.report(t.Line, key, KindSchema, Error,
		fmt.Sprintf("[%s] is one table where a list of tables belongs: %s.", key, leftOf(key)),
		fmt.Sprintf("Write [[%s]], with two brackets.", key))
	r.makeUp(key, t)
}

// leftOf says what holds of a table of a kind under a wrong header.
func leftOf(kind string) string {
	switch kind {
	case ruleTable:
		return "it holds only if it denies or asks"
	case checkerTable:
		return "what it would check is asked about"
	}
	return "it is not run"
}

func (r *reader) unknownTable(e *position.Member) {
	what, remedy, severity := "nobody reads it, so nothing in it is in force", "Remove it.", Warning
	kind := nearestKey(e.Key, []string{ruleTable, checkerTable, testTable})
	if kind != "" {
		what, remedy = leftOf(kind), fmt.Sprintf("Write [[%s]] if that is meant.", kind)
	}
	if meant := r.makeUpBelow(kind, e.Value); meant != "" {
		what, remedy, severity = leftOf(meant), fmt.Sprintf("Write [[%s]] if that is meant.", meant), Error
	} else if belongs(e) != "" {
		what, remedy, severity = "it belongs below a header: "+leftOf(belongs(e)), fmt.Sprintf("Write [[%s]] in the line before.", belongs(e)), Error
	}
	name := "The key " + quote(e.Key)
	if e.Header != "" {
		name = clip(e.Header)
	}
	r.report(e.Line, clip(e.Key), KindUnknownKey, severity, fmt.Sprintf("%s is unknown: %s.", name, what), remedy)
}

package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/escape"

	"github.com/fettle-dev/fettle/core/fault"
)

// noProgram is the command that replaces an invalid sandbox: no program has such
// a name, so that no command runs.
const noProgram = "(wrong value)"

// maxWhole is the largest whole number that a key accepts: numbers are those of
// JavaScript, and have to fit an int.
const maxWhole = min(1<<53, math.MaxInt)

// check validates the entries, and drops invalid ones.
func (l *layerOf) check() {
	for _, path := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[path]
		e.ofProject = l.ofProject
		value, used := expand(e.written, func(name string) (string, bool) {
			text, ok := l.env(name)
			e.ofProject = e.ofProject || ok && l.projects[name]
			if ok && text != "" && LooksSecret(name, text) {
				e.secrets = append(e.secrets, text)
			}
			return text, ok
		})
		if e.value = value; l.literal {
			if used {
				l.report(fault.Problem{Line: e.line, Column: e.column, Key: path, Kind: KindUntrusted, Severity: Warning,
					Message: "Because the directory is not trusted, variables in the project's values are not expanded.",
					Remedy:  "Write the value itself, or trust the directory with fettle trust."})
			}
			e.value, used = expand(e.written, noVariables)
		}
		e.filled = used
		if converted, ok := convert(e.key, e.value); ok {
			if !used && l.layer != LayerEnvironment && l.layer != LayerFlags && !e.key.Single {
				l.report(fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: path, Kind: KindConverted, Severity: Warning, Expected: e.key.expects(),
					Message: fmt.Sprintf("The value should be %s; it is converted.", e.key.expects()), Remedy: "Write it as " + e.key.expects() + "."})
			}
			e.value = converted
		}
		if !l.validate(e) {
			delete(l.entries, path)
			l.standIn(e)
			continue
		}
		if e.key.Unused {
			l.report(fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: path, Kind: KindUnused, Severity: Notice,
				Message: "The key is accepted, but fettle does not use it yet."})
		}
	}
}

// convert converts a text to the number or boolean of the key, and a single text
// to a list.
func convert(k *Key, value any) (any, bool) {
	text, ok := value.(string)
	if !ok {
		return nil, false
	}
	switch k.kind {
	case aBool:
		if b, err := strconv.ParseBool(strings.TrimSpace(text)); err == nil {
			return b, true
		}
	case aWhole, aNumber:
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
			return n, true
		}
	case aList:
		return []any{text}, true
	case aText, aMap:
	}
	return nil, false
}

// validate validates an entry's value against the schema. It removes the invalid
// parts of a list or a map; it is false if nothing is left.
func (l *layerOf) validate(e *entry) bool {
	if n, ok := e.value.(float64); ok && e.key.kind == aWhole && (n != math.Trunc(n) || math.Abs(n) > maxWhole) {
		l.wrong(e, "", "", "")
		return false
	}
	if e.key.Path == hooksKey {
		e.dropForeignHooks()
		l.unknownEvents(e)
		e.placeGroups()
	}
	if e.key.kind == aMap {
		l.unknownNames(e, e.value, e.key.schema(), nil)
	}
	if list, ok := e.value.([]any); ok && e.key.kind == aList {
		return l.texts(e, list)
	}
	for {
		failures := violations(e.key, e.value)
		if len(failures) == 0 {
			return true
		}
		cuts := map[string]bool{}
		for _, f := range failures {
			steps := pointerSteps(f.at)
			if e.key.cut == 0 || len(steps) == 0 {
				l.wrong(e, f.at, f.what, "")
				return false
			}
			cut := pointer(steps[:e.cutAt(steps)])
			cuts[cut] = true
			l.wrong(e, f.at, f.what, cut)
		}
		rest := without(e.value, cuts, "")
		if reflect.DeepEqual(rest, e.value) { // the validator does not report an empty name
			l.wrong(e, "", failures[0].what, "")
			return false
		}
		e.value = rest
		e.dropGroups(cuts)
	}
}

// texts removes everything but texts from a list. It is false if nothing is left.
func (l *layerOf) texts(e *entry, list []any) bool {
	kept := []any{}
	e.spots = make(map[string]spot, len(list))
	for i, part := range list {
		if text, ok := part.(string); ok {
			kept = append(kept, part)
			if _, before := e.spots[text]; !before {
				e.spots[text] = e.spotOf(i)
			}
			continue
		}
		at := pointer([]string{strconv.Itoa(i)})
		l.wrong(e, at, "", at)
	}
	e.value = kept
	return len(kept) > 0 || len(list) == 0
}

// spotOf returns the position of the list entry with an index.
func (e *entry) spotOf(index int) spot {
	if e.node == nil {
		return spot{}
	}
	if list, ok := e.node.Value.(*hujson.Array); ok && index < len(list.Elements) {
		line, column := e.doc.Place(list.Elements[index].StartOffset)
		return spot{line, column}
	}
	return spot{e.line, e.column}
}

// violation is a position in a value at which it violates the schema.
type violation struct{ at, what string }

// violations returns the violations of a key's schema, in order.
func violations(k *Key, value any) (found []violation) {
	schema, err := k.check()
	if err != nil {
		panic(fmt.Sprintf("settings: the schema of %s: %v", k.Path, err)) // a test compiles every schema
	}
	err = schema.Validate(value)
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return nil
	}
	for _, f := range bad.BasicOutput().Errors {
		if f.Error == "" || strings.HasPrefix(f.Error, "doesn't validate with") {
			continue
		}
		found = append(found, violation{f.InstanceLocation, f.Error})
	}
	slices.SortFunc(found, func(a, b violation) int {
		return strings.Compare(a.at+"\x00"+a.what, b.at+"\x00"+b.what)
	})
	if len(found) == 0 {
		found = append(found, violation{"", bad.Error()})
	}
	return found
}

// wrong reports an invalid value. at is the position of the mistake in it, what
// the validator's description; cut is the part that is removed, "" for all.
func (l *layerOf) wrong(e *entry, at, what, cut string) {
	if l.full(Error) {
		return
	}
	p := fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: e.key.Path + dotted(at), Kind: KindValue, Severity: Error, Expected: e.key.expects()}
	if at != "" && e.node != nil {
		if v := e.node.Find(at); v != nil {
			p.Line, p.Column = e.doc.Place(v.StartOffset)
		}
	}
	switch {
	case at != "" && e.key.kind == aList:
		p.Expected = "a text"
		p.Message = "The entry is not a text; it is ignored."
	case at != "" || e.key.kind == aMap && what != "":
		p.Expected = what
		p.Message = fmt.Sprintf("The value is invalid: %s.", what)
		if cut != "" {
			p.Message += fmt.Sprintf(" %s%s is ignored.", e.key.Path, dotted(cut))
		}
	default:
		p.Message = fmt.Sprintf("The value %s is not %s; it has no effect.", quote(e.written), e.key.expects())
	}
	if e.key.Project.protects() {
		v, ok := e.key.closed()
		switch p.Open = !ok; {
		case !ok && restricts(p.Key) && relied(l.layer):
			p.Message += asksInstead
		case !ok || cut != "":
		case e.key.Unused:
			p.Message += fmt.Sprintf(" It is read as %s, but fettle does not use the key yet.", quote(v))
		default:
			p.Message += fmt.Sprintf(" Because the key protects you, the value is %s instead.", quote(v))
		}
	}
	p.Remedy = "Correct it."
	l.report(p)
}

// closed returns the value that replaces an invalid one, so that a mistake does
// not disable a protection.
func (k *Key) closed() (any, bool) {
	switch k.Project {
	case ProjectTrue:
		return true, true
	case ProjectFalse:
		return false, true
	case ProjectStricter:
		return "default", true
	case ProjectWithin:
		return []any{}, true
	case ProjectLandlock:
		return noProgram, true
	case ProjectAdd, ProjectLower, ProjectFree, ProjectTrusted, ProjectNever:
	}
	return nil, false
}

func (l *layerOf) standIn(e *entry) {
	v, ok := e.key.closed()
	if !ok {
		return
	}
	e.value = v
	l.entries[e.key.Path] = e
}

// refuse reports that a group's value is not an object of its keys. why is "" if
// that is all.
func (l *layerOf) refuse(n *node, e *entry, path, why string) {
	p := fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: escape.ClipBytes(path, maxShown), Kind: KindValue, Severity: Error, Expected: "an object", Remedy: "Correct it."}
	if n.key != nil {
		p.Expected = n.key.expects()
	}
	for _, s := range shortForms() {
		if s.group == n.path {
			p.Expected += map[kind]string{aBool: ", or true or false", aText: ", or a text"}[s.kind]
		}
	}
	p.Message = fmt.Sprintf("The value %s is not %s; it has no effect.", quote(e.written), p.Expected)
	if why != "" {
		p.Message = fmt.Sprintf("The value is invalid: %s.", why)
	}
	stand := n
	if n.path == "tools.sandbox" {
		stand = n.below["command"]
	}
	p.Open = stand.key == nil || stand.key.Project.protects()
	if stand.key != nil {
		if v, ok := stand.key.closed(); ok {
			e.key, e.written, e.value = stand.key, v, v
			l.entries[e.key.Path] = e
			p.Open = false
			p.Message = strings.TrimSuffix(p.Message, "; it has no effect.") + "; because the key protects you, it counts as a value that allows nothing."
		}
	}
	l.report(p)
}

// quote formats a value for a message.
func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "it" // a value decoded from JSON can be encoded
	}
	return escape.ClipBytes(string(text), 60)
}

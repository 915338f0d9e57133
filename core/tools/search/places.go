package search

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// places returns the places to search: dirPath or, if it is empty, each directory of the workspace that is not below
// another.
func (s Services) places(dirPath string) ([]workspace.Path, error) {
	names := []string{dirPath}
	if dirPath == "" {
		names = s.Paths.Directories()
	}
	var places []workspace.Path
	for _, name := range names {
		if dirPath == "" && isBelowAnother(name, names) {
			continue
		}
		p, err := s.Paths.Resolve(name)
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, nil
}

func isBelowAnother(dir string, dirs []string) bool {
	for _, other := range dirs {
		rel, err := filepath.Rel(other, dir)
		if err == nil && other != dir && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// describe describes the search in one line.
func describe(pattern string, places []workspace.Path, dirPath string) string {
	text := "'" + oneLine(pattern) + "'"
	if dirPath != "" && len(places) == 1 && places[0].Rel() != "." {
		text += " in " + oneLine(places[0].Rel())
	}
	return text
}

func locations(places []workspace.Path) []tools.Location {
	all := make([]tools.Location, len(places))
	for i, p := range places {
		all[i].Path = p.String()
	}
	return all
}

// oneLine returns text for a line, with the middle of a long one omitted.
func oneLine(text string) string { return escape.Middle(escape.Quoted(text), 80, "[...]") }

// rename moves the argument old to name unless name is present too.
func rename(args map[string]json.RawMessage, old, name string) {
	v, ok := args[old]
	if _, both := args[name]; !ok || both {
		return
	}
	args[name] = v
	delete(args, old)
}

// blank rejects a parameter that is present and blank.
func blank(name, value string) error {
	if strings.TrimSpace(value) != "" {
		return nil
	}
	return fault.New(fault.InvalidToolParams, "search.validate", "The '"+name+"' parameter must be non-empty.", "Pass a value, or omit the parameter if it is optional.")
}

// asFault classifies an error; an ended ctx is a cancellation.
func asFault(ctx context.Context, op string, code fault.Code, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(code, op, err.Error(), "", err)
}

// left is the part of a result about omitted names.
type left struct {
	Ignored    int      `json:"ignored,omitempty"`    // number of ignored names; an ignored directory counts once
	IgnoredBy  []string `json:"ignored_by,omitempty"` // the first few ignore rules
	Unreadable []string `json:"unreadable,omitempty"` // the first few directories that cannot be listed
	Notice     string   `json:"notice,omitempty"`
}

// add adds the tally of a walk.
func (l *left) add(t discovery.Tally) {
	const most = 5
	l.Ignored += t.Ignored
	for _, v := range t.Reasons {
		if len(l.IgnoredBy) < most {
			l.IgnoredBy = append(l.IgnoredBy, v.String())
		}
	}
	for _, path := range t.Closed {
		if len(l.Unreadable) < most {
			l.Unreadable = append(l.Unreadable, path)
		}
	}
	if more := t.Unreadable - len(t.Closed); more > 0 {
		l.note(fmt.Sprintf("%d more directories cannot be listed.", more))
	}
	switch {
	case !t.Start.Ignored:
	case t.Start.Source == "":
		l.note("The directory is a git directory or inside one; these are never searched.")
	default:
		l.note("The directory is ignored by " + t.Start.String() + "; it was searched because it is named.")
	}
	if t.Partial {
		l.note("There are too many files to search all of them: name a subdirectory with dir_path.")
	}
}

// fit omits details if a result of size bytes exceeds most.
func (l *left) fit(size, most int) {
	if size > most {
		l.IgnoredBy, l.Unreadable = nil, nil
	}
}

// note adds a sentence to the notice.
func (l *left) note(sentence string) {
	if l.Notice != "" {
		l.Notice += " "
	}
	l.Notice += sentence
}

const noteNames = "Some names are not valid UTF-8 and are shown with U+FFFD for each byte that is not; only the shell tool can name them."

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

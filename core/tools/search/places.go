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

// places returns where to search: what dirPath names, or if it is empty each
// directory of the workspace that does not lie in another.
func (s Services) places(dirPath string) ([]workspace.Path, error) {
	names := []string{dirPath}
	if dirPath == "" {
		names = s.Paths.Folders()
	}
	var places []workspace.Path
	for _, name := range names {
		if dirPath == "" && liesInAnother(name, names) {
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

func liesInAnother(folder string, folders []string) bool {
	for _, other := range folders {
		rel, err := filepath.Rel(other, folder)
		if err == nil && other != folder && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// describe says in one line what is looked for and where.
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

// oneLine returns text that fits in a line, its middle left out where it is
// long.
func oneLine(text string) string { return escape.Middle(escape.Quoted(text), 80, "[...]") }

// rename moves the argument old to name unless name is given too.
func rename(args map[string]json.RawMessage, old, name string) {
	v, ok := args[old]
	if _, both := args[name]; !ok || both {
		return
	}
	args[name] = v
	delete(args, old)
}

// blank refuses a parameter that is given and holds nothing.
func blank(name, value string) error {
	if strings.TrimSpace(value) != "" {
		return nil
	}
	return fault.New(fault.InvalidToolParams, "search.validate", "The '"+name+"' parameter must be non-empty.", "Give it a value, or leave it out if it is optional.")
}

// asFault gives an error a class; an ended ctx is cancelled.
func asFault(ctx context.Context, op string, code fault.Code, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(code, op, err.Error(), "", err)
}

// left is what a result says of what was left out.
type left struct {
	Ignored    int      `json:"ignored,omitempty"`    // names that ignore rules cover; an ignored directory counts once
	IgnoredBy  []string `json:"ignored_by,omitempty"` // the first few lines that do
	Unreadable []string `json:"unreadable,omitempty"` // the first few directories that cannot be listed
	Notice     string   `json:"notice,omitempty"`
}

// add adds what a walk tells.
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
		l.note("The directory is git's own, or lies in it, and such directories are never searched.")
	default:
		l.note("The directory is ignored by " + t.Start.String() + ", and was searched because it is named.")
	}
	if t.Partial {
		l.note("There are too many files to look at all of them: name a directory further down with dir_path.")
	}
}

// fit leaves out details where a result that has size bytes may have no more than
// most.
func (l *left) fit(size, most int) {
	if size > most {
		l.IgnoredBy, l.Unreadable = nil, nil
	}
}

// note adds a sentence.
func (l *left) note(sentence string) {
	if l.Notice != "" {
		l.Notice += " "
	}
	l.Notice += sentence
}

const noteNames = "Some names are not valid UTF-8 and are shown with U+FFFD for each byte that is not; no tool but the shell can name them."

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

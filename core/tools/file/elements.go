package file

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// elementList collects the elements of a read_many_files result. It reserves room for one element that names the omitted
// files.
type elementList struct {
	made []tools.Content
	room int  // remaining bytes
	last int  // size of the element about omitted files, without further names
	full bool // nothing more is to be added
}

// newElementList returns a list for targets with a maximum size of its JSON text.
func newElementList(targets []target, room int) *elementList {
	l := &elementList{room: room}
	longest := 0
	for _, t := range targets {
		longest = max(longest, tools.JSONBytes(t.name))
	}
	l.last = longest + tools.JSONBytes(unread{"", tooMuch(target{}, targets, 0)}) + len(",")
	return l
}

// roomBefore returns the room for a file before rest, with room reserved for the errors of rest, one each if they are
// few.
func (l *elementList) roomBefore(rest []target) int {
	if len(rest) == 0 {
		return l.room - len(",")
	}
	const words, few = 260, 20
	each := l.last
	for _, t := range rest[:min(len(rest), few)] {
		each += words + 2*len(t.name)
	}
	return l.room - max(min(each, l.room/2), l.last) - len(",")
}

// add adds an element, if there is room for it and for one about rest.
func (l *elementList) add(element any, rest []target) bool {
	content, err := tools.JSON(element)
	if err != nil {
		return false
	}
	size := len(content.String()) + len(",")
	if len(rest) > 0 && size > l.room-l.last || size > l.room {
		return false
	}
	l.room -= size
	l.made = append(l.made, content)
	return true
}

// addError adds the element of a file that was not read, or of that file and all later ones.
func (l *elementList) addError(ctx context.Context, t target, err error, rest []target) {
	if !l.add(unread{t.name, asFault(ctx, "file.read_many_files", fault.ReadContentFailure, err)}, rest) {
		l.leaveOut(t, rest)
	}
}

// leaveOut adds the last element, for the files without room.
func (l *elementList) leaveOut(t target, rest []target) {
	l.full = true
	content, err := tools.JSON(unread{t.name, tooMuch(t, rest, l.room)})
	if err == nil {
		l.made = append(l.made, content)
	}
}

// tooMuch returns the error for a file and rest without room. It lists as many of them as fit into room bytes.
func tooMuch(t target, rest []target, room int) *fault.Error {
	message := "The files before this one filled the result; it was not read."
	if len(rest) > 0 {
		message = fmt.Sprintf("The files before this one filled the result; this one and %d more were not read.", len(rest))
	}
	e := fault.New(fault.FileTooLarge, "file.read_many_files", message, "Call read_file for each of them.")
	const head = " The others: "
	room -= tools.JSONBytes(unread{t.name, e}) + len(",") + len(head) + len(", …")
	var names []string
	for _, other := range rest {
		if room -= tools.JSONBytes(other.name) + len(", "); room < 0 {
			names = append(names, "…")
			break
		}
		names = append(names, other.name)
	}
	if len(names) > 0 && names[0] != "…" {
		e.Message += head + strings.Join(names, ", ")
	}
	return e
}

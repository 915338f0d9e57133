package file

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// elementList gathers the elements of a read_many_files result. It always has room
// for one more that names the files which were left out.
type elementList struct {
	made []json.RawMessage
	room int  // bytes that are left
	last int  // bytes of the element that leaves files out, without the names of others
	full bool // nothing more is to be added
}

// newElementList returns a list for targets whose JSON text has so many bytes.
func newElementList(targets []target, room int) *elementList {
	l := &elementList{room: room}
	longest := 0
	for _, t := range targets {
		longest = max(longest, tools.JSONBytes(t.name))
	}
	l.last = longest + tools.JSONBytes(unread{"", tooMuch(target{}, targets, 0)}) + len(",")
	return l
}

// roomBefore returns how much room a file has before the rest, so that what becomes
// of these can still be said, of each where they are few.
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

// all returns the elements, [] where there are none.
func (l *elementList) all() []json.RawMessage {
	if l.made == nil {
		return []json.RawMessage{}
	}
	return l.made
}

// add adds an element, if there is room for it and for one about the rest.
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
	l.made = append(l.made, json.RawMessage(content.String()))
	return true
}

// addError adds the element of a file that was not read, or of all from it on.
func (l *elementList) addError(ctx context.Context, t target, err error, rest []target) {
	if !l.add(unread{t.name, asFault(ctx, "file.read_many_files", fault.ReadContentFailure, err)}, rest) {
		l.leaveOut(t, rest)
	}
}

// leaveOut adds the element of the files for which there is no room, which is the
// last.
func (l *elementList) leaveOut(t target, rest []target) {
	l.full = true
	content, err := tools.JSON(unread{t.name, tooMuch(t, rest, l.room)})
	if err == nil {
		l.made = append(l.made, json.RawMessage(content.String()))
	}
}

// tooMuch says that a file and the rest have no room. It names as many of them as
// room bytes hold.
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

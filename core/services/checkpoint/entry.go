package checkpoint

import (
	"fmt"
	"time"
)

// EntryKind says who made the changes of an [Entry].
type EntryKind string

// The kinds of entries.
const (
	KindCall    EntryKind = "call"    // a tool call
	KindBetween EntryKind = "between" // somebody else, between calls: a person, or what a call has left running
	KindRestore EntryKind = "restore" // a restore
)

// Change is what became of one path.
type Change struct {
	Path   Name  `json:"path"` // absolute
	Before State `json:"before"`
	After  State `json:"after"`
}

// Entry is one step of a session that has changed files, or may have.
type Entry struct {
	Session string    `json:"session"`
	Turn    int       `json:"turn"`   // 1-based
	Number  int       `json:"number"` // 1-based, in its turn
	Kind    EntryKind `json:"kind"`
	CallID  string    `json:"callId,omitempty"` // as the model named the call
	Tool    string    `json:"tool,omitempty"`
	Agent   string    `json:"agent,omitempty"` // the subagent whose call it is
	About   string    `json:"about,omitempty"` // what the call said that it does, in one line
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended"`
	// Background says that something which an earlier command has started was
	// running, and may have made changes that are counted to this entry.
	Background bool `json:"background,omitempty"`
	// Interrupted says that the process ended before the call did: what was changed
	// until the next look is counted to it.
	Interrupted bool     `json:"interrupted,omitempty"`
	Running     bool     `json:"running,omitempty"` // it has not ended yet
	Files       []Change `json:"files"`             // sorted by path
	Notes       []string `json:"notes,omitempty"`   // what could not be looked at

	everywhere bool // any file could be changed; else only those that it names
}

// ID names an entry in its session, as 3.2.
func (e *Entry) ID() string { return fmt.Sprintf("%d.%d", e.Turn, e.Number) }

// Turn is one prompt of the person's, or a restore, with what came of it.
type Turn struct {
	Number  int       `json:"number"` // 1-based
	Time    time.Time `json:"time"`
	Prompt  string    `json:"prompt"` // its first words, in one line
	Entries []*Entry  `json:"entries"`
}

// Gap is what cannot be restored.
type Gap struct {
	Path Name   `json:"path"` // absolute; an example where there are more
	Why  string `json:"why"`  // a clause
}

// History is what a session has changed.
type History struct {
	Session  string    `json:"session"`
	Updated  time.Time `json:"updated"`
	Turns    []*Turn   `json:"turns"`
	NotKept  []Gap     `json:"notRestorable,omitempty"` // by the last look at everything
	Notes    []string  `json:"notes,omitempty"`         // of that look
	Problems []string  `json:"problems,omitempty"`      // what of the log could not be read

	tree string // the last one that was kept
}

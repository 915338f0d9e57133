package checkpoint

import (
	"fmt"
	"time"
)

// EntryKind is the origin of the changes of an [Entry].
type EntryKind string

// The kinds of entries.
const (
	KindCall    EntryKind = "call"    // a tool call
	KindBetween EntryKind = "between" // a change between calls by another process: the user, or a process that a call has left running
	KindRestore EntryKind = "restore" // a restore
)

// Change is the change of one path.
type Change struct {
	Path   Name  `json:"path"` // absolute
	Before State `json:"before"`
	After  State `json:"after"`
}

// Entry is one step of a session that has changed files, or may have.
type Entry struct {
	Session string    `json:"session"`
	Turn    int       `json:"turn"`   // 1-based
	Number  int       `json:"number"` // 1-based, within its turn
	Kind    EntryKind `json:"kind"`
	CallID  string    `json:"callId,omitempty"` // the model's id of the call
	Tool    string    `json:"tool,omitempty"`
	Agent   string    `json:"agent,omitempty"` // the subagent that made the call
	About   string    `json:"about,omitempty"` // the call's description of itself, in one line
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended"`
	// Background reports that a process started by an earlier command was running. Its changes may
	// be attributed to this entry.
	Background bool `json:"background,omitempty"`
	// Interrupted reports that the process ended before the call did. Changes until the next scan
	// are attributed to it.
	Interrupted bool     `json:"interrupted,omitempty"`
	Running     bool     `json:"running,omitempty"` // it has not ended yet
	Files       []Change `json:"files"`             // sorted by path
	Notes       []string `json:"notes,omitempty"`   // files that could not be inspected

	everywhere bool // it could change any file; otherwise only those that it names
}

// ID returns the name of an entry within its session, such as 3.2.
func (e *Entry) ID() string { return fmt.Sprintf("%d.%d", e.Turn, e.Number) }

// Turn is one prompt of the user, or a restore, with its entries.
type Turn struct {
	Number  int       `json:"number"` // 1-based
	Time    time.Time `json:"time"`
	Prompt  string    `json:"prompt"` // its first words, in one line
	Entries []*Entry  `json:"entries"`
}

// Unrestorable is a path that cannot be restored.
type Unrestorable struct {
	Path   Name   `json:"path"` // absolute; an example if there are more
	Reason string `json:"why"`  // the reason, as a clause
}

// History contains the changes of a session.
type History struct {
	Session      string         `json:"session"`
	Updated      time.Time      `json:"updated"`
	Turns        []*Turn        `json:"turns"`
	Unrestorable []Unrestorable `json:"notRestorable,omitempty"` // according to the last full scan
	Notes        []string       `json:"notes,omitempty"`         // of that scan
	Problems     []string       `json:"problems,omitempty"`      // unreadable parts of the log

	tree string // the last one that was stored
}

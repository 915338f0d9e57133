package tools

import (
	"encoding/json"
	"fmt"
)

// Display is the result for the user: exactly one of its fields is set. Its JSON form is a string for text, else the
// object of that field.
type Display struct {
	Text string
	Diff *FileDiff
	ANSI *ANSIOutput
	Todo *TodoList
}

// TextDisplay returns a display of text.
func TextDisplay(s string) Display { return Display{Text: s} }

// FileDiff shows a change of one file.
type FileDiff struct {
	FileDiff        string    `json:"fileDiff"`        // unified diff, 3 lines of context
	FileName        string    `json:"fileName"`        // base name
	FilePath        string    `json:"filePath"`        // absolute
	OriginalContent *string   `json:"originalContent"` // nil: a new file
	NewContent      string    `json:"newContent"`
	DiffStat        *DiffStat `json:"diffStat,omitempty"`
	IsNewFile       bool      `json:"isNewFile,omitempty"`
}

// ANSIOutput is styled terminal output with its escape sequences.
type ANSIOutput struct {
	ANSI string `json:"ansi"`
	// SavedPath is the file with the whole output if ANSI is shortened; "": none.
	SavedPath string `json:"savedPath,omitempty"`
}

// TodoList is a list of tasks.
type TodoList struct {
	Todos []Todo `json:"todos"`
}

// Todo is one task of a list.
type Todo struct {
	Description string     `json:"description"`
	Status      TodoStatus `json:"status"`
}

// TodoStatus is a task's state.
type TodoStatus string

// The states of a task.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
	TodoCancelled  TodoStatus = "cancelled"
)

// UnmarshalText fails for an unknown state.
func (s *TodoStatus) UnmarshalText(text []byte) error {
	switch v := TodoStatus(text); v {
	case TodoPending, TodoInProgress, TodoCompleted, TodoCancelled:
		*s = v
		return nil
	}
	return fmt.Errorf("unknown todo status %q; expected pending, in_progress, completed or cancelled", text)
}

// MarshalText fails for an unknown state.
func (s TodoStatus) MarshalText() ([]byte, error) {
	if err := new(TodoStatus).UnmarshalText([]byte(s)); err != nil {
		return nil, err
	}
	return []byte(s), nil
}

// MarshalJSON encodes the field that is set.
func (d Display) MarshalJSON() ([]byte, error) {
	switch {
	case d.Diff != nil:
		return marshalPlain(d.Diff)
	case d.ANSI != nil:
		return marshalPlain(d.ANSI)
	case d.Todo != nil:
		return marshalPlain(d.Todo)
	}
	return marshalPlain(d.Text)
}

// UnmarshalJSON distinguishes the forms by their keys.
func (d *Display) UnmarshalJSON(data []byte) error {
	*d = Display{}
	if err := json.Unmarshal(data, &d.Text); err == nil {
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	switch {
	case keys["fileDiff"] != nil:
		return json.Unmarshal(data, &d.Diff)
	case keys["ansi"] != nil:
		return json.Unmarshal(data, &d.ANSI)
	case keys["todos"] != nil:
		return json.Unmarshal(data, &d.Todo)
	}
	return fmt.Errorf("display requires one of the keys fileDiff, ansi, todos")
}

package checkpoint

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
)

// Name is a path or the target of a link, byte for byte. Its JSON form is a text, or {"bytes":
// base64} if it is not valid UTF-8.
type Name string

type rawName struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements [json.Marshaler].
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(rawName{[]byte(n)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Name) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*n = Name(text)
		return nil
	}
	var raw rawName
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*n = Name(raw.Bytes)
	return nil
}

// Kind is the kind of a file.
type Kind string

// The kinds.
const (
	Absent    Kind = "absent"
	File      Kind = "file"
	Link      Kind = "link"
	Directory Kind = "folder"
	Other     Kind = "other" // a pipe, a socket, a device
)

// State is the state of a path at a moment.
type State struct {
	Kind   Kind        `json:"kind"`
	SHA256 string      `json:"sha256,omitempty"` // of a stored file, lower-case hex
	Size   int64       `json:"size,omitempty"`   // of a file, in bytes
	Mode   fs.FileMode `json:"mode,omitempty"`   // permission bits and setuid, setgid, sticky; 0 for links
	Target Name        `json:"target,omitempty"` // of a link
	// NotStored is the reason why the content is not stored, as a clause; "" if it is.
	NotStored string `json:"notKept,omitempty"`
	// Stamp distinguishes contents that are not stored: the time of the last change, in nanoseconds
	// since 1970.
	Stamp int64 `json:"stamp,omitempty"`
}

var absent = State{Kind: Absent}

const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// content returns a state without its mode.
func (s State) content() State {
	s.Mode = 0
	return s
}

// known reports whether the state can be distinguished from any other and restored.
func (s State) known() bool { return s.NotStored == "" && s.Kind != Other }

// cause returns the system's error text.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// Shown returns the name in one line for display: quoted and escaped if it could be misread.
func (n Name) Shown() string { return show(n) }

func show(n Name) string {
	if strings.HasPrefix(string(n), `"`) {
		return escape.Quote(string(n))
	}
	return escape.Quoted(string(n))
}

package fork

import (
	"encoding/json"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/services/textfile"
)

// Call is a call of a file tool that has the effect of a change.
type Call struct {
	Tool string
	Args json.RawMessage
}

// Calls returns the calls that a policy has to allow before a merge makes the change: write_file with the path and the
// whole text. No such call removes a file, makes a link, changes permissions or writes bytes that are not UTF-8 text. Such a
// change needs apply_patch, too, which may remove files. The content is then the text of the file after the change, the
// bytes with U+FFFD for those that are not UTF-8 if it is no text, the target of a link, or "".
func (f *File) Calls() []Call {
	path := filepath.Join(f.Dir, filepath.FromSlash(f.Path))
	calls := []Call{{"write_file", arguments(map[string]string{"file_path": path, "content": string(f.content)})}}
	if !f.written {
		calls = append(calls, Call{"apply_patch", arguments(map[string]string{"input": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch\n"})})
	}
	return calls
}

func arguments(args map[string]string) json.RawMessage {
	data, _ := json.Marshal(args) // strings never fail
	return data
}

// call records the arguments of Calls. after is the file after the change.
func (i *item) call(after side) {
	i.content = after.data
	if after.ok {
		i.content = []byte(after.Text)
	}
	if i.want.Kind == link {
		i.content = []byte(i.want.Target)
	}
	mode := i.want.Mode == i.now.Mode || i.now.Kind == absent && i.want.Mode&0o111 == 0
	utf8Text := after.ok && after.Encoding == textfile.UTF8
	i.written = utf8Text && i.want.Kind == regular && (i.now.Kind == regular || i.now.Kind == absent) && mode
}

package fork

import (
	"encoding/json"
	"path/filepath"
)

// Call is a call of a file tool that has the effect of a change.
type Call struct {
	Tool string
	Args json.RawMessage
}

// Calls returns the calls that a policy has to allow before a merge makes the change: write_file with the path and the
// whole text. No such call removes a file, makes a link, changes permissions or writes bytes that are no text. Such a
// change needs apply_patch, too, which may remove files. The content is then that of the file after the change, with
// U+FFFD for bytes that are not UTF-8, the target of a link, or "".
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

// call records the arguments of Calls. content is that of the file after the change; known is false if it is not a text.
func (i *item) call(content []byte, known bool) {
	i.content = content
	if i.want.Kind == link {
		i.content = []byte(i.want.Target)
	}
	mode := i.want.Mode == i.now.Mode || i.now.Kind == absent && i.want.Mode&0o111 == 0
	i.written = known && i.want.Kind == regular && (i.now.Kind == regular || i.now.Kind == absent) && mode
}

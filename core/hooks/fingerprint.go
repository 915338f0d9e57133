package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Project is where a hook's command runs.
type Project struct {
	Folder    string            // absolute
	Settings  string            // name of its settings directory; "": none
	Variables map[string]string // of the command's environment, those that tell places: HOME, and where the project is
}

// Fingerprint says what a project's hook is now.
type Fingerprint struct {
	Sum   string   // SHA-256 of its definition and of Files, in hexadecimal digits
	Files []string // of the project, that it vouches for: relative, with slashes, sorted
	// Open says that the command may run other files of the project too: one that
	// bash works out when it runs, or one that a program looks for by itself.
	Open bool
}

// FingerprintOf looks at a hook of a project. It vouches for each regular file
// below the project that a word of the command, or a value of the hook's
// environment, names as bash would read it, for all of a directory that an
// interpreter is given, and not for what is only written. Where the command is
// [Fingerprint.Open], it also vouches for the programs in the settings directory and
// in the directories hooks and scripts, and for the files anywhere in the project whose
// name stands in the command. What a file runs in its turn is not looked at. The
// error says why the hook cannot be vouched for. (EX-11)
func FingerprintOf(h *Hook, p Project) (Fingerprint, error) {
	definition, err := json.Marshal(struct {
		Event      Event
		Matcher    string
		Sequential bool
		Command    string
		Name       string
		Timeout    int64
		Env        map[string]string
	}{h.Event, strings.TrimSpace(h.Matcher), h.Sequential, h.Command, h.Name, int64(h.limit()), h.Env})
	if err != nil {
		return Fingerprint{}, err
	}
	sum := sha256.New()
	part(sum, "definition", definition)
	vars := map[string]string{"PWD": p.Folder, "workspacePath": p.Folder}
	maps.Copy(vars, p.Variables)
	maps.Copy(vars, h.Env)
	r, err := readCommand(h.Command, p.Folder, vars)
	if err != nil {
		return Fingerprint{}, err
	}
	for _, value := range h.Env {
		r.words = append(r.words, value)
		r.words = append(r.words, strings.Fields(value)...)
	}
	s := newSearch(p)
	s.find(r)
	if s.open {
		s.widen(h, r)
	}
	found := Fingerprint{Open: s.open, Files: []string{}}
	left := int64(maxFileBytes)
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if left, err = addFile(sum, path, left); err != nil {
			return Fingerprint{}, err
		}
		found.Files = append(found.Files, filepath.ToSlash(s.files[path]))
	}
	found.Sum = hex.EncodeToString(sum.Sum(nil))
	return found, nil
}

// maxFileBytes is how many bytes of files a fingerprint is made of.
const maxFileBytes = 64 << 20

// part adds a piece to a sum so that no two pieces can be taken for another.
func part(sum hash.Hash, name string, data []byte) {
	fmt.Fprintf(sum, "%s %d\n", name, len(data))
	sum.Write(data)
}

// addFile adds a file to a sum. It has at the most so many bytes, of which it
// returns those that are left.
func addFile(sum hash.Hash, path string, most int64) (left int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, most+1))
	if err != nil {
		return 0, err
	}
	if n > most {
		return 0, errTooMuch
	}
	part(sum, path, content.Sum(nil))
	return most - n, nil
}

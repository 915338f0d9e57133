package hookrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Project is the project in which a hook's command runs.
type Project struct {
	Dir       string            // absolute
	Settings  string            // name of its settings directory; "" if it has none
	Variables map[string]string // variables of the command's environment with paths: HOME and the project's directory
}

// FingerprintOf computes the fingerprint of a project's hook. It covers each regular
// file below the project that a word of the command, or a value of the hook's
// environment, names in bash syntax. It covers all of a directory that is passed to an
// interpreter, but not files that are only written. If the command is
// open, it also covers the programs in the settings directory and in the
// directories hooks and scripts, and files anywhere in the project whose name occurs in
// the command. Files that those files run are not analysed. The error is the reason why
// there is no fingerprint.
func FingerprintOf(h *hooks.Hook, p Project) (hookresult.Fingerprint, error) {
	definition, err := json.Marshal(struct {
		Event      hooks.Event
		Matcher    string
		Sequential bool
		Command    string
		Name       string
		Timeout    int64
		Env        map[string]string
		Sandbox    bool `json:",omitempty"` // so that the sums of other hooks stay
	}{h.Event, strings.TrimSpace(h.Matcher), h.Sequential, h.Command, h.Name, int64(limit(h)), h.Env, h.Sandbox})
	if err != nil {
		return hookresult.Fingerprint{}, err
	}
	sum := sha256.New()
	part(sum, "definition", definition)
	vars := map[string]string{"PWD": p.Dir, "workspacePath": p.Dir}
	maps.Copy(vars, p.Variables)
	maps.Copy(vars, h.Env)
	r, err := readCommand(h.Command, p.Dir, vars)
	if err != nil {
		return hookresult.Fingerprint{}, err
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
	found := hookresult.Fingerprint{Open: s.open, Files: []string{}}
	left := int64(maxFileBytes)
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if left, err = addFile(sum, path, left); err != nil {
			return hookresult.Fingerprint{}, err
		}
		found.Files = append(found.Files, filepath.ToSlash(s.files[path]))
	}
	found.Sum = hex.EncodeToString(sum.Sum(nil))
	return found, nil
}

// maxFileBytes bounds the bytes of files in a fingerprint.
const maxFileBytes = 64 << 20

// part adds a delimited piece to a hash, so that no two sequences of pieces collide.
func part(sum hash.Hash, name string, data []byte) {
	fmt.Fprintf(sum, "%s %d\n", name, len(data))
	sum.Write(data)
}

// addFile adds a file of at most limit bytes to a hash, and returns how many are left.
func addFile(sum hash.Hash, path string, limit int64) (left int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, limit+1))
	if err != nil {
		return 0, err
	}
	if n > limit {
		return 0, errTooMuch
	}
	part(sum, path, content.Sum(nil))
	return limit - n, nil
}

package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what a fingerprint is made of.
const (
	maxWords     = 256      // of a command
	maxFileBytes = 64 << 20 // of one file
)

// errTooMuch says that a command cannot be vouched for.
var errTooMuch = errors.New("its command names more, or larger, files than are looked at")

// Fingerprint is the SHA-256 of a project's hook: of its definition, and of each
// regular file below project that a word of its command names, by a path that
// counts from project or is absolute. In words, the names of vars, as $NAME or
// ${NAME}, stand for their values. What a command reaches in another way is not
// looked at. The error says why the hook cannot be vouched for.
func Fingerprint(h *Hook, project string, vars map[string]string) (string, error) {
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
		return "", err
	}
	sum := sha256.New()
	part(sum, "definition", definition)
	paths, err := pathsIn(h.Command, project, vars)
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		if err := addFile(sum, path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// part adds a piece to a sum so that no two pieces can be taken for another.
func part(sum hash.Hash, name string, data []byte) {
	fmt.Fprintf(sum, "%s %d\n", name, len(data))
	sum.Write(data)
}

// pathsIn returns the paths below project that a command names, sorted, each once.
func pathsIn(command, project string, vars map[string]string) ([]string, error) {
	for name, value := range vars {
		command = strings.ReplaceAll(command, "${"+name+"}", value)
		command = strings.ReplaceAll(command, "$"+name, value)
	}
	words := words(command, project)
	if len(words) > maxWords {
		return nil, errTooMuch
	}
	var paths []string
	for _, word := range words {
		if !filepath.IsAbs(word) {
			word = filepath.Join(project, word)
		}
		path := filepath.Clean(word)
		if rel, err := filepath.Rel(project, path); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// words are the texts of a command that may be paths: what stands between blanks
// and what is special to a shell, whole and behind an equals sign. A project whose
// own path has a blank in it is found too.
func words(command, project string) []string {
	var all []string
	for _, quoted := range []string{`"`, "'"} {
		for i, text := range strings.Split(command, quoted) {
			if i%2 == 1 {
				all = append(all, text)
			}
		}
	}
	for i := strings.Index(command, project); i >= 0 && project != ""; {
		rest := command[i:]
		end := strings.IndexFunc(rest[len(project):], ends)
		if end < 0 {
			end = len(rest) - len(project)
		}
		all = append(all, rest[:len(project)+end])
		next := strings.Index(rest[len(project):], project)
		if next < 0 {
			break
		}
		i += len(project) + next
	}
	for _, word := range strings.FieldsFunc(command, ends) {
		all = append(all, word)
		if _, value, ok := strings.Cut(word, "="); ok {
			all = append(all, value)
		}
	}
	return all
}

// ends reports whether a character ends a word of a shell.
func ends(r rune) bool { return strings.ContainsRune(" \t\r\n;|&<>()`'\"$", r) }

// addFile adds a file to a sum.
func addFile(sum hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return err
	}
	if n > maxFileBytes {
		return errTooMuch
	}
	part(sum, path, content.Sum(nil))
	return nil
}

// Package adaptertest is what the tests and examples of the adapters share: a
// model whose part is written down, for servers that speak as a provider's do.
package adaptertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Story is a model's part in a conversation about the file greeting.txt of a
// directory: it reads the file and changes it. In between somebody else saves the
// file, so that the change is refused; the refusal brings the file as it is now,
// and the second attempt succeeds.
type Story struct {
	Dir string // the session's directory
}

// Call is one that the model makes.
type Call struct {
	ID, Name string
	Args     json.RawMessage
}

// Begin puts the file into the directory.
func (s Story) Begin() error {
	return os.WriteFile(s.path(), []byte("Hello\nworld\n"), 0o600)
}

// File returns what the file holds.
func (s Story) File() (string, error) {
	data, err := os.ReadFile(s.path())
	return string(data), err
}

func (s Story) path() string { return filepath.Join(s.Dir, "greeting.txt") }

// Next returns what the model does when its calls have got these answers, in
// order and as the provider's wire has them: a call, or what it says at the end.
func (s Story) Next(answers []string) (*Call, string, error) {
	switch len(answers) {
	case 0:
		return call("call_1", "read_file", map[string]string{"file_path": "greeting.txt"})
	case 1:
		if err := os.WriteFile(s.path(), []byte("Hello\nworld\nand you\n"), 0o600); err != nil { // somebody else
			return nil, "", err
		}
		return s.patch("call_2", answers[0])
	case 2:
		return s.patch("call_3", answers[1])
	}
	told := make([]string, len(answers))
	for i, answer := range answers {
		told[i] = Summary(answer)
	}
	return nil, strings.Join(told, "; "), nil
}

// patch changes the greeting, based on the state that an answer holds.
func (s Story) patch(id, answer string) (*Call, string, error) {
	found := hash.FindStringSubmatch(answer)
	if found == nil {
		return nil, "", fmt.Errorf("there is no hash in %s", answer)
	}
	return call(id, "safe_patch", map[string]string{
		"file_path": "greeting.txt", "unified_diff": "@@ -1 +1 @@\n-Hello\n+Good evening\n", "base_content_sha256": found[1],
	})
}

func call(id, name string, args map[string]string) (*Call, string, error) {
	raw, err := json.Marshal(args)
	return &Call{ID: id, Name: name, Args: raw}, "", err
}

// What an answer says, whose JSON may stand in a text of JSON.
var (
	hash    = regexp.MustCompile(`sha256\\*"\s*:\s*\\*"([0-9a-f]{64})`)
	version = regexp.MustCompile(`version\\*"\s*:\s*([0-9]+)`)
)

// Summary says in a few words what an answer holds.
func Summary(answer string) string {
	said := "done"
	var failed struct{ Error struct{ Type string } }
	if json.Unmarshal([]byte(answer), &failed) == nil && failed.Error.Type != "" {
		said = failed.Error.Type
	}
	if found := version.FindStringSubmatch(answer); found != nil {
		said += ", version " + found[1]
	}
	return said
}

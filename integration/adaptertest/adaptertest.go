// Package adaptertest has the common parts of the adapters' tests and examples: a
// scripted model for servers that imitate a provider.
package adaptertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Story is a scripted conversation about the file greeting.txt of a directory: the
// model reads the file and changes it. In between another program saves the file, so
// that the change is refused; the refusal contains the current file, and the second
// attempt succeeds.
type Story struct {
	Dir string // the session's directory
}

// Call is a tool call of the model.
type Call struct {
	ID, Name string
	Args     json.RawMessage
}

// Begin creates the file.
func (s Story) Begin() error {
	return os.WriteFile(s.path(), []byte("Hello\nworld\n"), 0o600)
}

// File returns the content of the file.
func (s Story) File() (string, error) {
	data, err := os.ReadFile(s.path())
	return string(data), err
}

func (s Story) path() string { return filepath.Join(s.Dir, "greeting.txt") }

// Next returns the model's next step after its calls received these results, in order
// and in the provider's wire format: a call, or the final text.
func (s Story) Next(answers []string) (*Call, string, error) {
	switch len(answers) {
	case 0:
		return call("call_1", "read_file", map[string]string{"file_path": "greeting.txt"})
	case 1:
		if err := os.WriteFile(s.path(), []byte("Hello\nworld\nand you\n"), 0o600); err != nil { // another program
			return nil, "", err
		}
		return s.patch("call_2", answers[0])
	case 2:
		return s.patch("call_3", answers[1])
	}
	summaries := make([]string, len(answers))
	for i, answer := range answers {
		summaries[i] = Summary(answer)
	}
	return nil, strings.Join(summaries, "; "), nil
}

// patch changes the greeting, based on the state object in a result.
func (s Story) patch(id, answer string) (*Call, string, error) {
	found := hash.FindStringSubmatch(answer)
	if found == nil {
		return nil, "", fmt.Errorf("no hash in %s", answer)
	}
	return call(id, "safe_patch", map[string]string{
		"file_path": "greeting.txt", "unified_diff": "@@ -1 +1 @@\n-Hello\n+Good evening\n", "base_content_sha256": found[1],
	})
}

func call(id, name string, args map[string]string) (*Call, string, error) {
	raw, err := json.Marshal(args)
	return &Call{ID: id, Name: name, Args: raw}, "", err
}

// Patterns for a result, whose JSON may be nested in a JSON string.
var (
	hash    = regexp.MustCompile(`sha256\\*"\s*:\s*\\*"([0-9a-f]{64})`)
	version = regexp.MustCompile(`version\\*"\s*:\s*([0-9]+)`)
)

// Summary summarizes a result in a few words.
func Summary(answer string) string {
	summary := "done"
	var failed struct{ Error struct{ Type string } }
	if json.Unmarshal([]byte(answer), &failed) == nil && failed.Error.Type != "" {
		summary = failed.Error.Type
	}
	if found := version.FindStringSubmatch(answer); found != nil {
		summary += ", version " + found[1]
	}
	return summary
}

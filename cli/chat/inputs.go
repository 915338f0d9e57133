package chat

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// inputs is the input history of a project. The zero value keeps inputs for this
// session only. It is safe for concurrent use.
type inputs struct {
	path string // file with one JSON string per line; "": none

	mu   sync.Mutex
	list []string // oldest first
}

const (
	inputsFile     = "inputs.jsonl"
	mostInputs     = 1000    // entries kept
	mostInputBytes = 1 << 20 // of an input that is saved to the file
)

// open loads the inputs of earlier sessions and saves new ones from then on. An
// unreadable entry is skipped.
func (i *inputs) open(dir string) {
	if dir == "" {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.path = filepath.Join(dir, inputsFile)
	f, err := os.Open(i.path)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // nothing was written
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*mostInputBytes)
	i.list = nil // in a session that is opened again, the file has its inputs
	read := 0
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			read++
			i.append(text)
		}
	}
	if read > 2*mostInputs {
		i.shorten()
	}
}

// append adds an input unless it repeats the previous one.
func (i *inputs) append(text string) {
	if n := len(i.list); n > 0 && i.list[n-1] == text {
		return
	}
	if i.list = append(i.list, text); len(i.list) > mostInputs {
		i.list = slices.Delete(i.list, 0, len(i.list)-mostInputs)
	}
}

// shorten rewrites the file with the kept inputs. i.mu is held.
func (i *inputs) shorten() {
	var data []byte
	for _, text := range i.list {
		if line, err := json.Marshal(text); err == nil {
			data = append(append(data, line...), '\n')
		}
	}
	next := i.path + ".new"
	if os.WriteFile(next, data, 0o600) == nil {
		_ = os.Rename(next, i.path) // if it fails, the file stays long
	}
}

// add appends an input to the history and to the file. A write error only hides the
// input from later sessions.
func (i *inputs) add(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.append(text)
	if i.path == "" || len(text) > mostInputBytes {
		return
	}
	line, err := json.Marshal(text)
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(i.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(i.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}

func (i *inputs) all() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.list)
}

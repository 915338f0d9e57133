package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// account is a file of the long session with its expected content.
type account struct {
	mu   sync.Mutex // held by the worker that uses it
	name string
	want string
	n    int // changes so far
}

func (a *account) check(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && string(data) != a.want {
		err = fmt.Errorf("%s contains %q, want %q", a.name, clip(string(data)), clip(a.want))
	}
	return err
}

func clip(text string) string {
	if len(text) > 200 {
		return "…" + text[len(text)-200:]
	}
	return text
}

// changes reads a file, sometimes lets another program change it, and changes it with each of the
// tools. A change based on a stale version is refused with the current file.
func changes(ctx context.Context, s *soak, r *rand.Rand) error {
	c, a := s.long, s.files[r.IntN(len(s.files))]
	a.mu.Lock()
	defer a.mu.Unlock()
	path := filepath.Join(c.dir, a.name)
	for range 1 + r.IntN(6) {
		state, err := c.read(ctx, a.name)
		if err != nil {
			return err
		}
		if state.Content == nil || *state.Content != a.want {
			return fmt.Errorf("%s is shown as %+v and contains %q", a.name, state, clip(a.want))
		}
		base := a.want
		outside := r.IntN(3) == 0
		if outside {
			a.n++
			a.want += fmt.Sprintf("outside %d\n", a.n)
			if err := elsewhere(path, a.want, r.IntN(2) == 0); err != nil {
				return err
			}
		}
		tool, args, next := change(a, base, r)
		answer := c.call(ctx, tool, args)
		var report file.Report
		if err := json.Unmarshal([]byte(answer.Result.LLMContent.String()), &report); err != nil {
			return fmt.Errorf("%s answers %q: %w", tool, answer.Result.LLMContent.String(), err)
		}
		switch failure := fault.As(answer.Result.Error); {
		case failure != nil && failure.Reason == fault.OpenElsewhere:
			// A child process inherits every descriptor of this process, including that of a file
			// that was just written, and keeps it until it runs its program.
			s.mu.Lock()
			s.held++
			s.mu.Unlock()
		case !outside && answer.Status == scheduler.StatusSuccess:
			a.want = next
		case outside && fault.CodeOf(answer.Result.Error) == fault.FileChangedSinceRead:
			if got := report.LatestFileState.Content; got == nil || *got != a.want {
				return fmt.Errorf("%s refuses with %+v and the error %w; the file contains %q", tool, report.LatestFileState, answer.Result.Error, clip(a.want))
			}
		default:
			return fmt.Errorf("%s of %s, which another program changed: %v: %s: %w", tool, a.name, outside, answer.Status, answer.Result.Error)
		}
		if err := a.check(path); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere writes a file as another program, in place or with a rename as editors
// do.
func elsewhere(path, text string, rename bool) error {
	if !rename {
		return os.WriteFile(path, []byte(text), 0o644)
	}
	beside := filepath.Join(filepath.Dir(filepath.Dir(path)), "other-"+filepath.Base(path))
	if err := os.WriteFile(beside, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// change returns a call that changes a file with content base, and the new content.
func change(a *account, base string, r *rand.Rand) (tool string, args map[string]any, next string) {
	a.n++
	line := fmt.Sprintf("change %d by a tool\n", a.n)
	sum := filestate.Sum([]byte(base))
	lines := strings.SplitAfter(strings.TrimSuffix(base, "\n"), "\n")
	last := strings.TrimSuffix(lines[len(lines)-1], "\n")
	if len(lines) > 120 { // so that files stay small
		next = "first\n" + line
		return "write_file", map[string]any{"file_path": a.name, "content": next, "base_content_sha256": sum}, next
	}
	next = base + line
	switch r.IntN(3) {
	case 0:
		return "safe_patch", map[string]any{
			"file_path": a.name, "base_content_sha256": sum,
			"unified_diff": fmt.Sprintf("@@ -%d,1 +%d,2 @@\n %s\n+%s", len(lines)+r.IntN(9), len(lines), last, line),
		}, next
	case 1:
		return "edit", map[string]any{"file_path": a.name, "old_string": last + "\n", "new_string": last + "\n" + line}, next
	default:
		return "write_file", map[string]any{"file_path": a.name, "content": next, "base_content_sha256": sum}, next
	}
}

// read reads a whole file, also if it was shown before.
func (c *session) read(ctx context.Context, name string) (state filestate.State, err error) {
	text, err := c.must(ctx, "read_file", map[string]any{"file_path": name, "offset": 0, "limit": 2000})
	if err != nil {
		return state, err
	}
	return state, json.Unmarshal([]byte(text), &state)
}

// searches searches for existing files, with concurrent calls.
func searches(ctx context.Context, s *soak, r *rand.Rand) error {
	c := s.long
	all := []struct {
		tool string
		args map[string]any
	}{
		{"glob", map[string]any{"pattern": "**/f*.txt"}}, {"search_file_content", map[string]any{"pattern": "^first$"}},
		{"search_file_content", map[string]any{"pattern": fmt.Sprintf("change [%d]", r.IntN(10)), "context": 1}},
		{"list_directory", map[string]any{"dir_path": "."}}, {"read_many_files", map[string]any{"paths": []string{stable + "/f0*.txt"}}},
	}
	errs := make([]error, len(all))
	var together sync.WaitGroup
	for i, one := range all {
		together.Go(func() {
			text, err := c.must(ctx, one.tool, one.args)
			if err == nil && i != 2 && !strings.Contains(text, "f00.txt") {
				err = fmt.Errorf("%s does not find f00.txt: %q", one.tool, clip(text))
			}
			errs[i] = err
		})
	}
	together.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

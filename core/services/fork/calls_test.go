package fork_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
)

// FK-05: the calls that a policy decides about for each kind of change: the whole text as write_file would write it, and
// a second tool for everything that write_file cannot do.
func TestCalls(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		p := newProject(t, map[string]string{"both": ten, "text": "a\n", "run": "a\n", "gone": "a\n", "link": "-> text", "bytes": "\x00a", "latin": latin1(german), "old": "-> text"})
		p.mode = mode
		f := p.create("one")
		p.change(f, map[string]string{"both": first(ten), "text": "b\n", "run": "x!a\n", "gone": "gone", "link": "-> both", "bytes": "\x00b", "latin": latin1(second(german)), "new": "n\n", "script": "x!n\n", "old": "gone"})
		p.write(map[string]string{"both": last(ten)})
		r, err := f.Compare(t.Context(), nil)
		require.NoError(t, err)
		want := map[string][]string{
			"both": {last(first(ten))}, "text": {"b\n"}, "new": {"n\n"},
			"run": {"a\n", "removed"}, "gone": {"", "removed"}, "link": {"both", "removed"}, "bytes": {"\x00b", "removed"}, "latin": {second(german), "removed"}, "script": {"n\n", "removed"}, "old": {"", "removed"},
		}
		got := map[string][]string{}
		for _, file := range r.Files {
			path := filepath.Join(p.dir, file.Path)
			for n, call := range file.Calls() {
				var args map[string]string
				require.NoError(t, json.Unmarshal(call.Args, &args))
				if n > 0 {
					require.Equal(t, "apply_patch", call.Tool)
					require.Equal(t, map[string]string{"input": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch\n"}, args)
					got[file.Path] = append(got[file.Path], "removed")
					continue
				}
				require.Equal(t, "write_file", call.Tool)
				require.Equal(t, path, args["file_path"])
				got[file.Path] = append(got[file.Path], args["content"])
			}
		}
		require.Equal(t, want, got)
	})
}

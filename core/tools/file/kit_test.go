package file_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// Every tool fulfils the contract of tools (TE-10, TO-15).
func TestToolsKeepTheContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ examples, failing, bad []args }{
		file.ReadFile: {
			[]args{{"file_path": "a.txt"}, {"file_path": "a.txt", "offset": 1, "limit": 1}, {"absolute_path": "a.txt"}, {"file_path": "a.txt", "start_line": 2}},
			[]args{{"file_path": "absent"}, {"file_path": "dir"}, {"file_path": "a.txt", "offset": 99}},
			[]args{{}, {"file_path": ""}, {"file_path": "a.txt", "offset": -1}, {"file_path": "/etc/passwd"}},
		},
		file.ReadManyFiles: {
			[]args{{"paths": []string{"a.txt", "*.md"}}, {"paths": []string{"**"}, "exclude": []string{"dir/**"}}},
			nil,
			[]args{{}, {"paths": []string{}}, {"paths": []string{""}}, {"paths": []string{"a"}, "exclude": []string{"["}}},
		},
		file.ListDirectory: {
			[]args{{"dir_path": "."}, {"path": "dir", "ignore": []string{"*.o"}}},
			[]args{{"dir_path": "absent"}, {"dir_path": "a.txt"}},
			[]args{{}, {"dir_path": ""}, {"dir_path": ".", "ignore": []string{"["}}, {"dir_path": ".."}},
		},
		file.SafePatch: {
			[]args{mutators[0].change("a.txt"), mutators[0].create("new/b.txt")},
			[]args{patchArgs("a.txt", baseDiff, wrong), patchArgs("a.txt", "prose", sum(base)), patchArgs("dir", baseDiff, wrong)},
			[]args{{}, patchArgs("a.txt", baseDiff, "abc"), patchArgs("", baseDiff, wrong), patchArgs("../a", baseDiff, wrong)},
		},
		file.WriteFile: {
			[]args{mutators[1].change("a.txt"), mutators[1].create("new/b.txt")},
			[]args{writeArgs("a.txt", "x", ""), writeArgs("a.txt", "x", wrong), writeArgs("dir", "x", "")},
			[]args{{}, {"file_path": "a.txt"}, writeArgs("a.txt", "x", "abc"), writeArgs("../a", "x", "")},
		},
		file.Edit: {
			[]args{mutators[2].change("a.txt"), mutators[2].create("new/b.txt")},
			[]args{editArgs("a.txt", "absent", "x"), editArgs("unread.txt", "two", "x"), editArgs("dir", "a", "b")},
			[]args{{}, {"file_path": "a.txt", "old_string": "a"}, editArgs("", "a", "b"), editArgs("../a", "a", "b")},
		},
		file.ApplyPatch: {
			[]args{{"input": envelope(two("a.txt"))}, {"input": envelope(two("a.txt"), added("new/b.txt"))}, {"input": envelope("*** Delete File: a.txt\n")}},
			[]args{{"input": envelope(two("unread.txt"))}, {"input": envelope(added("new/b.txt"), two("dir"))}, {"input": envelope(two("a.txt")), "bases": args{"a.txt": wrong}}},
			[]args{{}, {"input": "prose"}, {"input": envelope(two("../a"))}, {"input": envelope(two("a.txt")), "bases": args{"b.txt": wrong}}},
		},
		file.TextEditor: {
			[]args{
				mutators[4].change("a.txt"), mutators[4].create("new/b.txt"), {"command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": "x"},
				{"command": "insert", "path": "a.txt", "insert_line": "0", "new_str": "x", "old_str": "", "view_range": []int{}},
				{"command": "view", "path": "a.txt"}, {"command": "view", "path": "dir"}, {"command": "view", "path": "a.txt", "view_range": []int{2, -1}},
			},
			[]args{
				{"command": "str_replace", "path": "a.txt", "old_str": "absent"}, {"command": "str_replace", "path": "unread.txt", "old_str": "two"},
				{"command": "create", "path": "a.txt", "file_text": ""}, {"command": "insert", "path": "a.txt", "insert_line": 9, "insert_text": "x"},
				{"command": "view", "path": "absent"}, {"command": "view", "path": "dir", "view_range": []int{1, 2}}, {"command": "view", "path": "a.txt", "view_range": []int{9, 9}},
			},
			[]args{
				{}, {"command": "undo_edit", "path": "a.txt"}, {"command": "view", "path": ""}, {"command": "view", "path": "../a"}, {"command": "create", "path": "b.txt"},
				{"command": "view", "path": "a.txt", "view_range": []int{0, 1}}, {"command": "view", "path": "a.txt", "view_range": []int{3, 2}},
				{"command": "view", "path": "a.txt", "old_str": "x"}, {"command": "str_replace", "path": "a.txt", "old_str": ""}, {"command": "str_replace", "path": "a.txt"},
				{"command": "insert", "path": "a.txt", "insert_line": -1, "insert_text": "x"}, {"command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": ""},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := func(list []args) (raw []json.RawMessage) {
				for _, a := range list {
					raw = append(raw, jsonOf(t, a))
				}
				return raw
			}
			tooltest.Run(t, nil, tooltest.Cases{
				Examples: all(c.examples), Failing: all(c.failing), Bad: all(c.bad),
				Fresh: func(t testing.TB) tools.DeclarativeTool {
					s := newSession(t)
					s.Write("a.txt", base)
					s.Write("unread.txt", base)
					s.Write("b.md", "b")
					require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
					read(t, s, "a.txt")
					return toolOf(t, s, name)
				},
			})
		})
	}
}

// TO-15: the package offers exactly the tools of its factories. Their schemas compile, and only edit,
// apply_patch and str_replace_based_edit_tool are not default tools.
func TestFactories(t *testing.T) {
	all, err := file.Factories()
	require.NoError(t, err)
	var names []string
	for _, f := range all {
		names = append(names, f.Spec().Name)
		require.NoError(t, f.Compile())
		require.Equal(t, !slices.Contains([]string{file.Edit, file.ApplyPatch, file.TextEditor}, f.Spec().Name), file.InDefaultSet(f.Spec().Name))
	}
	require.Equal(t, allTools, names)
}

package file_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// keysInOrder returns the keys of a JSON object in the order of its text.
func keysInOrder(t testing.TB, object json.RawMessage) (keys []string, values map[string]json.RawMessage) {
	t.Helper()
	values = map[string]json.RawMessage{}
	d := json.NewDecoder(strings.NewReader(string(object)))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
		keys, values[key.(string)] = append(keys, key.(string)), value
	}
	return keys, values
}

// longPath returns the name of a file whose absolute path has 100 characters.
func longPath(t testing.TB, s *configtest.Session) string {
	t.Helper()
	name := strings.Repeat("x", 100-len(s.Dir)-1)
	require.Len(t, filepath.Join(s.Dir, name), 100)
	return name
}

// ST-07: version and hash come first in each state, after success and message. The hash is within the first 300 bytes,
// so clients that cut long results keep it.
func TestHashesStandFirst(t *testing.T) {
	requireFirst := func(t *testing.T, r scheduler.Response, code fault.Code) {
		t.Helper()
		require.Equal(t, code == "", r.Result.Error == nil)
		require.True(t, code == "" || r.Result.Error.Code == code, "%v", r.Result.Error)
		text := r.Result.LLMContent.String()
		state := json.RawMessage(text)
		keys, values := keysInOrder(t, state)
		if keys[0] == "success" {
			require.Equal(t, []string{"success", "message", "latest_file_state"}, keys[:3])
			state = values["latest_file_state"]
			keys, values = keysInOrder(t, state)
		}
		require.Equal(t, []string{"version", "sha256", "file_path"}, keys[:3])
		if slices.Contains(keys, "content") {
			require.Equal(t, "content", keys[3])
		}
		var hash string
		require.NoError(t, json.Unmarshal(values["sha256"], &hash))
		require.Len(t, hash, 64)
		at := strings.Index(text, hash)
		require.Greater(t, at, 0)
		require.LessOrEqual(t, at+len(hash), 300, "%.400s", text)
	}
	for _, above := range []int{-1, 1} {
		t.Run(fmt.Sprint("regions above ", above), func(t *testing.T) {
			s := newSession(t, regionsAbove(above))
			name := longPath(t, s)
			text := numbered(400)
			s.Write(name, text)
			hash := func() string { return sum(s.Read(name)) }
			requireFirst(t, s.Call(file.ReadFile, args{"file_path": name}), "")
			requireFirst(t, s.Call(file.ReadFile, args{"file_path": name}), "") // a placeholder
			requireFirst(t, s.Call(file.ReadFile, args{"file_path": name, "offset": 3}), "")
			requireFirst(t, s.Call(file.SafePatch, patchArgs(name, "@@ @@\n-line 50 of the text\n+fifty\n", hash())), "")
			requireFirst(t, s.Call(file.WriteFile, writeArgs(name, text, hash())), "")
			requireFirst(t, s.Call(file.Edit, editArgs(name, "line 50 of the text", "fifty")), "")
			requireFirst(t, s.Call(file.SafePatch, patchArgs(name, "@@ @@\n-line 51 of the text\n+x\n", wrong)), fault.FileChangedSinceRead)
			requireFirst(t, s.Call(file.WriteFile, writeArgs(name, text, wrong)), fault.FileChangedSinceRead)
			requireFirst(t, s.Call(file.WriteFile, writeArgs(name, text, "")), fault.BaseHashRequired)
			s.Write(name, text)
			requireFirst(t, s.Call(file.Edit, editArgs(name, "line 51 of the text", "x")), fault.FileChangedSinceRead)
			s.Write(name, text+"more\n")
			requireFirst(t, s.Call(file.WriteFile, writeArgs(name, "x", "")), fault.FileChangedSinceRead)
		})
	}
}

// ST-07: also for the elements of read_many_files. An unreadable one has its path and the error.
func TestOrderOfElements(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	r := s.Call(file.ReadManyFiles, args{"paths": []string{"a.txt", "absent"}})
	var elements []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(r.Result.LLMContent.String()), &elements))
	keys, _ := keysInOrder(t, elements[0])
	require.Equal(t, []string{"version", "sha256", "file_path", "content"}, keys)
	keys, values := keysInOrder(t, elements[1])
	require.Equal(t, []string{"file_path", "error"}, keys)
	keys, _ = keysInOrder(t, values["error"])
	require.Equal(t, []string{"type", "message", "remedy"}, keys)
}

// ST-07: all keys of a state, in order.
func TestOrderOfAState(t *testing.T) {
	one, text := int64(1), "x"
	lines, total := [2]int{1, 2}, 3
	data, err := json.Marshal(filestate.State{
		Version: &one, SHA256: &text, FilePath: "/a", Content: &text,
		Truncated: true, LinesShown: &lines, TotalLines: &total, NextOffset: &total,
		ChangedRegions: []patch.Region{}, Notice: "n",
	})
	require.NoError(t, err)
	keys, _ := keysInOrder(t, data)
	require.Equal(t, []string{"version", "sha256", "file_path", "content", "truncated", "lines_shown", "total_lines", "next_offset",
		"changed_regions", "notice"}, keys)
}

// ST-07: the message of a refusal ends with its remedy, with line breaks. Without a state to show, the remedy is to
// read the file.
func TestMessagesEndWithTheRemedy(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Session.Limits.Lines = 3 })
	path := s.Write("a.txt", base)
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n one\n-2\n+x\n three\n", sum(base))), fault.InvalidDiff, "")
	require.Contains(t, report.Message, "The file has:\n1: \"one\"\n")
	require.True(t, strings.HasSuffix(report.Message, "Copy context and removed lines from the file's current content."), report.Message)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x\n", 1<<18)), 0o644))
	report = refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, wrong)), fault.FileChangedSinceRead, fault.Changed)
	require.False(t, report.LatestFileState.Shown())
	require.Contains(t, report.Message, filestate.StateMismatch+" Call read_file on "+path)
}

package file_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
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

// requireOrder requires that the result of a file tool has its keys in order. has reports whether its state, or the first
// one of an array, has a hash, which then ends within the first 300 bytes.
func requireOrder(t *testing.T, r scheduler.Response) (has bool) {
	t.Helper()
	text := r.Result.LLMContent.String()
	switch text[0] {
	case '[':
		var elements []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &elements))
		for i, e := range elements {
			if keys, values := keysInOrder(t, e); keys[0] == "file_path" {
				require.Equal(t, []string{"file_path", "error"}, keys)
				keys, _ = keysInOrder(t, values["error"])
				require.Equal(t, []string{"type", "message", "remedy"}, keys)
				continue
			}
			if hash := requireStateOrder(t, e); i == 0 && hash != "" {
				has = requireNearStart(t, text, hash)
			}
		}
		return has
	case '{':
	default:
		return false
	}
	keys, values := keysInOrder(t, json.RawMessage(text))
	if keys[0] == "dir_path" {
		require.Equal(t, []string{"dir_path", "entries"}, keys[:2])
		return false
	}
	state := json.RawMessage(text)
	if keys[0] == "success" {
		if len(keys) > 2 && keys[2] == "latest_file_states" {
			require.Equal(t, []string{"success", "message"}, keys[:2])
			var states []json.RawMessage
			require.NoError(t, json.Unmarshal(values[keys[2]], &states))
			for _, st := range states {
				requireStateOrder(t, st)
			}
			return requireNearStart(t, text, requireStateOrder(t, states[0]))
		}
		require.Equal(t, []string{"success", "message", "latest_file_state"}, keys[:3])
		require.True(t, isSubsequence(keys[3:], []string{"corrections", "kept_files"}), "%q", keys)
		state = values["latest_file_state"]
		var message string
		require.NoError(t, json.Unmarshal(values["message"], &message))
		if err := r.Result.Error; err != nil && !strings.HasSuffix(message, "…") {
			require.True(t, strings.HasSuffix(message, err.Remedy), message)
		}
	}
	hash := requireStateOrder(t, state)
	return hash != "" && requireNearStart(t, text, hash)
}

// requireNearStart requires that hash ends within the first 300 bytes of text, and returns true.
func requireNearStart(t *testing.T, text, hash string) bool {
	t.Helper()
	at := strings.Index(text, hash)
	require.Greater(t, at, 0)
	require.LessOrEqual(t, at+len(hash), 300, "%.400s", text)
	return true
}

// requireStateOrder requires that a state or a placeholder has its keys in order, and returns its hash.
func requireStateOrder(t *testing.T, state json.RawMessage) (hash string) {
	t.Helper()
	keys, values := keysInOrder(t, state)
	require.Equal(t, []string{"version", "sha256", "file_path"}, keys[:3])
	rest := []string{"content", "truncated", "lines_shown", "total_lines", "next_offset", "changed_regions", "notice"}
	if slices.Contains(keys, "status") {
		rest = []string{"status", "advice"}
	} else {
		require.Equal(t, "content", keys[3])
	}
	require.True(t, isSubsequence(keys[3:], rest), "%q", keys)
	if string(values["sha256"]) != "null" {
		require.NoError(t, json.Unmarshal(values["sha256"], &hash))
		require.Len(t, hash, 64)
	}
	return hash
}

// isSubsequence reports whether part has elements of all only, in the same order.
func isSubsequence(part, all []string) bool {
	for _, p := range part {
		i := slices.Index(all, p)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

// ending is one way in which a call of a file tool ends. The file has 400 lines before.
type ending struct {
	known bool                   // it was read
	now   string                 // its content at the call; "": unchanged
	also  func(path string)      // changes the file system before the call; nil: nothing
	args  func(name string) args // of the call
	edit  bool                   // the user edits the proposal
	code  fault.Code             // "": a success
	hash  bool                   // the result has a hash; if the file is longer than a result, a refusal may have none
}

// endings returns the endings of each tool by description. edit is the name of the tool edit; paged means that the file
// is longer than a result.
func endings(edit string, paged bool) map[string]map[string]ending {
	text := numbered(400)
	stale := text + "more\n"
	const good, bad, image = "@@ @@\n-line 50 of the text\n+fifty\n", "@@ @@\n-nothing\n+x\n", "\x89PNG\r\n\x1a\n\x00\x00"
	remove := func(path string) { _ = os.Remove(path) }
	directory := func(path string) { remove(path); _ = os.Mkdir(path, 0o755) }
	readOf := func(more args) func(string) args {
		return func(name string) args {
			a := args{"file_path": name}
			maps.Copy(a, more)
			return a
		}
	}
	many := func(more ...string) func(string) args {
		return func(name string) args { return args{"paths": append([]string{name}, more...)} }
	}
	patches := func(diff, hash string) func(string) args {
		return func(name string) args { return patchArgs(name, diff, hash) }
	}
	writes := func(content, hash string) func(string) args {
		return func(name string) args { return writeArgs(name, content, hash) }
	}
	edited := func(old, replacement string) func(string) args {
		return func(name string) args { return editArgs(name, old, replacement) }
	}
	const update = "*** Update File: NAME\n@@\n-line 50 of the text\n+fifty\n"
	inputs := func(sections ...string) func(string) args {
		return func(name string) args { return args{"input": strings.ReplaceAll(envelope(sections...), "NAME", name)} }
	}
	return map[string]map[string]ending{
		file.ReadFile: {
			"new":                {args: readOf(nil), hash: !paged},
			"again":              {known: true, args: readOf(nil), hash: true},
			"range":              {args: readOf(args{"offset": 3, "limit": 2})},
			"range of the known": {known: true, args: readOf(args{"offset": 3, "limit": 2}), hash: true},
			"beyond the end":     {args: readOf(args{"offset": 4000}), code: fault.InvalidToolParams},
			"image":              {now: image, args: readOf(nil)},
			"absent":             {also: remove, args: readOf(nil), code: fault.FileNotFound},
			"directory":          {also: directory, args: readOf(nil), code: fault.TargetIsDirectory},
		},
		file.ReadManyFiles: {
			"one":                {args: many(), hash: !paged},
			"a short one":        {now: "one\n", args: many("absent", "*.none"), hash: true},
			"image and absent":   {now: image, args: many("absent")},
			"directory":          {also: directory, args: many()},
			"outside":            {now: "one\n", args: many("/outside"), hash: true},
			"without parameters": {args: func(string) args { return args{} }, code: fault.InvalidToolParams},
		},
		file.ListDirectory: {
			"listed": {args: func(string) args { return args{"dir_path": "."} }},
			"a file": {args: func(name string) args { return args{"dir_path": name} }, code: fault.PathIsNotADirectory},
		},
		file.SafePatch: {
			"changed":             {known: true, args: patches(good, sum(text)), hash: true},
			"corrected":           {known: true, args: patches("@@ -7,1 +7,1 @@\n-line 50 of the text\n+fifty\n", sum(text)), hash: true},
			"short hash":          {known: true, args: patches(good, sum(text)[:12]), hash: true},
			"by the hash alone":   {args: patches(good, sum(text)), hash: true},
			"edited by the user":  {known: true, edit: true, args: patches(good, sum(text)), hash: true},
			"created":             {also: remove, args: patches(addDiff, absent), hash: true},
			"stale":               {known: true, now: stale, args: patches(good, sum(text)), code: fault.FileChangedSinceRead, hash: true},
			"wrong hash":          {known: true, args: patches(good, wrong), code: fault.FileChangedSinceRead, hash: true},
			"never read":          {args: patches(good, wrong), code: fault.EditRequiresPriorRead},
			"does not fit":        {known: true, args: patches(bad, sum(text)), code: fault.InvalidDiff, hash: true},
			"no diff":             {known: true, args: patches("prose", sum(text)), code: fault.InvalidDiff, hash: true},
			"unknown short hash":  {known: true, args: patches(good, wrong[:12]), code: fault.InvalidToolParams},
			"disappeared":         {known: true, also: remove, args: patches(good, sum(text)), code: fault.FileChangedSinceRead},
			"directory":           {also: directory, args: patches(good, sum(text)), code: fault.TargetIsDirectory},
			"image":               {now: image, args: patches(good, sum(image)), code: fault.EditRequiresPriorRead},
			"without a parameter": {args: readOf(nil), code: fault.InvalidToolParams},
		},
		file.WriteFile: {
			"replaced":            {known: true, args: writes("x", sum(text)), hash: true},
			"nothing changed":     {known: true, args: writes(text, sum(text)), hash: true},
			"long":                {known: true, args: writes(stale, sum(text)), hash: true},
			"by the hash alone":   {args: writes("x", sum(text)), hash: true},
			"edited by the user":  {known: true, edit: true, args: writes("x", sum(text)), hash: true},
			"created":             {also: remove, args: writes("x", ""), hash: true},
			"stale":               {known: true, now: stale, args: writes("x", sum(text)), code: fault.FileChangedSinceRead, hash: true},
			"stale, no hash":      {known: true, now: stale, args: writes("x", ""), code: fault.FileChangedSinceRead, hash: true},
			"no hash":             {known: true, args: writes("x", ""), code: fault.BaseHashRequired, hash: true},
			"never read":          {args: writes("x", ""), code: fault.EditRequiresPriorRead},
			"disappeared":         {known: true, also: remove, args: writes("x", sum(text)), code: fault.FileChangedSinceRead},
			"directory":           {also: directory, args: writes("x", ""), code: fault.TargetIsDirectory},
			"without a parameter": {args: readOf(nil), code: fault.InvalidToolParams},
		},
		file.ApplyPatch: {
			"changed":             {known: true, args: inputs(update), hash: true},
			"edited by the user":  {known: true, edit: true, args: inputs(update), hash: true},
			"two files":           {known: true, args: inputs(update, "*** Add File: b.txt\n+x\n"), hash: true},
			"created":             {also: remove, args: inputs("*** Add File: NAME\n+x\n"), hash: true},
			"moved":               {known: true, args: inputs("*** Update File: NAME\n*** Move to: b.txt\n"), hash: true},
			"deleted":             {known: true, args: inputs("*** Delete File: NAME\n")},
			"stale":               {known: true, now: stale, args: inputs(update), code: fault.FileChangedSinceRead, hash: true},
			"one of two stale":    {known: true, now: stale, args: inputs("*** Add File: b.txt\n+x\n", update), code: fault.FileChangedSinceRead, hash: true},
			"never read":          {args: inputs(update), code: fault.EditRequiresPriorRead},
			"no place":            {known: true, args: inputs("*** Update File: NAME\n@@\n-nothing\n+x\n"), code: fault.InvalidDiff, hash: true},
			"exists":              {known: true, args: inputs("*** Add File: NAME\n+x\n"), code: fault.AttemptToCreateExist, hash: true},
			"disappeared":         {known: true, also: remove, args: inputs(update), code: fault.FileChangedSinceRead},
			"directory":           {also: directory, args: inputs(update), code: fault.TargetIsDirectory},
			"no patch":            {args: inputs(), code: fault.InvalidDiff},
			"without a parameter": {args: readOf(nil), code: fault.InvalidToolParams},
		},
		edit: {
			"changed":             {known: true, args: edited("line 50 of the text", "fifty"), hash: true},
			"edited by the user":  {known: true, edit: true, args: edited("line 50 of the text", "fifty"), hash: true},
			"created":             {also: remove, args: edited("", "x"), hash: true},
			"stale":               {known: true, now: stale, args: edited("line 50 of the text", "x"), code: fault.FileChangedSinceRead, hash: true},
			"never read":          {args: edited("line 50 of the text", "x"), code: fault.EditRequiresPriorRead},
			"absent text":         {known: true, args: edited("nothing", "x"), code: fault.EditNoOccurrenceFound, hash: true},
			"many places":         {known: true, args: edited("of the text", "x"), code: fault.EditOccurrenceMismatch, hash: true},
			"no change":           {known: true, args: edited("text", "text"), code: fault.EditNoChange, hash: true},
			"exists":              {known: true, args: edited("", "x"), code: fault.AttemptToCreateExist, hash: true},
			"disappeared":         {known: true, also: remove, args: edited("line 50 of the text", "x"), code: fault.FileChangedSinceRead},
			"directory":           {also: directory, args: edited("a", "b"), code: fault.TargetIsDirectory},
			"without a parameter": {args: readOf(nil), code: fault.InvalidToolParams},
		},
	}
}

// requireEnding makes the call of e in a new session, and requires its ending and the order of its keys.
func requireEnding(t *testing.T, tool string, e ending, paged bool, setUp func(*config.Parameters)) {
	s := newSession(t, setUp, func(p *config.Parameters) { p.Policy.ApprovalMode = "default" })
	name := longPath(t, s)
	path := s.Write(name, numbered(400))
	for next := 0; e.known; {
		st := read(t, s, name, args{"offset": next})
		if st.NextOffset == nil {
			break
		}
		next = *st.NextOffset
	}
	if e.known && !paged {
		s.Call(file.ReadFile, args{"file_path": name}) // the next complete read returns a placeholder
	}
	if e.now != "" {
		s.Write(name, e.now)
	}
	if e.also != nil {
		e.also(path)
	}
	if e.edit {
		s.Edit = func(q bus.ToolConfirmationRequest) string { return q.Details.NewContent + "four\n" }
		s.Answer = func(q bus.ToolConfirmationRequest) bus.Outcome {
			if q.Modified {
				return bus.ProceedOnce
			}
			return bus.ModifyWithEditor
		}
	}
	r := s.Call(tool, e.args(name))
	var code fault.Code
	if r.Result.Error != nil {
		code = r.Result.Error.Code
	}
	require.Equal(t, e.code, code, "%v", r.Result.Error)
	if has := requireOrder(t, r); !paged || code == "" {
		require.Equal(t, e.hash, has, "%.400s", r.Result.LLMContent.String())
	}
}

// ST-07: in every result of a file tool version and hash come first in each state, after success and message, and the
// message of a refusal ends with the remedy. The hash is within the first 300 bytes for paths of 100 characters, so that
// clients that cut long results keep it.
func TestHashesStandFirst(t *testing.T) {
	for _, session := range []struct {
		name  string
		setUp func(*config.Parameters)
		edit  string // the name of edit
	}{
		{"whole contents", regionsAbove(-1), file.Edit},
		{"regions", regionsAbove(1), file.Edit},
		{"pages", bounded(2000), file.Edit},
		{"layout gemini", func(p *config.Parameters) { p.Environment.Layout = layout.Gemini() }, "replace"},
	} {
		t.Run(session.name, func(t *testing.T) {
			paged := session.name == "pages"
			for tool, list := range endings(session.edit, paged) {
				for what, e := range list {
					t.Log(tool, what) // no subtest, whose name would be in the path
					requireEnding(t, tool, e, paged, session.setUp)
				}
			}
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

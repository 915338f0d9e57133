package file_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
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
	"github.com/fettle-dev/fettle/core/tools/file"
)

type args = map[string]any

// allTools are the names of the tools of the package.
var allTools = []string{file.ReadFile, file.ReadManyFiles, file.ListDirectory, file.SafePatch, file.WriteFile, file.Edit, file.ApplyPatch, file.TextEditor}

// newSession returns a session with every tool of the package.
func newSession(t testing.TB, change ...func(*config.Parameters)) *configtest.Session {
	t.Helper()
	all := func(p *config.Parameters) { p.Tools.Core = allTools }
	return configtest.New(t, append([]func(*config.Parameters){all}, change...)...)
}

// sum returns the hash of content, computed without the code under test.
func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])
}

// absent is the hash of empty input.
const absent = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// wrong is a hash that no file has.
var wrong = strings.Repeat("0", 64)

// stateMismatch is the message and remedy of a mismatch that shows the current state.
const stateMismatch = "State Mismatch: File has changed on disk since it was last read. Make the change again for latest_file_state, with its sha256."

// reportOf decodes the report of a mutator strictly: exactly the keys of FS-27 and FS-05.
func reportOf(t testing.TB, r scheduler.Response) file.Report {
	t.Helper()
	content := r.Result.LLMContent.String()
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(content), &keys), "%s", content)
	state := keys["latest_file_state"]
	for _, optional := range []string{"corrections", "kept_files"} {
		if v, ok := keys[optional]; ok {
			require.NotEqual(t, "[]", string(v))
			delete(keys, optional)
		}
	}
	require.Equal(t, []string{"latest_file_state", "message", "success"}, slices.Sorted(maps.Keys(keys)))
	clear(keys)
	require.NoError(t, json.Unmarshal(state, &keys), "%s", content)
	require.Equal(t, []string{"content", "file_path", "sha256", "version"}, slices.Sorted(maps.Keys(keys)))
	report := configtest.Decode[file.Report](t, r)
	require.True(t, filepath.IsAbs(report.LatestFileState.FilePath))
	require.Equal(t, r.Status == scheduler.StatusSuccess, report.Success)
	require.Equal(t, report.LatestFileState.Version == nil, report.LatestFileState.SHA256 == nil, "a denied state has no field but the path")
	if r.Result.Error != nil {
		whole := r.Result.Error.Text()
		if clipped, ok := strings.CutSuffix(report.Message, "…"); ok {
			require.NotNil(t, report.LatestFileState.SHA256, "clipped without a hash to show")
			require.True(t, strings.HasPrefix(whole, clipped), report.Message)
		} else {
			require.Equal(t, whole, report.Message)
		}
		report.Message = whole // as in the error of the result
	}
	return report
}

// succeed requires that a mutator succeeds and returns its report.
func succeed(t testing.TB, r scheduler.Response) file.Report {
	t.Helper()
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	report := reportOf(t, r)
	require.NotNil(t, report.LatestFileState.SHA256)
	return report
}

// refuse requires that a mutator is refused and returns its report.
func refuse(t testing.TB, r scheduler.Response, code fault.Code, reason fault.Reason) file.Report {
	t.Helper()
	requireError(t, r, code, reason)
	return reportOf(t, r)
}

func requireError(t testing.TB, r scheduler.Response, code fault.Code, reason fault.Reason) {
	t.Helper()
	require.NotNil(t, r.Result.Error, "%s", r.Result.LLMContent.String())
	require.Equal(t, string(code)+"/"+string(reason), string(r.Result.Error.Code)+"/"+string(r.Result.Error.Reason), "%s", r.Result.Error.Line())
	require.NotEmpty(t, r.Result.Error.Remedy, "%s", r.Result.Error.Message)
}

func requireWithheld(t testing.TB, st filestate.State, path string) {
	t.Helper()
	require.Equal(t, filestate.Withheld(path), st)
}

// requireShown requires a state with the content of the file on disk.
func requireShown(t testing.TB, st filestate.State) {
	t.Helper()
	data, err := os.ReadFile(st.FilePath)
	require.NoError(t, err)
	require.NotNil(t, st.Version)
	require.NotNil(t, st.SHA256)
	require.NotNil(t, st.Content)
	require.Equal(t, sum(string(data)), *st.SHA256)
	require.Equal(t, string(data), *st.Content)
}

// read reads a text file with the tool and returns its state object.
func read(t testing.TB, s *configtest.Session, path string, more ...args) filestate.State {
	t.Helper()
	a := args{"file_path": path}
	for _, m := range more {
		maps.Copy(a, m)
	}
	r := s.Call(file.ReadFile, a)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return configtest.Decode[filestate.State](t, r)
}

// readPlaceholder reads a file that is known to be unchanged.
func readPlaceholder(t testing.TB, s *configtest.Session, path string) filestate.Placeholder {
	t.Helper()
	r := s.Call(file.ReadFile, args{"file_path": path})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	return configtest.Decode[filestate.Placeholder](t, r)
}

// versionNow returns the last version used.
func versionNow(t testing.TB, s *configtest.Session) int64 {
	t.Helper()
	v, err := s.SessionStateService()
	require.NoError(t, err)
	return v.Current()
}

// killSwitchOn disables the cache.
func killSwitchOn(p *config.Parameters) {
	on := true
	p.Session.FileReadCacheDisabled = &on
}

func autoEdit(p *config.Parameters) { p.Policy.ApprovalMode = "autoEdit" }

// base is the file of most tests, and changed its content after their change.
const (
	base    = "one\ntwo\nthree\n"
	changed = "one\nTWO\nthree\n"
)

// baseDiff turns base into changed.
const baseDiff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"

// addDiff creates a file of one line.
const addDiff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+made\n"

// mutator is a way to turn base into changed, or to create the file "made\n".
type mutator struct {
	tool           string
	change         func(path string) args // includes the hash of base if the tool has a parameter for it
	create         func(path string) args
	done           string // message of a success
	ing, infinite  string // PR-24
	component      string // PR-26
	takesBaseHash  bool
	createdMessage string
}

var mutators = []mutator{
	{
		tool: file.SafePatch,
		change: func(path string) args {
			return args{"file_path": path, "unified_diff": baseDiff, "base_content_sha256": sum(base)}
		},
		create: func(path string) args {
			return args{"file_path": path, "unified_diff": addDiff, "base_content_sha256": absent}
		},
		done: "Patch applied successfully.", createdMessage: "Patch applied successfully.",
		ing: "patching", infinite: "patch", component: "SAFE_PATCH", takesBaseHash: true,
	},
	{
		tool: file.WriteFile,
		change: func(path string) args {
			return args{"file_path": path, "content": changed, "base_content_sha256": sum(base)}
		},
		create: func(path string) args { return args{"file_path": path, "content": "made\n"} },
		done:   "File overwritten successfully.", createdMessage: "File created successfully.",
		ing: "overwriting", infinite: "overwrite", component: "WRITE_FILE", takesBaseHash: true,
	},
	{
		tool:   file.Edit,
		change: func(path string) args { return args{"file_path": path, "old_string": "two", "new_string": "TWO"} },
		create: func(path string) args { return args{"file_path": path, "old_string": "", "new_string": "made\n"} },
		done:   "Replaced 1 occurrence(s) successfully.", createdMessage: "File created successfully.",
		ing: "editing", infinite: "edit", component: "EDIT_PRIOR_READ",
	},
	{
		tool:   file.ApplyPatch,
		change: func(path string) args { return args{"input": envelope(two(path))} },
		create: func(path string) args { return args{"input": envelope(added(path))} },
		done:   "Patch applied successfully.", createdMessage: "Patch applied successfully.",
		ing: "patching", infinite: "patch", component: "APPLY_PATCH",
	},
	{
		tool: file.TextEditor,
		change: func(path string) args {
			return args{"command": "str_replace", "path": path, "old_str": "two", "new_str": "TWO"}
		},
		create: func(path string) args { return args{"command": "create", "path": path, "file_text": "made\n"} },
		done:   "Replaced 1 occurrence(s) successfully.", createdMessage: "File created successfully.",
		ing: "editing", infinite: "edit", component: "TEXT_EDITOR",
	},
}

// eachMutator runs a test for each of the tools.
func eachMutator(t *testing.T, run func(t *testing.T, m mutator)) {
	for _, m := range mutators {
		t.Run(m.tool, func(t *testing.T) { run(t, m) })
	}
}

// tree describes all files below a directory: names, types, modes, identities, times and bytes (of a file above 64 MiB
// only its size).
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintf(&b, "%q %v\n", path, err)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %s", path, info.Mode())
		switch {
		case info.Mode().IsRegular():
			fmt.Fprintf(&b, " ino %d size %d mtime %d", identity(info), info.Size(), info.ModTime().UnixNano())
			if info.Size() <= 64<<20 {
				data, err := os.ReadFile(path)
				fmt.Fprintf(&b, " sha %s %v", sum(string(data)), err != nil)
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", target)
		}
		b.WriteByte('\n')
		return nil
	})
	require.NoError(t, err)
	return b.String()
}

func jsonOf(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

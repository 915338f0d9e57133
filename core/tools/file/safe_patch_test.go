package file_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

func patchArgs(path, diff, hash string) args {
	return args{"file_path": path, "unified_diff": diff, "base_content_sha256": hash}
}

// FS-26, ED-05: three required strings, and a hash of 12 to 64 hexadecimal digits in either case.
func TestSafePatchArguments(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	good := patchArgs("a.txt", baseDiff, sum(base))
	for _, key := range []string{"file_path", "unified_diff", "base_content_sha256"} {
		a := args{}
		for k, v := range good {
			if k != key {
				a[k] = v
			}
		}
		r := s.Call(file.SafePatch, a)
		requireError(t, r, fault.InvalidToolParams, "")
		require.Contains(t, r.Result.Error.Message, key)
	}
	for _, hash := range []string{"", "abc", sum(base)[:11], sum(base)[1:], sum(base) + "0", strings.Repeat("g", 64), " " + sum(base)[1:]} {
		requireError(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, hash)), fault.InvalidToolParams, "")
		if hash == "" {
			continue // left out, for write_file
		}
		a := args{"file_path": "b.txt", "content": "x", "base_content_sha256": hash}
		requireError(t, s.Call(file.WriteFile, a), fault.InvalidToolParams, "")
	}
	require.Equal(t, base, s.Read("a.txt"))
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, strings.ToUpper(sum(base)))))
}

// FS-40, TE-03: the exact message, the new state, the next version.
func TestSafePatchSucceeds(t *testing.T) {
	s := newSession(t)
	path := s.Write("a.txt", base)
	first := read(t, s, "a.txt")
	r := s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, *first.SHA256))
	report := succeed(t, r)
	require.Equal(t, "Patch applied successfully.", report.Message)
	require.Equal(t, changed, s.Read("a.txt"))
	requireShown(t, report.LatestFileState)
	require.Equal(t, *first.Version+1, *report.LatestFileState.Version)
	require.Empty(t, report.Corrections)
	diff := r.Result.ReturnDisplay.Diff
	require.NotNil(t, diff)
	require.Equal(t, path, diff.FilePath)
	require.Equal(t, "a.txt", diff.FileName)
	require.Equal(t, base, *diff.OriginalContent)
	require.Equal(t, changed, diff.NewContent)
	require.False(t, diff.IsNewFile)
	require.Equal(t, 1, diff.DiffStat.ModelAddedLines)
	require.Equal(t, 1, diff.DiffStat.ModelRemovedLines)
}

// FS-40: all hunks or none.
func TestSafePatchAppliesAllHunksOrNone(t *testing.T) {
	s := newSession(t)
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	text := b.String()
	s.Write("a.txt", text)
	hunk := func(n int, removed string) string {
		return fmt.Sprintf("@@ -%d,3 +%d,3 @@\n line %d\n-%s\n+changed %d\n line %d\n", n-1, n-1, n-1, removed, n, n+1)
	}
	bad := hunk(10, "line 10") + hunk(50, "line fifty")
	before := tree(t, s.Dir)
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", bad, sum(text))), fault.InvalidDiff, "")
	require.Equal(t, before, tree(t, s.Dir))
	requireShown(t, report.LatestFileState)

	good := hunk(10, "line 10") + hunk(50, "line 50")
	report = succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", good, sum(text))))
	want := strings.Replace(strings.Replace(text, "line 10\n", "changed 10\n", 1), "line 50\n", "changed 50\n", 1)
	require.Equal(t, want, s.Read("a.txt"))
	require.Equal(t, want, *report.LatestFileState.Content)
}

// FS-44, CR-11: wrong line numbers are corrected, the confirmation shows the corrected diff, and the result names the
// corrections.
func TestSafePatchConfirmsTheCorrectedDiff(t *testing.T) {
	s := newSession(t)
	path := s.Write("a.txt", base)
	asked := 0
	s.Answer = func(q bus.ToolConfirmationRequest) bus.Outcome {
		asked++
		c := q.Details
		require.Equal(t, confirmation.Edit, c.Type)
		require.Equal(t, "Confirm Patch: a.txt", c.Title)
		require.Equal(t, base, *c.OriginalContent)
		require.Equal(t, changed, c.NewContent)
		parsed, err := patch.Parse(c.EditDetails.FileDiff)
		require.NoError(t, err)
		correct, err := patch.Correct(base, parsed)
		require.NoError(t, err)
		require.Empty(t, correct.Corrections, "the diff shown is correct as it is")
		text, err := patch.ApplyStrict(base, correct)
		require.NoError(t, err)
		require.Equal(t, changed, text)
		require.Equal(t, []string{path}, c.Paths)
		require.Equal(t, []confirmation.FileVersion{{Path: path, SHA256: sum(base)}}, c.Bases)
		return bus.ProceedOnce
	}
	diff := "--- a/a.txt\n+++ b/a.txt\n@@ -71,9 +80 @@\n one\n-two\n+TWO\n three\n"
	report := succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", diff, sum(base))))
	require.Equal(t, 1, asked)
	var kinds []string
	for _, c := range report.Corrections {
		require.Equal(t, 1, c.Hunk)
		kinds = append(kinds, c.Kind)
	}
	require.Contains(t, kinds, "line_numbers")
	require.Contains(t, kinds, "line_counts")
}

// FS-28, FS-29, PR-06, CR-35, TE-03: a mismatch on a file that was read completely shows the current content, and the
// next call needs nothing else.
func TestSafePatchRecoversFromItsOwnRefusal(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	first := read(t, s, "a.txt")
	s.Write("a.txt", "zero\n"+base)
	before := tree(t, s.Dir)
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, *first.SHA256)), fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, stateMismatch, report.Message)
	require.Equal(t, before, tree(t, s.Dir))
	requireShown(t, report.LatestFileState)
	require.Equal(t, *first.Version+1, *report.LatestFileState.Version)
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, *report.LatestFileState.SHA256)))
	require.Equal(t, "zero\n"+changed, s.Read("a.txt"))
}

// FS-29: the state shown by a mismatch also counts as a read for edit.
func TestMismatchCountsAsRead(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	s.Write("a.txt", "zero\n"+base)
	refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, sum(base))), fault.FileChangedSinceRead, fault.Changed)
	succeed(t, s.Call(file.Edit, args{"file_path": "a.txt", "old_string": "zero", "new_string": "ZERO"}))
}

// FS-30, CR-08: a mismatch on a file not read completely shows nothing.
func TestMismatchOfAnUnseenFileShowsNothing(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, read func(args)){
		"never read":  func(*testing.T, func(args)) {},
		"read a part": func(_ *testing.T, read func(args)) { read(args{"offset": 0, "limit": 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			path := s.Write("a.txt", base)
			prepare(t, func(a args) { read(t, s, "a.txt", a) })
			for _, tool := range []struct {
				name string
				args args
			}{
				{file.SafePatch, patchArgs("a.txt", baseDiff, wrong)},
				{file.WriteFile, args{"file_path": "a.txt", "content": changed, "base_content_sha256": wrong}},
			} {
				r := s.Call(tool.name, tool.args)
				requireError(t, r, fault.EditRequiresPriorRead, r.Result.Error.Reason)
				report := reportOf(t, r)
				require.NotContains(t, report.Message, "changed", "that cannot be known")
				require.Contains(t, report.Message, "in this conversation")
				requireWithheld(t, report.LatestFileState, path)
				require.NotContains(t, r.Result.LLMContent.String()+r.Result.Error.Line(), "three")
				require.Contains(t, r.Result.Error.Remedy, "read_file")
			}
		})
	}
}

// FS-32: the exact message; bytes, times and inode are unchanged.
func TestSafePatchForeignContext(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	before := tree(t, s.Dir)
	for _, diff := range []string{
		"@@ -1,3 +1,3 @@\n one\n-2\n+TWO\n three\n",
		"@@ -1,3 +1,3 @@\n eins\n-zwei\n+TWO\n drei\n",
	} {
		r := s.Call(file.SafePatch, patchArgs("a.txt", diff, sum(base)))
		report := refuse(t, r, fault.InvalidDiff, "")
		require.Equal(t, "Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect.", r.Result.Error.Message)
		requireShown(t, report.LatestFileState)
		require.Equal(t, before, tree(t, s.Dir))
	}
}

// FS-35: diffs other than a change of one file.
func TestSafePatchRefusesWhatIsNoChangeOfOneFile(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	before := tree(t, s.Dir)
	for name, diff := range map[string]string{
		"two files": baseDiff + strings.ReplaceAll(baseDiff, "a.txt", "b.txt"),
		"no hunk":   "--- a/a.txt\n+++ b/a.txt\n",
		"no change": "@@ -1,3 +1,3 @@\n one\n two\n three\n",
		"no-op":     "@@ -1,3 +1,3 @@\n one\n-two\n+two\n three\n",
		"empty":     "",
		"prose":     "Change two to TWO, please.",
		"deletion":  "--- a/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n",
	} {
		r := s.Call(file.SafePatch, patchArgs("a.txt", diff, sum(base)))
		report := refuse(t, r, fault.InvalidDiff, "")
		require.True(t, strings.HasPrefix(report.Message, "Invalid Diff"), "%s: %s", name, report.Message)
		require.Equal(t, before, tree(t, s.Dir), name)
	}
}

// An ambiguous position is refused, and the remedy succeeds.
func TestSafePatchAmbiguous(t *testing.T) {
	s := newSession(t)
	text := "start\n{\n\tx\n}\nmiddle\n{\n\tx\n}\nend\n"
	s.Write("a.txt", text)
	r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n {\n-\tx\n+\ty\n }\n", sum(text)))
	requireShown(t, refuse(t, r, fault.AmbiguousDiff, "").LatestFileState)
	require.Contains(t, r.Result.Error.Remedy, "unchanged lines")
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n middle\n {\n-\tx\n+\ty\n }\n", sum(text))))
	require.Equal(t, "start\n{\n\tx\n}\nmiddle\n{\n\ty\n}\nend\n", s.Read("a.txt"))
}

// FS-39, TE-03: an internal error.
func TestSafePatchApplierFails(t *testing.T) {
	calls := 0
	s := newSession(t, func(p *config.Parameters) {
		p.Calls.Seam = func(at string, _ workspace.Path) error {
			if at != "apply" {
				return nil
			}
			calls++
			return errors.New("no luck")
		}
	})
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	before := tree(t, s.Dir)
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, sum(base))), fault.PatchApplyFailed, "")
	require.True(t, strings.HasPrefix(report.Message, "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors. "), report.Message)
	requireShown(t, report.LatestFileState)
	require.Equal(t, before, tree(t, s.Dir))
	require.Equal(t, 1, calls)
	require.Empty(t, s.Confirmations(), "FS-42")
}

// FS-41, TE-03: new files.
func TestSafePatchCreates(t *testing.T) {
	s := newSession(t)
	diff := "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
	r := s.Call(file.SafePatch, patchArgs("deep/er/new.txt", diff, absent))
	report := succeed(t, r)
	require.Equal(t, "one\ntwo\n", s.Read("deep/er/new.txt"))
	requireShown(t, report.LatestFileState)
	require.True(t, r.Result.ReturnDisplay.Diff.IsNewFile)
	require.Nil(t, r.Result.ReturnDisplay.Diff.OriginalContent)
	require.Nil(t, s.Confirmations()[0].Details.OriginalContent)

	before := tree(t, s.Dir)
	report = refuse(t, s.Call(file.SafePatch, patchArgs("other/new.txt", diff, sum("x"))), fault.FileChangedSinceRead, fault.Disappeared)
	require.Contains(t, report.Message, "other/new.txt does not exist")
	requireWithheld(t, report.LatestFileState, s.Path("other/new.txt"))
	// A diff that removes lines of a missing file.
	refuse(t, s.Call(file.SafePatch, patchArgs("other/new.txt", baseDiff, absent)), fault.InvalidDiff, "")
	require.Equal(t, before, tree(t, s.Dir))

	// An existing empty file has the same hash and is changed in place.
	require.NoError(t, os.WriteFile(s.Path("empty"), nil, 0o600))
	succeed(t, s.Call(file.SafePatch, patchArgs("empty", diff, absent)))
	require.Equal(t, "one\ntwo\n", s.Read("empty"))
}

// FS-42, CR-09: no approval is requested for a change that will be refused.
func TestSafePatchAsksOnlyAboutWhatWouldApply(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, wrong)), fault.FileChangedSinceRead, fault.Changed)
	refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-foreign\n+x\n", sum(base))), fault.InvalidDiff, "")
	refuse(t, s.Call(file.WriteFile, args{"file_path": "a.txt", "content": ""}), fault.BaseHashRequired, "")
	refuse(t, s.Call(file.Edit, args{"file_path": "a.txt", "old_string": "foreign", "new_string": "x"}), fault.EditNoOccurrenceFound, "")
	require.Empty(t, s.Confirmations())
}

// FS-43, KH-12: an invocation that announced a refusal never writes, even if the file matches again.
func TestRefusedInvocationNeverWrites(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		s.Write("a.txt", "other\n")
		inv := build(t, s, m.tool, m.change("a.txt"))
		c, err := inv.Confirmation(t.Context())
		require.Nil(t, c)
		require.ErrorIs(t, err, tools.ErrWillRefuse)
		f := fault.As(err) // PR-21: the type and the complete message
		require.Equal(t, fault.FileChangedSinceRead, f.Code)
		require.NotEqual(t, f.Message, f.Short)
		require.NotEmpty(t, f.Remedy)
		s.Write("a.txt", base)
		result, err := inv.Execute(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, f, result.Error)
		require.Equal(t, base, s.Read("a.txt"))
	})
}

// FS-47: a code or reason of its own for each kind of target.
func TestTargetsThatAreNoText(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
		s.Write("a.bin", "\x00\x01")
		require.NoError(t, os.Symlink("dir", s.Path("link")))
		for _, dir := range []string{"dir", ".", "link"} { // PR-10
			requireWithheld(t, refuse(t, s.Call(m.tool, m.change(dir)), fault.TargetIsDirectory, "").LatestFileState, s.Path(dir))
		}
		s.Call(file.ReadFile, args{"file_path": "a.bin"})
		a := m.change("a.bin")
		if m.takesBaseHash {
			a["base_content_sha256"] = sum("\x00\x01")
		}
		r := s.Call(m.tool, a)
		refuse(t, r, fault.EditRequiresPriorRead, fault.NonText)
		require.NotContains(t, r.Result.Error.Line(), "read_file", "PR-08: reading would not help")
		require.Contains(t, r.Result.Error.Remedy, "shell")
	})
}

// TO-06, TO-07: descriptions of calls.
func TestMutatorsDescribeThemselves(t *testing.T) {
	s := newSession(t)
	for tool, verb := range map[string]string{file.SafePatch: "Patch ", file.WriteFile: "Write ", file.Edit: "Edit "} {
		require.Equal(t, tools.KindEdit, specOf(t, s, tool).Kind)
		for _, m := range mutators {
			if m.tool == tool {
				inv := build(t, s, tool, m.create("sub/new.txt"))
				require.Equal(t, verb+"sub/new.txt", inv.Description())
				require.Equal(t, []tools.Location{{Path: s.Path("sub/new.txt")}}, inv.Locations())
			}
		}
	}
	require.Equal(t, []string{"replace"}, specOf(t, s, file.Edit).Aliases)
	require.ElementsMatch(t, []string{"edit", "replace", "apply_patch", "str_replace_based_edit_tool"}, specOf(t, s, file.SafePatch).GovernedBy)
}

// FS-67: the diff applies to file_path, whatever name its header has.
func TestSafePatchWrongName(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	diff := "--- a/other.txt\n+++ b/other.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
	report := succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", diff, sum(base))))
	require.Equal(t, []patch.Correction{{Kind: patch.KindFileName}}, report.Corrections)
}

// FS-27, FS-29: a refusal in plan mode includes as much as any other.
func TestRefusalInPlanMode(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	s.Call(file.ReadFile, args{"file_path": "a.txt"})
	s.Write("a.txt", base+"four\n")
	require.NoError(t, s.SetApprovalMode("plan"))
	r := s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, sum(base)))
	report := refuse(t, r, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, base+"four\n", *report.LatestFileState.Content)
	r = s.Call(file.WriteFile, writeArgs("a.txt", "x", ""))
	requireShown(t, refuse(t, r, fault.BaseHashRequired, "").LatestFileState)
	require.Equal(t, base+"four\n", s.Read("a.txt"))
}

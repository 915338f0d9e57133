package file_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/file"
)

func writeArgs(path, content, hash string) args {
	a := args{"file_path": path, "content": content}
	if hash != "" {
		a["base_content_sha256"] = hash
	}
	return a
}

// FS-48: arguments.
func TestWriteFileArguments(t *testing.T) {
	s := newSession(t)
	requireError(t, s.Call(file.WriteFile, args{"file_path": "a"}), fault.InvalidToolParams, "")
	requireError(t, s.Call(file.WriteFile, args{"content": "a"}), fault.InvalidToolParams, "")
	r := s.Call(file.WriteFile, args{"file_path": "", "content": "a"})
	require.Equal(t, "The 'file_path' parameter must be non-empty.", r.Result.Error.Message)

	// An empty hash counts as missing: the call creates a file, and the hash proves nothing.
	empty := args{"file_path": "b", "content": "x", "base_content_sha256": ""}
	succeed(t, s.Call(file.WriteFile, empty))
	refuse(t, s.Call(file.WriteFile, empty), fault.BaseHashRequired, "")
}

// FS-49, FS-56, TE-04: new files.
func TestWriteFileCreates(t *testing.T) {
	s := newSession(t)
	r := s.Call(file.WriteFile, writeArgs("new/tree/a.txt", base, ""))
	report := succeed(t, r)
	require.Equal(t, "File created successfully.", report.Message)
	requireShown(t, report.LatestFileState)
	require.Equal(t, int64(1), *report.LatestFileState.Version)
	c := s.Confirmations()[0].Details
	require.Equal(t, confirmation.Edit, c.Type)
	require.Equal(t, "Confirm Write: new/tree/a.txt", c.Title)
	require.Nil(t, c.OriginalContent)
	require.Equal(t, base, c.NewContent)
	require.Equal(t, "--- /dev/null\n+++ b/new/tree/a.txt\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n", c.EditDetails.FileDiff)
	require.True(t, r.Result.ReturnDisplay.Diff.IsNewFile)
	// An empty file is a file.
	require.Empty(t, *succeed(t, s.Call(file.WriteFile, writeArgs("empty", "", ""))).LatestFileState.Content)
	require.Empty(t, s.Read("empty"))
}

// PR-11: below a file no file can be created, and the error states the cause.
func TestWriteFileBelowAFile(t *testing.T) {
	s := newSession(t)
	s.Write("file", base)
	r := s.Call(file.WriteFile, writeArgs("file/x", "x", ""))
	requireError(t, r, fault.PriorReadVerificationFailed, fault.Unverifiable)
	require.Contains(t, r.Result.Error.Message, "one of its parents is not a directory")
	require.Equal(t, base, s.Read("file"))
}

// FS-50, CR-12: a hash for a missing file.
func TestWriteFileAbsentWithAHash(t *testing.T) {
	s := newSession(t)
	succeed(t, s.Call(file.WriteFile, writeArgs("a/b.txt", base, absent)))
	before := tree(t, s.Dir)
	r := s.Call(file.WriteFile, writeArgs("c/d.txt", base, sum(base)))
	report := refuse(t, r, fault.FileChangedSinceRead, fault.Disappeared)
	require.Contains(t, report.Message, "d.txt does not exist")
	requireWithheld(t, report.LatestFileState, s.Path("c/d.txt"))
	require.Equal(t, before, tree(t, s.Dir), "PR-19")
	// The remedy: without a hash the file is created.
	require.Contains(t, r.Result.Error.Remedy, "no base_content_sha256")
	succeed(t, s.Call(file.WriteFile, writeArgs("c/d.txt", base, "")))
}

// FS-51, FS-56, PR-04, TE-04: overwriting.
func TestWriteFileOverwrites(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	report := succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, sum(base))))
	require.Equal(t, "File overwritten successfully.", report.Message)
	requireShown(t, report.LatestFileState)
	require.Equal(t, changed, s.Read("a.txt"))
	c := s.Confirmations()[0].Details
	require.Equal(t, base, *c.OriginalContent)
	require.Equal(t, "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", c.EditDetails.FileDiff)
}

// FS-52, FS-53, CR-13: without a hash a file is not overwritten. The error shows the complete content if it was read,
// and with its hash the next call succeeds.
func TestWriteFileDemandsTheHash(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	before := tree(t, s.Dir)
	r := s.Call(file.WriteFile, writeArgs("a.txt", changed, ""))
	report := refuse(t, r, fault.BaseHashRequired, "")
	requireShown(t, report.LatestFileState)
	require.Equal(t, before, tree(t, s.Dir))
	succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, *report.LatestFileState.SHA256)))

	path := s.Write("unseen.txt", base)
	report = refuse(t, s.Call(file.WriteFile, writeArgs("unseen.txt", changed, "")), fault.EditRequiresPriorRead, fault.NeverRead)
	requireWithheld(t, report.LatestFileState, path)
	require.Equal(t, base, s.Read("unseen.txt"))
}

// FS-54: a wrong hash.
func TestWriteFileWrongHash(t *testing.T) {
	s := newSession(t)
	path := s.Write("a.txt", base)
	report := refuse(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, wrong)), fault.EditRequiresPriorRead, fault.NeverRead)
	require.Contains(t, report.Message, "was not read in this conversation")
	require.NotContains(t, report.Message, "changed")
	requireWithheld(t, report.LatestFileState, path)
	read(t, s, "a.txt")
	report = refuse(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, wrong)), fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, stateMismatch, report.Message)
	requireShown(t, report.LatestFileState)
	require.Equal(t, base, s.Read("a.txt"))
	succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", changed, *report.LatestFileState.SHA256)))
}

// CR-29: above the read limit, if no regions are shown, a success has version and hash without content, and the hash is
// the base of the next change. A failure shows nothing.
func TestAboveTheCapContentIsLeftOut(t *testing.T) {
	s := newSession(t, regionsAbove(-1), func(p *config.Parameters) { p.Session.Limits.Lines = 3 })
	long := base + "four\n"
	st := succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", long, ""))).LatestFileState
	require.Nil(t, st.Content)
	require.Equal(t, sum(long), *st.SHA256)
	require.NotNil(t, st.Version)
	diff := "@@ -4 +4 @@\n-four\n+FOUR\n"
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", diff, wrong)), fault.FileChangedSinceRead, fault.Changed)
	requireWithheld(t, report.LatestFileState, s.Path("a.txt"))
	succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", diff, *st.SHA256)))
	require.Equal(t, base+"FOUR\n", s.Read("a.txt"))
}

// PR-20: a file that disappears before the diff is computed is shown as a new one.
func TestWriteFileVanishedBeforeTheConfirmation(t *testing.T) {
	s := newSession(t)
	path := s.Write("a.txt", base)
	read(t, s, "a.txt")
	require.NoError(t, os.Remove(path))
	inv := build(t, s, file.WriteFile, writeArgs("a.txt", changed, absent))
	c, err := inv.Confirmation(t.Context())
	require.NoError(t, err)
	require.Nil(t, c.OriginalContent)
	result, err := inv.Execute(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, result.Error)
	require.Equal(t, changed, s.Read("a.txt"))
}

// After a denial no file has changed.
func TestDeniedByUser(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
		before := tree(t, s.Dir)
		for _, a := range []args{m.change("a.txt"), m.create("new/tree/a.txt")} {
			r := s.Call(m.tool, a)
			require.Equal(t, scheduler.StatusDenied, r.Status)
			requireError(t, r, fault.DeniedByUser, "")
		}
		require.Len(t, s.Confirmations(), 2)
		require.Equal(t, before, tree(t, s.Dir))
	})
}

// FS-55: line endings are the requested ones, otherwise those of the file. The message reports where they differ from
// the content of the call, and reports no change if there is none.
func TestWriteFileLineEndings(t *testing.T) {
	lf, crlf, mixed := "one\ntwo\n", "one\r\ntwo\r\n", "one\r\ntwo\n"
	const overwritten, nothing = "File overwritten successfully.", "Nothing changed: the file already has this content"
	for name, tt := range map[string]struct {
		before, given, endings string
		after, message         string
	}{
		"lf into crlf":                   {crlf, "1\n2\n", "", "1\r\n2\r\n", overwritten + " Line endings were kept as CRLF."},
		"lf into crlf, keep":             {crlf, "1\n2\n", "keep", "1\r\n2\r\n", overwritten + " Line endings were kept as CRLF."},
		"crlf into lf":                   {lf, "1\r\n2\r\n", "", "1\n2\n", overwritten + " Line endings were kept as LF."},
		"as the file":                    {crlf, "1\r\n2\r\n", "", "1\r\n2\r\n", overwritten},
		"mixed keeps each line's":        {mixed, "one\nnew\ntwo\n", "", "one\r\nnew\ntwo\n", overwritten + " Line endings were kept as in the file, which mixes LF and CRLF."},
		"to lf":                          {crlf, lf, "lf", lf, overwritten},
		"to crlf":                        {lf, lf, "crlf", crlf, overwritten},
		"mixed to crlf":                  {mixed, lf, "crlf", crlf, overwritten},
		"mixed to lf":                    {mixed, mixed, "lf", lf, overwritten},
		"the same":                       {lf, lf, "", lf, nothing + "."},
		"same content, ending requested": {crlf, lf, "crlf", crlf, nothing + "."},
		"same except for endings":        {crlf, lf, "", crlf, nothing + ", apart from line endings. Line endings were kept as CRLF. Use line_endings to change them."},
		"no lines to decide by":          {"one", crlf, "", crlf, overwritten},
		"new":                            {"", crlf, "", crlf, "File created successfully."},
		"new, lf":                        {"", mixed, "lf", lf, "File created successfully."},
		"new, crlf":                      {"", lf, "crlf", crlf, "File created successfully."},
		"new, filled in":                 {"", mixed, "keep", mixed, "File created successfully."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			a := writeArgs("a.txt", tt.given, "")
			if tt.before != "" {
				s.Write("a.txt", tt.before)
				a["base_content_sha256"] = sum(tt.before)
			}
			if a["line_endings"] = tt.endings; tt.endings == "" && len(name)%2 == 0 {
				delete(a, "line_endings") // an empty one counts as missing
			}
			report := succeed(t, s.Call(file.WriteFile, a))
			require.Equal(t, tt.message, report.Message)
			require.Equal(t, tt.after, s.Read("a.txt"))
			require.Equal(t, sum(tt.after), *report.LatestFileState.SHA256)
			require.Equal(t, tt.after, *report.LatestFileState.Content)
		})
	}
	s := newSession(t)
	requireError(t, s.Call(file.WriteFile, args{"file_path": "a", "content": "x", "line_endings": "cr"}), fault.InvalidToolParams, "")
}

// AR-21, FS-55: the user's version of a proposal has the requested line endings.
func TestModifyKeepsTheLineEndingsAskedFor(t *testing.T) {
	for endings, want := range map[string]string{"lf": "1\n2\n", "crlf": "1\r\n2\r\n", "keep": "1\r\n2\r\n"} {
		s := newSession(t)
		before := "one\r\ntwo\r\n"
		s.Write("a.txt", before)
		a := writeArgs("a.txt", "x\n", sum(before))
		a["line_endings"] = endings
		s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ModifyWithEditor }
		s.Edit = func(bus.ToolConfirmationRequest) string {
			s.Answer = nil
			return "1\r\n2\n"
		}
		succeed(t, s.Call(file.WriteFile, a))
		require.Equal(t, want, s.Read("a.txt"), endings)
	}
}

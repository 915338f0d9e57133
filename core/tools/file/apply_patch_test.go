package file_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// envelope returns a patch of sections.
func envelope(sections ...string) string {
	return "*** Begin Patch\n" + strings.Join(sections, "") + "*** End Patch\n"
}

// two returns the section that turns base into changed.
func two(name string) string { return "*** Update File: " + name + "\n@@\n one\n-two\n+TWO\n" }

func added(name string) string { return "*** Add File: " + name + "\n+made\n" }

// patchAll calls apply_patch.
func patchAll(s *configtest.Session, sections ...string) scheduler.Response {
	return s.Call(file.ApplyPatch, args{"input": envelope(sections...)})
}

// readTwo writes a.txt and b.txt and reads them.
func readTwo(t testing.TB, s *configtest.Session) {
	t.Helper()
	for _, name := range []string{"a.txt", "b.txt"} {
		s.Write(name, base)
		read(t, s, name)
	}
}

// Modes of a diff that are not set are reported, also for a file without hunks.
func TestApplyPatchFileModes(t *testing.T) {
	const hunk = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+made\n"
	for name, tt := range map[string]struct {
		input    string
		reported bool
	}{
		"new file":                 {"diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n" + hunk, false},
		"new executable":           {"diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n" + hunk, true},
		"new executable, no lines": {"diff --git a/n b/n\nnew file mode 100755\nindex 0..0\n", true},
		"changed mode":             {"diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n", true},
		"moved":                    {"diff --git a/a.txt b/n\nsimilarity index 100%\nrename from a.txt\nrename to n\n", false},
		"moved, changed mode":      {"diff --git a/a.txt b/n\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from a.txt\nrename to n\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit)
			s.Write("a.txt", base)
			read(t, s, "a.txt")
			report := succeed(t, s.Call(file.ApplyPatch, args{"input": tt.input}))
			kinds := map[string]bool{}
			for _, c := range report.Corrections {
				kinds[c.Kind] = true
			}
			require.Equal(t, tt.reported, kinds["file_mode"], "%v", report.Corrections)
		})
	}
}

// ED-01: the refusals of its operations, alone and as one of three; those of every dialect are in TestEveryDialect. A
// refusal changes nothing, and names the operation.
func TestApplyPatchRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		setUp   func(*config.Parameters)
		before  func(s *configtest.Session)
		section string
		code    fault.Code
		reason  fault.Reason
		shown   bool // the refusal shows the state of b.txt
	}{
		"stale": {
			before: func(s *configtest.Session) { s.Write("b.txt", base+"four\n") }, section: two("b.txt"),
			code: fault.FileChangedSinceRead, reason: fault.Changed, shown: true,
		},
		"absent": {section: two("none.txt"), code: fault.FileNotFound},
		"exists": {section: added("b.txt"), code: fault.AttemptToCreateExist, shown: true},
		"exists, empty": {
			before: func(s *configtest.Session) { s.Write("empty.txt", "") }, section: added("empty.txt"),
			code: fault.EditRequiresPriorRead, reason: fault.NeverRead,
		},
		"outside, absolute": {section: two(filepath.Join(os.TempDir(), "b.txt")), code: fault.PathNotInWorkspace},
		"outside by ..":     {section: added("x/../../b.txt"), code: fault.PathNotInWorkspace},
		"moved outside":     {section: "*** Update File: b.txt\n*** Move to: ../moved.txt\n", code: fault.PathNotInWorkspace},
		"no place":          {section: "*** Update File: b.txt\n@@\n-nothing\n+x\n", code: fault.InvalidDiff, shown: true},
		"target exists": {section: "*** Update File: b.txt\n*** Move to: other.txt\n@@\n one\n-two\n+TWO\n", code: fault.EditRequiresPriorRead, reason: fault.NeverRead, shown: true,
			before: func(s *configtest.Session) { s.Write("other.txt", "x\n") }},
		"deleted although denied": {
			setUp: func(p *config.Parameters) { p.Policy.Paths = []string{ruleFile(t, "write_file")} }, section: "*** Delete File: b.txt\n",
			code: fault.PolicyViolation,
		},
		"moved to a denied path": {
			setUp:   func(p *config.Parameters) { p.Policy.Paths = []string{ruleFile(t, "safe_patch")} },
			section: "*** Update File: e.txt\n*** Move to: x/../b.txt\n@@\n one\n-two\n+TWO\n",
			code:    fault.PolicyViolation,
		},
	} {
		for _, all := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", one", true: ", three"}[all], func(t *testing.T) {
				s := newSession(t, func(p *config.Parameters) {
					if c.setUp != nil {
						c.setUp(p)
					}
				})
				readTwo(t, s)
				if c.before != nil {
					c.before(s)
				}
				sections := []string{c.section}
				if all {
					sections = []string{two("a.txt"), c.section, added("c.txt")}
				}
				before := tree(t, s.Dir)
				r := patchAll(s, sections...)
				require.NotNil(t, r.Result.Error, "%s", r.Result.LLMContent.String())
				require.Equal(t, string(c.code)+"/"+string(c.reason), string(r.Result.Error.Code)+"/"+string(r.Result.Error.Reason), "%s", r.Result.Error.Line())
				require.Equal(t, before, tree(t, s.Dir))
				if all && c.shown {
					require.Contains(t, r.Result.Error.Message, "operation 2 of 3")
				}
				if c.shown {
					report := configtest.Decode[file.Report](t, r)
					require.Equal(t, s.Path("b.txt"), report.LatestFileState.FilePath)
					requireShown(t, report.LatestFileState)
				}
			})
		}
	}
}

// ruleFile writes a rule that denies a tool for the file b.txt.
func ruleFile(t *testing.T, tool string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules.toml")
	require.NoError(t, os.WriteFile(name, []byte("[[rule]]\ntoolName = \""+tool+"\"\nargsPattern = '\"file_path\":\"b\\.txt\"'\ndecision = \"deny\"\npriority = 900\n"), 0o600))
	return name
}

// ED-01, TX-04: a patch of several files asks once, and changes all of them. Restoring the call undoes it as a whole.
func TestApplyPatchOfSeveralFiles(t *testing.T) {
	on := true
	s := newSession(t, func(p *config.Parameters) { p.Session.Checkpoints = &on })
	readTwo(t, s)
	s.Write("old.txt", "x\r\ny\r\n")
	s.Write("gone.txt", "z\n")
	read(t, s, "old.txt")
	read(t, s, "gone.txt")
	r := patchAll(s, two("a.txt"), added("new/c.txt"), "*** Delete File: gone.txt\n", "*** Update File: old.txt\n*** Move to: moved.txt\n@@\n-y\n+why\n")
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	asked := s.Confirmations()
	require.Len(t, asked, 1)
	for _, part := range []string{"+TWO", "+made", "-z", "+why", "moved.txt"} {
		require.Contains(t, asked[0].Details.Prompt, part)
		require.Contains(t, r.Result.ReturnDisplay.Text, part)
	}
	require.Len(t, asked[0].Details.Paths, 5)
	require.Equal(t, changed, s.Read("a.txt"))
	require.Equal(t, "made\n", s.Read("new/c.txt"))
	require.NoFileExists(t, s.Path("gone.txt"))
	require.NoFileExists(t, s.Path("old.txt"))
	require.Equal(t, "x\r\nwhy\r\n", s.Read("moved.txt"))
	report := configtest.Decode[file.SetReport](t, r)
	require.Len(t, report.LatestFileStates, 4)
	for i, name := range []string{"a.txt", "new/c.txt", "gone.txt", "moved.txt"} {
		require.Equal(t, s.Path(name), report.LatestFileStates[i].FilePath)
		if name != "gone.txt" {
			requireShown(t, report.LatestFileStates[i])
		}
	}
	requireOrder(t, r)

	// The conversation knows every written file.
	r = patchAll(s, "*** Update File: a.txt\n@@\n-TWO\n+2\n", "*** Update File: new/c.txt\n@@\n-made\n+more\n", "*** Update File: moved.txt\n@@\n-why\n+y\n")
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	for _, n := range []string{"1.2", "1.1"} {
		w, err := checkpoint.ParseSelection(n)
		require.NoError(t, err)
		plan, err := kept.Plan(t.Context(), w)
		require.NoError(t, err)
		_, err = kept.Restore(t.Context(), plan)
		require.NoError(t, err)
	}
	require.Equal(t, base, s.Read("a.txt"))
	require.Equal(t, "z\n", s.Read("gone.txt"))
	require.Equal(t, "x\r\ny\r\n", s.Read("old.txt"))
	require.NoFileExists(t, s.Path("new/c.txt"))
	require.NoFileExists(t, s.Path("moved.txt"))
}

// ED-01, TX-04: a change of one existing file is the same as by safe_patch: its confirmation, its result, the user's edit.
func TestApplyPatchOfOneFile(t *testing.T) {
	s := newSession(t)
	readTwo(t, s)
	report := succeed(t, patchAll(s, two("a.txt")))
	require.Equal(t, "Patch applied successfully.", report.Message)
	require.Equal(t, changed, s.Read("a.txt"))
	require.Equal(t, s.Path("a.txt"), s.Confirmations()[0].Details.FilePath)
	require.Contains(t, s.Confirmations()[0].Outcomes, bus.ModifyWithEditor)

	s.Edit = func(bus.ToolConfirmationRequest) string { return "edited\n" }
	s.Answer = func(q bus.ToolConfirmationRequest) bus.Outcome {
		if q.Modified {
			return bus.ProceedOnce
		}
		return bus.ModifyWithEditor
	}
	r := patchAll(s, two("b.txt"))
	succeed(t, r)
	require.Equal(t, "edited\n", s.Read("b.txt"))
	require.Contains(t, string(r.Params), "+edited")
	s.Answer, s.Edit = nil, nil

	// A unified diff, deletion and bases, whose hashes may be short.
	s.Write("c.txt", base)
	r = s.Call(file.ApplyPatch, args{"input": strings.ReplaceAll(baseDiff, "a.txt", "c.txt"), "bases": args{"c.txt": sum(base)}})
	succeed(t, r)
	r = s.Call(file.ApplyPatch, args{"input": envelope("*** Delete File: a.txt\n"), "bases": args{"a.txt": sum(changed)[:12]}})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	require.Contains(t, string(r.Params), sum(changed))
	require.NoFileExists(t, s.Path("a.txt"))
	for _, bad := range []args{{"input": envelope(two("b.txt")), "bases": args{"z.txt": sum(base)}}, {"input": envelope(two("b.txt")), "bases": args{"b.txt": "xyz"}}} {
		requireError(t, s.Call(file.ApplyPatch, bad), fault.InvalidToolParams, "")
	}
}

// ED-03: a file that may not be read can be changed by its hash, without being shown, and cannot be moved to where it may
// be read.
func TestApplyPatchOfHiddenFiles(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Policy.Paths = []string{ruleFile(t, file.ReadFile)} })
	s.Write("b.txt", base)
	before := tree(t, s.Dir)
	r := s.Call(file.ApplyPatch, args{"input": envelope("*** Update File: b.txt\n*** Move to: c.txt\n"), "bases": args{"b.txt": sum(base)}})
	requireError(t, r, fault.PolicyViolation, "")
	require.Equal(t, before, tree(t, s.Dir))
	r = s.Call(file.ApplyPatch, args{"input": envelope(two("b.txt"), added("c.txt")), "bases": args{"b.txt": sum(base)}})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	require.Equal(t, changed, s.Read("b.txt"))
	require.NotContains(t, r.Result.LLMContent.String(), "three")
	require.NotContains(t, r.Result.ReturnDisplay.Text, "three")

	// A set with it has no retry token, whose patch would contain lines around the change.
	for _, hash := range []string{sum(changed), ""} {
		s.Write("a.txt", numbered(100))
		read(t, s, "a.txt")
		s.Write("a.txt", replaceLines(numbered(100), 10))
		sections, bases := []string{line60("a.txt")}, args{}
		if hash != "" {
			sections, bases = append(sections, "*** Update File: b.txt\n@@\n-TWO\n+two\n"), args{"b.txt": hash}
		}
		r = s.Call(file.ApplyPatch, args{"input": envelope(sections...), "bases": bases})
		requireError(t, r, fault.FileChangedSinceRead, fault.Changed)
		require.Equal(t, hash == "", r.Result.Error.Retry != "", "with the hash %q", hash)
	}
}

// ED-01: paths may be absolute, and contain .. inside the workspace. Elsewhere a path of Windows is the name of a file.
func TestApplyPatchPaths(t *testing.T) {
	s := newSession(t, autoEdit)
	for _, name := range []string{s.Path("a.txt"), "./x/../a.txt"} {
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		succeed(t, patchAll(s, two(name)))
		require.Equal(t, changed, s.Read("a.txt"))
	}
	before := tree(t, s.Dir)
	code := fault.FileNotFound
	if runtime.GOOS == "windows" {
		code = fault.PathNotInWorkspace
	}
	requireError(t, patchAll(s, two(`C:\Windows\a.txt`)), code, "")
	require.Equal(t, before, tree(t, s.Dir))
}

// Every hash of bases counts, whatever name of the file it is for.
func TestApplyPatchBasesOfOneFile(t *testing.T) {
	s := newSession(t, autoEdit)
	path := s.Write("a.txt", base)
	read(t, s, "a.txt")
	for _, name := range []string{"a.txt", "./a.txt", path} {
		bases := args{"a.txt": sum(base), "./a.txt": sum(base), path: sum(base)[:12]}
		bases[name] = wrong
		r := s.Call(file.ApplyPatch, args{"input": envelope(two("a.txt")), "bases": bases})
		requireError(t, r, fault.InvalidToolParams, "")
		require.Contains(t, r.Result.Error.Message, "two different hashes")
		require.Equal(t, base, s.Read("a.txt"))
	}
	succeed(t, s.Call(file.ApplyPatch, args{"input": envelope(two("a.txt")), "bases": args{"a.txt": sum(base), "./a.txt": sum(base), path: sum(base)[:12]}}))
}

// White space around a name belongs to it if git would say so, if the name is quoted, or if there is such a file.
func TestApplyPatchNamesWithWhiteSpace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names lose blanks at their ends")
	}
	const hunk = "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
	const spaced, plain = "tr ", "tr"
	for name, tt := range map[string]struct {
		input   string
		changed string // of the existing files
		created string
	}{
		"section":         {envelope(two("tr ")), spaced, ""},
		"section, quoted": {envelope(two("'tr '")), spaced, ""},
		"without blank":   {envelope(two("tr")), plain, ""},
		"not its name":    {envelope(two(" tr")), plain, ""},
		"unified":         {"--- a/tr \n+++ b/tr \n" + hunk, spaced, ""},
		"unified, tab":    {"--- a/tr \t\n+++ b/tr \t\n" + hunk, spaced, ""},
		"git":             {"diff --git a/tr  b/tr \nindex 1..2 100644\n--- a/tr \t\n+++ b/tr \t\n" + hunk, spaced, ""},
		"git, without":    {"diff --git a/tr b/tr\nindex 1..2 100644\n--- a/tr\n+++ b/tr\n" + hunk, plain, ""},
		"no such file":    {"--- a/a.txt \n+++ b/a.txt \n" + hunk, "a.txt", ""},
		"new":             {"diff --git a/n  b/n \nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n \t\n@@ -0,0 +1,2 @@\n+one\n+TWO\n", "", "n "},
		"moved":           {"diff --git a/tr  b/n\nsimilarity index 60%\nrename from tr \nrename to n\nindex 1..2 100644\n--- a/tr \t\n+++ b/n\n" + hunk, "", "n"},
		"two files":       {"diff --git a/tr  b/tr \nindex 1..2 100644\n--- a/tr \t\n+++ b/tr \t\n" + hunk + "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+one\n+TWO\n", spaced, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit)
			for _, existing := range []string{spaced, plain, "a.txt"} {
				s.Write(existing, base)
				read(t, s, existing)
			}
			r := s.Call(file.ApplyPatch, args{"input": tt.input})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
			for _, existing := range []string{spaced, plain, "a.txt"} {
				if existing != spaced || name != "moved" {
					require.Equal(t, existing == tt.changed, s.Read(existing) != base, existing)
				}
			}
			if tt.created != "" {
				require.True(t, strings.HasPrefix(s.Read(tt.created), "one\nTWO\n"), "%q", s.Read(tt.created))
			}
		})
	}
}

// TX-01: two operations on one file refuse the set, also through a link.
func TestApplyPatchTwiceOnOneFile(t *testing.T) {
	s := newSession(t)
	readTwo(t, s)
	require.NoError(t, os.Symlink("b.txt", s.Path("link.txt")))
	s.Call(file.ReadFile, args{"file_path": "link.txt"})
	before := tree(t, s.Dir)
	requireError(t, patchAll(s, two("a.txt"), two("b.txt"), two("link.txt")), fault.InvalidToolParams, "")
	requireError(t, patchAll(s, two("a.txt"), two("./a.txt")), fault.InvalidDiff, "")
	require.Equal(t, before, tree(t, s.Dir))
	require.Empty(t, s.Confirmations())
}

// TX-04: a file that changes while the approver decides refuses the whole set; nothing is written.
func TestApplyPatchStaleAfterApproval(t *testing.T) {
	s := newSession(t)
	readTwo(t, s)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		s.Write("b.txt", "theirs\n")
		return bus.ProceedOnce
	}
	report := refuse(t, patchAll(s, two("a.txt"), two("b.txt"), added("c.txt")), fault.FileChangedSinceRead, fault.Changed)
	require.Contains(t, report.Message, "State Mismatch")
	require.Equal(t, "theirs\n", *report.LatestFileState.Content)
	require.Equal(t, base, s.Read("a.txt"))
	require.NoFileExists(t, s.Path("c.txt"))
	s.Answer = nil
	r := patchAll(s, two("a.txt"), "*** Update File: b.txt\n@@\n-theirs\n+ours\n", added("c.txt"))
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
}

// ED-03: protected paths require approval in the mode auto_edit, as one of several files too, and plan mode changes nothing.
func TestApplyPatchInModes(t *testing.T) {
	s := newSession(t, autoEdit)
	readTwo(t, s)
	require.Equal(t, scheduler.StatusSuccess, patchAll(s, two("a.txt"), added("c.txt")).Status)
	require.Empty(t, s.Confirmations())
	require.Equal(t, scheduler.StatusSuccess, patchAll(s, two("b.txt"), added(".git/hooks/post-commit")).Status)
	require.Len(t, s.Confirmations(), 1)
	require.NotContains(t, s.Confirmations()[0].Outcomes, bus.ProceedAlways)

	s = newSession(t, func(p *config.Parameters) { p.Policy.ApprovalMode = "plan" })
	readTwo(t, s)
	before := tree(t, s.Dir)
	r := patchAll(s, two("a.txt"), two("b.txt"))
	require.True(t, r.Preview)
	require.Contains(t, r.Result.LLMContent.String(), "+TWO")
	require.Equal(t, before, tree(t, s.Dir))
}

// ST-08: the states of a set have contents as far as the result has room; the conversation knows the files anyway.
func TestApplyPatchFitsResults(t *testing.T) {
	s := newSession(t, bounded(5000))
	long := "*** Add File: %\n" + strings.Repeat("+0123456789\n", 150)
	r := patchAll(s, strings.ReplaceAll(long, "%", "a.txt"), strings.ReplaceAll(long, "%", "b.txt"), added("c.txt"))
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	require.Less(t, len(r.Result.LLMContent.String()), 5000)
	report := configtest.Decode[file.SetReport](t, r)
	require.NotNil(t, report.LatestFileStates[0].Content)
	require.Nil(t, report.LatestFileStates[1].Content)
	r = patchAll(s, "*** Delete File: b.txt\n")
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
}

// ED-04: the setting selects the tools, and nothing but the two names.
func TestEditDialect(t *testing.T) {
	for _, c := range []struct{ dialect, has []string }{
		{nil, []string{file.SafePatch}}, {[]string{file.ApplyPatch}, []string{file.ApplyPatch}},
		{[]string{file.ApplyPatch, file.SafePatch}, []string{file.SafePatch, file.ApplyPatch}},
	} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.EditDialect = c.dialect })
		registry, err := s.ToolRegistry()
		require.NoError(t, err)
		var has []string
		for _, name := range []string{file.SafePatch, file.ApplyPatch} {
			if _, err := registry.Lookup(name); err == nil {
				has = append(has, name)
			}
		}
		require.Equal(t, c.has, has)
	}
	_, err := config.New(config.Parameters{TargetDir: t.TempDir(), Tools: config.Tools{EditDialect: []string{"sed"}}})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

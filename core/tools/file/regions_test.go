package file_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// regionsAbove configures a session to show changed regions of files larger than n bytes.
func regionsAbove(n int) func(*config.Parameters) {
	return func(p *config.Parameters) { p.Session.Limits.ChangedRegionsAbove = n }
}

// numbered returns a text with a number of lines.
func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d of the text\n", i+1)
	}
	return b.String()
}

// replaceLines returns text with those lines, counted from 1, in capitals.
func replaceLines(text string, numbers ...int) string {
	lines := strings.SplitAfter(text, "\n")
	for _, n := range numbers {
		lines[n-1] = strings.ToUpper(lines[n-1])
	}
	return strings.Join(lines, "")
}

// requireInRegions requires a success with a state in the short form. Its regions must turn base into the file on disk.
// It returns the state.
func requireInRegions(t testing.TB, r scheduler.Response, base string) filestate.State {
	t.Helper()
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return requireRegionsOf(t, r, base)
}

// requireRegionsOf is requireInRegions for a success or a refusal.
func requireRegionsOf(t testing.TB, r scheduler.Response, base string) filestate.State {
	t.Helper()
	var report struct {
		State json.RawMessage `json:"latest_file_state"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.Result.LLMContent.String()), &report))
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(report.State, &keys))
	require.Equal(t, []string{"changed_regions", "content", "file_path", "notice", "sha256", "total_lines", "version"}, slices.Sorted(maps.Keys(keys)), "%v", r.Result.Error)
	st := configtest.Decode[file.Report](t, r).LatestFileState
	require.Nil(t, st.Content)
	require.NotNil(t, st.Version)
	require.True(t, st.Shown())
	require.Regexp(t, `version \d+[.;].* call read_file with offset 0\.$`, st.Notice)
	onDisk, err := os.ReadFile(st.FilePath)
	require.NoError(t, err)
	require.Equal(t, sum(string(onDisk)), *st.SHA256)

	olds := strings.SplitAfter(base, "\n")
	var b strings.Builder
	at := 0
	for _, region := range st.ChangedRegions {
		b.WriteString(strings.Join(olds[at:region.BaseLines[0]-1], ""))
		require.Equal(t, strings.Count(b.String(), "\n")+1, region.Lines[0])
		b.WriteString(region.Content)
		at = region.BaseLines[1]
	}
	b.WriteString(strings.Join(olds[at:], ""))
	require.Equal(t, *st.SHA256, sum(b.String()), "the regions produce a different text:\n%s", b.String())
	require.Len(t, strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n"), *st.TotalLines)
	return st
}

// FS-27, FS-40: above the limit a success shows the differences. Its hash is the base of the next change by each tool,
// without a read in between.
func TestChangedRegions(t *testing.T) {
	s := newSession(t, regionsAbove(1000))
	text := numbered(100)
	s.Write("a.txt", text)
	first := read(t, s, "a.txt")

	next := replaceLines(text, 50)
	st := requireInRegions(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 50 of the text\n+LINE 50 OF THE TEXT\n", *first.SHA256)), text)
	require.Equal(t, []patch.Region{{Lines: [2]int{47, 53}, BaseLines: [2]int{47, 53}, Content: linesBetween(next, 47, 53)}}, st.ChangedRegions)
	require.Equal(t, *first.Version+1, *st.Version)

	text, next = next, strings.Replace(next, "line 70 of the text\n", "", 1)
	st = requireInRegions(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n line 69 of the text\n-line 70 of the text\n", *st.SHA256)), text)
	require.Equal(t, [2]int{67, 72}, st.ChangedRegions[0].Lines)
	require.Equal(t, [2]int{67, 73}, st.ChangedRegions[0].BaseLines)
	require.Equal(t, 99, *st.TotalLines)

	text, next = next, replaceLines(next, 1, 99)
	st = requireInRegions(t, s.Call(file.WriteFile, writeArgs("a.txt", next, *st.SHA256)), text)
	require.Len(t, st.ChangedRegions, 2)

	text = next
	st = requireInRegions(t, s.Call(file.Edit, editArgs("a.txt", "line 30 of", "LINE 30 OF THE TEXT\nof")), text)
	require.Len(t, st.ChangedRegions, 1)
	require.Equal(t, *first.Version+4, *st.Version, "FS-04: one number for each")

	// The same text again: there is no difference, and the result reports it.
	text = s.Read("a.txt")
	st = requireInRegions(t, s.Call(file.WriteFile, writeArgs("a.txt", text, *st.SHA256)), text)
	require.Equal(t, []patch.Region{}, st.ChangedRegions)

	// RC-14: a read directly after a write returns the content, and the next one a placeholder.
	require.Equal(t, text, *read(t, s, "a.txt").Content)
	require.Contains(t, s.Call(file.ReadFile, args{"file_path": "a.txt"}).Result.LLMContent.String(), filestate.StatusUnchanged)

}

// linesBetween returns those lines of text, counted from 1.
func linesBetween(text string, first, last int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[first-1:last], "")
}

// The whole content is shown if the file is not larger than the limit, if the regions would take as much room, and if
// the limit is off.
func TestWholeContentWhereItTakesNoMore(t *testing.T) {
	text := numbered(60)
	every := []int{}
	for i := range 20 {
		every = append(every, 3*i+2)
	}
	for name, tt := range map[string]struct {
		above int
		text  string
	}{
		"not larger":             {len(text), replaceLines(text, 30)},
		"not larger, by default": {0, replaceLines(text, 30)},
		"off":                    {-1, replaceLines(text, 30)},
		"twenty regions":         {1, replaceLines(text, every...)},
		"every line":             {1, strings.ToUpper(text)},
		"small, with the notice": {1, "a\n"},
		"emptied":                {1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, regionsAbove(tt.above))
			s.Write("a.txt", text)
			st := read(t, s, "a.txt")
			requireShown(t, succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", tt.text, *st.SHA256))).LatestFileState)
		})
	}
	s := newSession(t, regionsAbove(1))
	requireShown(t, succeed(t, s.Call(file.WriteFile, writeArgs("new.txt", text, ""))).LatestFileState)
	requireInRegions(t, s.Call(file.SafePatch, patchArgs("new.txt", "@@ @@\n-line 7 of the text\n+x\n", sum(text))), text)
}

// The short form never takes more room than the whole content, in the form that the model receives.
func TestRegionsNeverTakeMore(t *testing.T) {
	text := numbered(120)
	for changes := 0; changes < 21; changes += 2 {
		var numbers []int
		for i := range changes {
			numbers = append(numbers, 1+i*120/21)
		}
		received := func(above int) int {
			s := newSession(t, regionsAbove(above))
			s.Write("a.txt", text)
			read(t, s, "a.txt")
			r := s.Call(file.WriteFile, writeArgs("a.txt", replaceLines(text, numbers...), sum(text)))
			require.Equal(t, scheduler.StatusSuccess, r.Status)
			return len(strings.ReplaceAll(string(r.Result.FunctionResponse()), s.Dir, ""))
		}
		whole, regions := received(-1), received(1)
		require.LessOrEqual(t, regions, whole, "%d changes", changes)
		if changes == 2 {
			require.Less(t, regions, whole/3)
		}
	}
}

// A hash is shown only with all the content that it stands for: a conversation that did not know the base receives the
// whole content (FS-15, RC-10, PR-04).
func TestRegionsNeedAKnownBase(t *testing.T) {
	text := numbered(100)
	diff := "@@ @@\n-line 50 of the text\n+x\n"
	next := strings.Replace(text, "line 50 of the text", "x", 1)
	for name, know := range map[string]func(t *testing.T, s *configtest.Session){
		"never read":  func(*testing.T, *configtest.Session) {},
		"partly read": func(t *testing.T, s *configtest.Session) { read(t, s, "a.txt", args{"offset": 0, "limit": 99}) },
		"read before another process changed it": func(t *testing.T, s *configtest.Session) {
			s.Write("a.txt", "before\n"+text)
			read(t, s, "a.txt")
			s.Write("a.txt", text)
		},
		"forgotten by compaction": func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			require.NoError(t, compacted(s))
		},
		"a new session": func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			_, err := s.StartNewSession("", 0)
			require.NoError(t, err)
		},
		"the kill switch": func(t *testing.T, s *configtest.Session) {
			s.SetFileReadCacheDisabled(true)
			read(t, s, "a.txt")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, regionsAbove(1))
			s.Write("a.txt", text)
			know(t, s)
			requireShown(t, succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", diff, sum(text)))).LatestFileState)
		})
	}
	for name, know := range map[string]func(t *testing.T, s *configtest.Session){
		"read in slices": func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt", args{"offset": 0, "limit": 60})
			read(t, s, "a.txt", args{"offset": 60})
		},
		"touched since": func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			s.Write("a.txt", text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, regionsAbove(1))
			s.Write("a.txt", text)
			know(t, s)
			requireInRegions(t, s.Call(file.SafePatch, patchArgs("a.txt", diff, sum(text))), text)
			require.Equal(t, next, s.Read("a.txt"))
		})
	}
}

// compacted forgets the content shown, as compaction does.
func compacted(s *configtest.Session) error {
	state, err := s.FileState()
	if err == nil {
		state.Compacted()
	}
	return err
}

// PR-29: regions do not show a file that read_file would not show.
func TestRegionsOfWhatMayNotBeShown(t *testing.T) {
	s := newSession(t, regionsAbove(1), func(p *config.Parameters) {
		p.Policy.Rules = []policy.Rule{{Tools: []string{file.ReadFile}, Decision: policy.Deny, Priority: 100, Tier: policy.TierUser}}
	})
	text := numbered(50)
	succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", text, "")))
	r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 25 of the text\n+x\n", sum(text)))
	require.Nil(t, succeed(t, r).LatestFileState.Content)
	require.NotContains(t, r.Result.LLMContent.String(), "line 26")
}

// The regions contain the text on disk: with a repaired diff, with the user's version, and with the line endings of the
// file.
func TestRegionsHoldWhatWasWritten(t *testing.T) {
	s := newSession(t, regionsAbove(1))
	text := strings.ReplaceAll(numbered(100), "\n", "\r\n")
	s.Write("a.txt", text)
	read(t, s, "a.txt")
	r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ -3,9 +1,1 @@\n line 49 of the text\n-line 50 of the text\n+fünfzig → 50\n line 51 of the text  \n", sum(text)))
	st := requireInRegions(t, r, text)
	require.Contains(t, st.ChangedRegions[0].Content, "line 49 of the text\r\nfünfzig → 50\r\nline 51 of the text\r\n")
	require.NotEmpty(t, configtest.Decode[file.Report](t, r).Corrections)

	text = s.Read("a.txt")
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ModifyWithEditor }
	s.Edit = func(q bus.ToolConfirmationRequest) string {
		s.Answer = nil
		return strings.Replace(q.Details.NewContent, "line 90 of the text", "by hand", 1)
	}
	r = s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 10 of the text\n+ten\n", sum(text)))
	st = requireInRegions(t, r, text)
	require.Len(t, st.ChangedRegions, 2)
	require.Contains(t, st.ChangedRegions[1].Content, "by hand")
	require.Contains(t, configtest.Decode[file.Report](t, r).Message, "latest_file_state has the written content", "PR-30")
	succeedInAnyForm(t, s.Call(file.Edit, editArgs("a.txt", "by hand", "by machine")))
}

func succeedInAnyForm(t testing.TB, r scheduler.Response) {
	t.Helper()
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
}

// Above the read limits the whole content cannot be shown (CR-29). Then the regions are shown even for a file within
// their limit, unless they are too long themselves.
func TestRegionsAboveTheReadLimits(t *testing.T) {
	s := newSession(t, regionsAbove(1<<20), func(p *config.Parameters) { p.Session.Limits.Lines = 40 })
	text := numbered(100)
	s.Write("a.txt", text)
	for _, offset := range []int{0, 40, 80} {
		read(t, s, "a.txt", args{"offset": offset, "limit": 40})
	}
	r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 50 of the text\n+x\n", sum(text)))
	st := requireInRegions(t, r, text)
	text = s.Read("a.txt")
	st = succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", strings.ToUpper(text), *st.SHA256))).LatestFileState
	require.Nil(t, st.Content)

	// PR-30: the regions show the user's version of such a file.
	text = s.Read("a.txt")
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ModifyWithEditor }
	s.Edit = func(q bus.ToolConfirmationRequest) string {
		s.Answer = nil
		return strings.Replace(q.Details.NewContent, "LINE 90 OF THE TEXT", "by hand", 1)
	}
	st = requireInRegions(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-LINE 10 OF THE TEXT\n+ten\n", *st.SHA256)), text)
	text = s.Read("a.txt")
	requireInRegions(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-by hand\n+by machine\n", *st.SHA256)), text)

	// A line longer than a read shows is in no region.
	s = newSession(t, regionsAbove(1), func(p *config.Parameters) { p.Session.Limits.Bytes = 1000 })
	text = strings.Repeat("x", 2000) + "\n" + numbered(5)
	succeed(t, s.Call(file.WriteFile, writeArgs("b.txt", text, "")))
	require.Nil(t, succeed(t, s.Call(file.SafePatch, patchArgs("b.txt", "@@ @@\n-line 1 of the text\n+1\n", sum(text)))).LatestFileState.Content)
	text = s.Read("b.txt")
	requireInRegions(t, s.Call(file.SafePatch, patchArgs("b.txt", "@@ @@\n-line 5 of the text\n+5\n", sum(text))), text)
}

// A file without a final line feed, and the removal of the last line.
func TestRegionsAtTheEnd(t *testing.T) {
	s := newSession(t, regionsAbove(1))
	text := strings.TrimSuffix(numbered(50), "\n")
	s.Write("a.txt", text)
	read(t, s, "a.txt")
	requireInRegions(t, s.Call(file.Edit, editArgs("a.txt", "line 50 of the text", "the end")), text)
	text = s.Read("a.txt")
	st := requireInRegions(t, s.Call(file.Edit, editArgs("a.txt", "\nthe end", "")), text)
	require.Equal(t, [2]int{46, 49}, st.ChangedRegions[0].Lines)
	require.Equal(t, [2]int{46, 50}, st.ChangedRegions[0].BaseLines)
}

// Users see the diff, and plan mode its preview, as always.
func TestRegionsAreForModels(t *testing.T) {
	s := newSession(t, regionsAbove(1))
	text := numbered(50)
	s.Write("a.txt", text)
	read(t, s, "a.txt")
	r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 25 of the text\n+x\n", sum(text)))
	requireInRegions(t, r, text)
	require.Equal(t, s.Read("a.txt"), r.Result.ReturnDisplay.Diff.NewContent)
	require.Equal(t, text, *s.Confirmations()[0].Details.OriginalContent)

	planning := newSession(t, regionsAbove(1), func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModePlan })
	planning.Write("a.txt", text)
	read(t, planning, "a.txt")
	require.Contains(t, planning.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 25 of the text\n+x\n", sum(text))).Result.LLMContent.String(), "Nothing was changed")
}

// The descriptions of the tools explain changed_regions only if results have them, with the key names of either layout.
func TestRegionsAreDescribed(t *testing.T) {
	for _, name := range []string{"fettle", "gemini"} {
		l, _ := layout.Named(name)
		for _, above := range []int{-1, 1} {
			s := newSession(t, regionsAbove(above), func(p *config.Parameters) { p.Environment.Layout = l })
			registry, err := s.ToolRegistry()
			require.NoError(t, err)
			var described []string
			for _, d := range registry.Declarations() {
				if strings.Contains(d.Description, "changed_regions") {
					described = append(described, d.Name)
				}
			}
			slices.Sort(described)
			switch {
			case above < 0:
				require.Empty(t, described)
			case name == "gemini":
				require.Equal(t, []string{"apply_patch", "replace", "safe_patch", "str_replace_based_edit_tool", "write_file"}, described)
			default:
				require.Equal(t, []string{"apply_patch", "edit", "safe_patch", "str_replace_based_edit_tool", "write_file"}, described)
			}
		}
	}
}

// PR-03, RC-22: a conversation that has a hash without the content, and can be shown neither file nor regions, does not
// know the file after its own change. The next success has no regions, and a change without a hash is refused until the
// file is read.
func TestRegionsAreNotEarnedByAHash(t *testing.T) {
	long := func(p *config.Parameters) { p.Session.Limits.Lines = 40 }
	text := numbered(100)
	for name, forget := range map[string]func(t *testing.T, s *configtest.Session){
		"never read": func(*testing.T, *configtest.Session) {},
		"forgotten by compaction": func(t *testing.T, s *configtest.Session) {
			for _, offset := range []int{0, 40, 80} {
				read(t, s, "a.txt", args{"offset": offset, "limit": 40})
			}
			require.NoError(t, compacted(s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, regionsAbove(1), long)
			s.Write("a.txt", text)
			forget(t, s)
			st := succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 50 of the text\n+x\n", sum(text)))).LatestFileState
			require.Equal(t, sum(s.Read("a.txt")), *st.SHA256, "CR-29: above the read limits only version and hash")
			require.False(t, st.Shown())
			st = succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 70 of the text\n+y\n", *st.SHA256))).LatestFileState
			require.False(t, st.Shown(), "the base is still unknown")
			before := s.Read("a.txt")
			r := s.Call(file.Edit, editArgs("a.txt", "line 90 of the text", "z"))
			require.Equal(t, scheduler.StatusError, r.Status)
			require.Equal(t, before, s.Read("a.txt"))
			for _, offset := range []int{0, 40, 80} {
				read(t, s, "a.txt", args{"offset": offset, "limit": 40})
			}
			requireInRegions(t, s.Call(file.Edit, editArgs("a.txt", "line 90 of the text", "z")), before)
		})
	}
	// Content that the model has sent completely is known.
	s := newSession(t, regionsAbove(1), long)
	s.Write("a.txt", "something else\n")
	succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", text, sum("something else\n"))))
	requireInRegions(t, s.Call(file.Edit, editArgs("a.txt", "line 90 of the text", "z")), text)
}

// RC-22: if the conversation is compacted while the user is asked about a change, the base is forgotten when the change
// is made.
func TestRegionsOfABaseForgottenMeanwhile(t *testing.T) {
	s := newSession(t, regionsAbove(1))
	text := numbered(100)
	s.Write("a.txt", text)
	read(t, s, "a.txt")
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		if err := compacted(s); err != nil {
			t.Error(err)
		}
		return bus.ProceedOnce
	}
	requireShown(t, succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 50 of the text\n+x\n", sum(text)))).LatestFileState)
}

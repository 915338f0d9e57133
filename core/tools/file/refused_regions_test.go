package file_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// longSource returns a file of 2,000 lines and about 120 KB.
func longSource() string {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "\tregister(%q, handlerFor(%4d), withTimeout(sec))\n", fmt.Sprintf("route-%04d", i+1), i+1)
	}
	return b.String()
}

// ST-06: another program has changed one line, 1,890 lines away from the patch. The mismatch is reported in 1,500
// bytes, which are enough for the next call.
func TestMismatchOfALongFileIsShort(t *testing.T) {
	base := longSource()
	require.InDelta(t, 120_000, len(base), 1_000)
	changed := strings.Replace(base, "handlerFor(   5)", "otherHandlerFor(   5)", 1)
	patched := strings.Replace(changed, "handlerFor(1895)", "handlerFor(1_895)", 1)
	line := func(text string, n int) string { return strings.SplitAfter(text, "\n")[n-1] }
	diff := "--- a/routes.go\n+++ b/routes.go\n@@ -1894,3 +1894,3 @@\n " + line(base, 1894) + "-" + line(base, 1895) + "+" + line(patched, 1895) + " " + line(base, 1896)
	refusal := func(t *testing.T, above int) (*configtest.Session, scheduler.Response) {
		s := newSession(t, regionsAbove(above))
		s.Write("routes.go", base)
		st := read(t, s, "routes.go")
		s.Write("routes.go", changed)
		return s, s.Call(file.SafePatch, patchArgs("routes.go", diff, *st.SHA256))
	}
	s, r := refusal(t, 0)
	requireError(t, r, fault.FileChangedSinceRead, fault.Changed)
	st := requireRegionsOf(t, r, base)
	require.Equal(t, []patch.Region{{Lines: [2]int{2, 8}, BaseLines: [2]int{2, 8}, Content: linesBetween(changed, 2, 8)}}, st.ChangedRegions)
	require.True(t, strings.HasPrefix(configtest.Decode[file.Report](t, r).Message, filestate.StateMismatch+" "))
	require.Equal(t, "retry-1", r.Result.Error.Retry)
	size := len(r.Result.LLMContent.String())
	require.LessOrEqual(t, size, 1500)
	_, whole := refusal(t, -1)
	t.Logf("%d bytes; the whole content takes %d", size, len(whole.Result.LLMContent.String()))
	require.Greater(t, len(whole.Result.LLMContent.String()), 100_000)

	// The next call succeeds at once.
	r = s.Call(file.SafePatch, patchArgs("routes.go", diff, *st.SHA256))
	requireInRegions(t, r, changed)
	require.Equal(t, patched, s.Read("routes.go"))
}

// ST-06, FS-29, FS-53: each refusal that shows a state shows its changed regions, and then the conversation knows the
// file. The next call succeeds, with the hash or, for edit, without.
func TestRefusalsInRegions(t *testing.T) {
	text := numbered(100)
	other := replaceLines(text, 3, 60)
	lastChange := args{"file_path": "a.txt", "old_string": "line 99 of", "new_string": "LINE 99 of"}
	for name, tt := range map[string]struct {
		now    string // content of the file at the call
		tool   string
		args   args
		answer string // content when the confirmation is answered; "": the same
		code   fault.Code
	}{
		"patch, stale":                     {other, file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text)), "", fault.FileChangedSinceRead},
		"write, stale":                     {other, file.WriteFile, writeArgs("a.txt", "x", sum(text)), "", fault.FileChangedSinceRead},
		"write, stale, no hash":            {other, file.WriteFile, writeArgs("a.txt", "x", ""), "", fault.FileChangedSinceRead},
		"edit, stale":                      {other, file.Edit, editArgs("a.txt", "line 30 of", "x"), "", fault.FileChangedSinceRead},
		"patch, wrong hash":                {text, file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", wrong), "", fault.FileChangedSinceRead},
		"write, no hash":                   {text, file.WriteFile, writeArgs("a.txt", "x", ""), "", fault.BaseHashRequired},
		"patch that does not fit":          {text, file.SafePatch, patchArgs("a.txt", "@@ @@\n-nothing\n+x\n", sum(text)), "", fault.InvalidDiff},
		"edit that does not fit":           {text, file.Edit, editArgs("a.txt", "nothing", "x"), "", fault.EditNoOccurrenceFound},
		"patch, changed during the call":   {text, file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text)), other, fault.FileChangedSinceRead},
		"edit, changed during the call":    {text, file.Edit, editArgs("a.txt", "line 30 of", "x"), other, fault.FileChangedSinceRead},
		"write, truncated during the call": {text, file.WriteFile, writeArgs("a.txt", "x", sum(text)), numbered(70), fault.FileChangedSinceRead},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, regionsAbove(1000))
			s.Write("a.txt", text)
			first := read(t, s, "a.txt")
			s.Write("a.txt", tt.now)
			s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
				if s.Answer = nil; tt.answer != "" {
					s.Write("a.txt", tt.answer)
				}
				return bus.ProceedOnce
			}
			r := s.Call(tt.tool, tt.args)
			require.Equal(t, tt.code, r.Result.Error.Code)
			st := requireRegionsOf(t, r, text)
			require.Contains(t, st.Notice, fmt.Sprintf("version %d", *first.Version))
			require.Equal(t, *first.Version+1, *st.Version, "FS-04")
			require.Equal(t, s.Read("a.txt") == text, len(st.ChangedRegions) == 0)

			// The same again: the content shown is the content known.
			before := s.Read("a.txt")
			r = s.Call(file.WriteFile, writeArgs("a.txt", "x", wrong))
			require.Empty(t, requireRegionsOf(t, r, before).ChangedRegions)
			require.Contains(t, requireRegionsOf(t, r, before).Notice, fmt.Sprintf("as in version %d.", *st.Version))
			if strings.Contains(before, "line 99 of") {
				requireInRegions(t, s.Call(file.Edit, lastChange), before)
			} else {
				requireInRegions(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 2 of the text\n+x\n", *st.SHA256)), before)
			}
		})
	}
}

// RC-13: lines that the regions omit can be read again. That read never refers to a version whose regions alone were
// shown.
func TestReadAfterRegions(t *testing.T) {
	s := newSession(t, regionsAbove(1000))
	s.Write("a.txt", numbered(100))
	hash := *read(t, s, "a.txt").SHA256
	next := replaceLines(numbered(100), 50)
	s.Write("a.txt", next)
	requireRegionsOf(t, s.Call(file.WriteFile, writeArgs("a.txt", "x", hash)), numbered(100))
	require.Equal(t, next, *read(t, s, "a.txt").Content)
	require.Contains(t, s.Call(file.ReadFile, args{"file_path": "a.txt"}).Result.LLMContent.String(), filestate.StatusUnchanged)
	require.Equal(t, next, *read(t, s, "a.txt", args{"offset": 0}).Content)
}

// PR-14, PR-29, RC-22: a conversation that did not know the whole base receives no region of the changes, whatever
// other conversations have stored.
func TestRegionsOfARefusalNeedAKnownBase(t *testing.T) {
	text := numbered(100)
	secret := replaceLines(strings.Replace(text, "line 50 of", "the secret of", 1), 51)
	for name, tt := range map[string]struct {
		know  func(t *testing.T, s *configtest.Session)
		shown bool // the whole content is shown, as always
	}{
		"never read":  {func(*testing.T, *configtest.Session) {}, false},
		"partly read": {func(t *testing.T, s *configtest.Session) { read(t, s, "a.txt", args{"offset": 0, "limit": 99}) }, false},
		"read by a subagent": {func(t *testing.T, s *configtest.Session) {
			child, err := s.Derive(config.DeriveParameters{})
			require.NoError(t, err)
			configtest.Call(t.Context(), t, child, file.ReadFile, args{"file_path": "a.txt"})
			require.NoError(t, child.Close())
		}, false},
		"forgotten by compaction": {func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			require.NoError(t, compacted(s))
		}, false},
		"a new session": {func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			_, err := s.StartNewSession("", 0)
			require.NoError(t, err)
		}, false},
		"the cache was disabled during the call": {func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			s.SetFileReadCacheDisabled(true)
			s.SetFileReadCacheDisabled(false)
		}, false},
		"the cache is disabled": {func(t *testing.T, s *configtest.Session) {
			read(t, s, "a.txt")
			s.SetFileReadCacheDisabled(true)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, regionsAbove(1))
			s.Write("a.txt", text)
			tt.know(t, s)
			s.Write("a.txt", secret)
			for _, call := range []struct {
				tool string
				args args
			}{
				{file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text))},
				{file.WriteFile, writeArgs("a.txt", "x", sum(text))},
			} {
				report := reportOf(t, s.Call(call.tool, call.args))
				require.Nil(t, report.LatestFileState.ChangedRegions)
				if tt.shown {
					requireShown(t, report.LatestFileState)
					continue
				}
				requireWithheld(t, report.LatestFileState, s.Path("a.txt"))
				require.NotContains(t, string(jsonOf(t, report)), "secret")
			}
		})
	}
	t.Run("a subagent that has not read it", func(t *testing.T) {
		s := newSession(t, regionsAbove(1))
		s.Write("a.txt", text)
		read(t, s, "a.txt")
		s.Write("a.txt", secret)
		child, err := s.Derive(config.DeriveParameters{})
		require.NoError(t, err)
		defer func() { require.NoError(t, child.Close()) }()
		r := configtest.Call(t.Context(), t, child, file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text)))
		requireError(t, r, fault.EditRequiresPriorRead, fault.NeverRead)
		require.NotContains(t, r.Result.LLMContent.String(), "secret")
		requireRegionsOf(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text))), text)
	})
}

// PR-29: a file that read_file may show only with the user's approval is not stored, and no refusal shows a region of
// it.
func TestRegionsOfARefusalOfWhatMayNotBeShown(t *testing.T) {
	s := newSession(t, regionsAbove(1), func(p *config.Parameters) {
		p.Policy.Rules = []policy.Rule{{Tools: []string{file.ReadFile}, Decision: policy.AskUser, Priority: 100, Tier: policy.TierUser}}
	})
	text := numbered(100)
	s.Write("a.txt", text)
	read(t, s, "a.txt")
	s.Write("a.txt", replaceLines(text, 50))
	report := refuse(t, s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text))), fault.FileChangedSinceRead, fault.Changed)
	requireWithheld(t, report.LatestFileState, s.Path("a.txt"))
}

// If the change is not in the text alone, the whole content is shown.
func TestRefusalsAfterAChangeOfEncoding(t *testing.T) {
	s := newSession(t, regionsAbove(1))
	text := numbered(100)
	s.Write("a.txt", text)
	read(t, s, "a.txt")
	s.Write("a.txt", "\ufeff"+text)
	r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ @@\n-line 30 of the text\n+x\n", sum(text)))
	requireError(t, r, fault.FileChangedSinceRead, fault.Changed)
	st := configtest.Decode[file.Report](t, r).LatestFileState
	require.Equal(t, text, *st.Content)
	require.Equal(t, sum("\ufeff"+text), *st.SHA256)
}

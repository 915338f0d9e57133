package file_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

const edited = "one\n2\nthree\nfour\n" // the content that the user changes changed to

// proposed builds a call and its confirmation, as the user sees it first.
func proposed(t testing.TB, s *configtest.Session, tool string, a args) tools.ToolInvocation {
	t.Helper()
	inv := build(t, s, tool, a)
	_, err := inv.Confirmation(t.Context())
	require.NoError(t, err)
	return inv
}

func modify(t testing.TB, inv tools.ToolInvocation, content string) tools.ToolInvocation {
	t.Helper()
	inv, err := inv.(tools.Modifiable).Modify(t.Context(), content)
	require.NoError(t, err)
	return inv
}

// carryOut executes an invocation and returns its report and error.
func carryOut(t testing.TB, inv tools.ToolInvocation) (file.Report, *fault.Error) {
	t.Helper()
	result, err := inv.Execute(t.Context(), nil)
	require.NoError(t, err)
	var report file.Report
	require.NoError(t, json.Unmarshal([]byte(result.LLMContent.String()), &report))
	require.Equal(t, result.Error == nil, report.Success)
	return report, result.Error
}

func requireCode(t testing.TB, err *fault.Error, code fault.Code, reason fault.Reason) {
	t.Helper()
	require.NotNil(t, err)
	require.Equal(t, string(code)+"/"+string(reason), string(err.Code)+"/"+string(err.Reason), "%s", err.Line())
}

// AR-21, PR-30, KH-15: the user's version of the proposal is shown, counted as the user's lines, written, and reported
// to the model, which may continue from it.
func TestModify(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		first := proposed(t, s, m.tool, m.change("a.txt"))
		inv := modify(t, first, edited)
		require.Equal(t, base, s.Read("a.txt"), "nothing is written yet")

		c, err := inv.Confirmation(t.Context())
		require.NoError(t, err)
		require.Equal(t, tools.ConfirmEdit, c.Type)
		require.Equal(t, base, *c.OriginalContent)
		require.Equal(t, edited, c.NewContent)
		require.Equal(t, sum(base), c.Bases[0].SHA256)
		require.Equal(t, edited, applied(t, base, c.EditDetails.FileDiff), "FS-44")
		require.Equal(t, tools.DiffStat{
			ModelAddedLines: 1, ModelRemovedLines: 1, ModelAddedChars: 3, ModelRemovedChars: 3,
			UserAddedLines: 2, UserRemovedLines: 1, UserAddedChars: 5, UserRemovedChars: 3,
		}, *c.DiffStat)

		params := inv.Params()
		report, failed := carryOut(t, inv)
		require.Nil(t, failed)
		require.Equal(t, string(params), string(inv.Params()), "AR-12")
		require.Equal(t, "File changed, with changes that the user made to your proposal before it was applied. latest_file_state has the written content.", report.Message)
		require.Empty(t, report.Corrections)
		requireShown(t, report.LatestFileState)
		require.Equal(t, edited, s.Read("a.txt"))

		succeed(t, s.Call(file.Edit, editArgs("a.txt", "2", "two"))) // PR-30
		require.Equal(t, "one\ntwo\nthree\nfour\n", s.Read("a.txt"))
	})
}

// The new parameters make the same change in a call of their own.
func TestModifiedParamsStandForTheChange(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		for name, c := range map[string]struct {
			args         args
			before, want string
		}{
			"change": {m.change("a.txt"), base, edited},
			"create": {m.create("a.txt"), "", "mine\n\tof two lines"},
		} {
			s := newSession(t)
			if c.before != "" {
				s.Write("a.txt", c.before)
				read(t, s, "a.txt")
			}
			params := modify(t, proposed(t, s, m.tool, c.args), c.want).Params()
			again, err := toolOf(t, s, m.tool).Build(params)
			require.NoError(t, err, name)
			require.Equal(t, string(params), string(again.Params()), "canonical")
			_, failed := carryOut(t, again)
			require.Nil(t, failed, name)
			require.Equal(t, c.want, s.Read("a.txt"), name)
		}
	})
}

func TestModifyANewFile(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		inv := modify(t, proposed(t, s, m.tool, m.create("new/a.txt")), "mine\r\n")
		c, err := inv.Confirmation(t.Context())
		require.NoError(t, err)
		require.Nil(t, c.OriginalContent)
		report, failed := carryOut(t, inv)
		require.Nil(t, failed)
		require.True(t, strings.HasPrefix(report.Message, "File created, with changes that the user made"))
		requireShown(t, report.LatestFileState)
		require.Equal(t, "mine\r\n", s.Read("new/a.txt"), "a new file has the user's content")
	})
}

// A user may change a change. Lines are counted against the model's proposal.
func TestModifyTwice(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	m := mutators[0]
	inv := modify(t, modify(t, proposed(t, s, m.tool, m.change("a.txt")), edited), "one\nTWO\n3\n")
	c, err := inv.Confirmation(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, c.DiffStat.ModelAddedLines)
	require.Equal(t, 1, c.DiffStat.UserAddedLines)
	require.Equal(t, 1, c.DiffStat.UserAddedChars)

	// Restoring the proposal makes it the model's own again.
	inv = modify(t, inv, changed)
	report, failed := carryOut(t, inv)
	require.Nil(t, failed)
	require.Equal(t, m.done, report.Message)
}

// AR-21: a proposal without a change is reported as such, and writes nothing.
func TestModifyBackToTheBase(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		inv := modify(t, proposed(t, s, m.tool, m.change("a.txt")), base)
		before := tree(t, s.Dir)
		_, err := inv.Confirmation(t.Context())
		require.ErrorIs(t, err, tools.ErrWillRefuse)
		requireCode(t, fault.As(err), fault.EditNoChange, "")
		report, failed := carryOut(t, inv)
		requireCode(t, failed, fault.EditNoChange, "")
		requireShown(t, report.LatestFileState)
		require.Equal(t, before, tree(t, s.Dir))
	})
}

// FS-18, FS-55: the file keeps its line endings and encoding, as with write_file. Text that the encoding cannot
// represent is refused.
func TestModifyKeepsTheForm(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		crlf := "\ufeff" + strings.ReplaceAll(base, "\n", "\r\n")
		s.Write("a.txt", crlf)
		st := read(t, s, "a.txt")
		a := m.change("a.txt")
		if m.takesBaseHash {
			a["base_content_sha256"] = *st.SHA256
		}
		_, failed := carryOut(t, modify(t, proposed(t, s, m.tool, a), "\ufeff"+edited))
		require.Nil(t, failed)
		require.Equal(t, "\ufeff"+strings.ReplaceAll(edited, "\n", "\r\n"), s.Read("a.txt"))

		for _, bad := range []string{"a\x00b\n", "a\xffb\n"} {
			s.Write("b.txt", base)
			read(t, s, "b.txt")
			report, failed := carryOut(t, modify(t, proposed(t, s, m.tool, m.change("b.txt")), bad))
			require.NotNil(t, failed, "%q", bad)
			require.False(t, report.Success)
			require.Equal(t, base, s.Read("b.txt"))
		}
	})
}

// PR-16, PR-17, FS-45: the checks of the proposal do not apply to the user's version, which is checked again. Changes
// of the file in the meantime are kept.
func TestModifyProvesAgain(t *testing.T) {
	const theirs = "somebody's work\n"
	eachMutator(t, func(t *testing.T, m mutator) {
		for name, c := range map[string]struct {
			exists bool
			act    func(s *configtest.Session, path string)
			code   fault.Code
			reason fault.Reason
			left   string
		}{
			"changed":     {true, func(s *configtest.Session, _ string) { s.Write("a.txt", theirs) }, fault.FileChangedSinceRead, fault.Changed, theirs},
			"disappeared": {true, func(_ *configtest.Session, path string) { _ = os.Remove(path) }, fault.FileChangedSinceRead, fault.Disappeared, ""},
			"appeared":    {false, func(s *configtest.Session, _ string) { s.Write("a.txt", theirs) }, fault.EditRequiresPriorRead, fault.NeverRead, theirs},
			// The conversation has read it, but the user has not seen it.
			"changed and read": {true, func(s *configtest.Session, _ string) {
				s.Write("a.txt", theirs)
				read(t, s, "a.txt")
			}, fault.FileChangedSinceRead, fault.Changed, theirs},
		} {
			t.Run(name, func(t *testing.T) {
				s := newSession(t)
				a := m.create("a.txt")
				if c.exists {
					s.Write("a.txt", base)
					read(t, s, "a.txt")
					a = m.change("a.txt")
				}
				first := proposed(t, s, m.tool, a)
				c.act(s, s.Path("a.txt"))
				inv := modify(t, first, edited)
				_, err := inv.Confirmation(t.Context())
				require.ErrorIs(t, err, tools.ErrWillRefuse, "PR-15: no approval is requested")
				if c.exists { // FS-43: not even if the file matches again
					s.Write("a.txt", base)
				}
				_, failed := carryOut(t, inv)
				requireCode(t, failed, c.code, c.reason)
				if !c.exists {
					require.Equal(t, c.left, s.Read("a.txt"))
				}
			})
			t.Run(name+" after the second confirmation", func(t *testing.T) {
				s := newSession(t)
				a := m.create("a.txt")
				if c.exists {
					s.Write("a.txt", base)
					read(t, s, "a.txt")
					a = m.change("a.txt")
				}
				inv := modify(t, proposed(t, s, m.tool, a), edited)
				_, err := inv.Confirmation(t.Context())
				require.NoError(t, err)
				c.act(s, s.Path("a.txt"))
				_, failed := carryOut(t, inv)
				requireCode(t, failed, c.code, c.reason)
				if c.left == "" {
					require.NoFileExists(t, s.Path("a.txt"))
				} else {
					require.Equal(t, c.left, s.Read("a.txt"))
				}
			})
		}
	})
}

// PR-15: a refused proposal cannot become a write.
func TestModifyOfARefusedProposal(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", "not read\n")
		inv := build(t, s, m.tool, m.change("a.txt"))
		next, err := inv.(tools.Modifiable).Modify(t.Context(), edited)
		require.Nil(t, next)
		requireCode(t, fault.As(err), fault.EditRequiresPriorRead, fault.NeverRead)
		require.Equal(t, "not read\n", s.Read("a.txt"))
	})
}

// PR-30, KH-15: if the final content cannot be shown, its hash is not shown either, and the next change is refused
// until the file is read.
func TestModifiedContentThatCannotBeShown(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		for name, c := range map[string]struct {
			args   args
			exists bool
		}{"change": {m.change("a.txt"), true}, "create": {m.create("a.txt"), false}} {
			t.Run(name, func(t *testing.T) {
				s := newSession(t, func(p *config.Parameters) { p.Session.Limits.Lines = 3 })
				if c.exists {
					s.Write("a.txt", base)
					read(t, s, "a.txt")
				}
				report, failed := carryOut(t, modify(t, proposed(t, s, m.tool, c.args), edited))
				require.Nil(t, failed)
				require.Equal(t, edited, s.Read("a.txt"))
				requireWithheld(t, report.LatestFileState, s.Path("a.txt"))
				require.Contains(t, report.Message, "cannot be shown here: read the file")

				requireError(t, s.Call(file.Edit, editArgs("a.txt", "2", "two")), fault.FileChangedSinceRead, fault.Changed)
				read(t, s, "a.txt", args{"offset": 0, "limit": 2})
				requireError(t, s.Call(file.Edit, editArgs("a.txt", "2", "two")), fault.EditRequiresPriorRead, fault.PartialRead)
				read(t, s, "a.txt", args{"offset": 2, "limit": 2})
				carryOut(t, build(t, s, file.Edit, editArgs("a.txt", "2", "two")))
				require.Equal(t, "one\ntwo\nthree\nfour\n", s.Read("a.txt"))
			})
		}
	})
}

// applied returns text with a diff applied strictly.
func applied(t testing.TB, text, diff string) string {
	t.Helper()
	parsed, err := patch.Parse(diff)
	require.NoError(t, err)
	corrected, err := patch.Correct(text, parsed)
	require.NoError(t, err)
	require.Empty(t, corrected.Corrections)
	out, err := patch.ApplyStrict(text, corrected)
	require.NoError(t, err)
	return out
}

// AR-21, AR-28, PR-30: a whole conversation. The user's version of a proposal is matched by policy and shown again, and
// the call continues with that version only.
func TestModifyInAConversation(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		s.Edit = func(q bus.ToolConfirmationRequest) string { return q.Details.NewContent + "four\n" }
		s.Answer = func(q bus.ToolConfirmationRequest) bus.Outcome {
			require.Equal(t, base, s.Read("a.txt"), "nothing is written before approval")
			if q.Modified {
				return bus.ProceedOnce
			}
			return bus.ModifyWithEditor
		}
		r := s.Call(m.tool, m.change("a.txt"))
		report := succeed(t, r)
		requireShown(t, report.LatestFileState)
		require.Equal(t, changed+"four\n", s.Read("a.txt"))
		asked := s.Confirmations()
		require.Len(t, asked, 2)
		require.Contains(t, asked[0].Outcomes, bus.ModifyWithEditor)
		require.Equal(t, changed+"four\n", asked[1].Details.NewContent)
		require.Equal(t, 1, asked[1].Details.DiffStat.UserAddedLines)
		require.Equal(t, 1, r.Result.ReturnDisplay.Diff.DiffStat.UserAddedLines)

		s.Answer = nil
		succeed(t, s.Call(file.Edit, editArgs("a.txt", "four", "4")))
	})
}

// FS-45: the file may change while the user edits.
func TestModifyWhileTheFileChanges(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		s.Edit = func(bus.ToolConfirmationRequest) string {
			s.Write("a.txt", "somebody's work\n")
			return edited
		}
		s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ModifyWithEditor }
		report := refuse(t, s.Call(m.tool, m.change("a.txt")), fault.FileChangedSinceRead, fault.Changed)
		requireShown(t, report.LatestFileState)
		require.Len(t, s.Confirmations(), 1, "no approval is requested for an impossible change")
		require.Equal(t, "somebody's work\n", s.Read("a.txt"))
	})
}

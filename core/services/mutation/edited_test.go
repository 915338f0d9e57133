package mutation_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// AR-21: a change computed for a base is refused if the file differs, even if the conversation
// knows the current content.
func TestPlanFromABase(t *testing.T) {
	fx := newFixture(t)
	p := fx.known("a.txt", "text\n")
	base := fx.Plan(t.Context(), upper(p)).Base()
	r := upper(p)
	r.From = &base
	require.Nil(t, fx.Plan(t.Context(), r).Refused())

	fx.known("a.txt", "other\n")
	plan := fx.Plan(t.Context(), r)
	requireRefusal(t, plan.Refused(), fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, "other\n", *fx.Commit(t.Context(), plan).State.Content, "a known state is shown")

	require.NoError(t, os.Remove(p.String()))
	requireRefusal(t, fx.Plan(t.Context(), r).Refused(), fault.FileChangedSinceRead, fault.Disappeared)

	absent := mutation.Base{SHA256: filestate.EmptySHA256}
	r = upper(fx.path("b.txt"))
	r.From = &absent
	require.Nil(t, fx.Plan(t.Context(), r).Refused())
	fx.known("b.txt", "") // same hash, but the file exists
	requireRefusal(t, fx.Plan(t.Context(), r).Refused(), fault.EditRequiresPriorRead, fault.NeverRead)
}

// PR-30: the conversation knows a text edited by the user only after it is shown.
func TestEditedTextIsKnownOnlyWhereItIsShown(t *testing.T) {
	may := true
	var state *filestate.Service
	fx := newFixture(t, func(o *mutation.Options) {
		state = filestate.New(filestate.Options{
			Files: o.Files.(*workspace.Workspace), Limits: filestate.Limits{Lines: 2},
			MayShow: func(workspace.Path) bool { return may },
		})
		o.State = state
	})
	fx.state = state
	write := func(p workspace.Path, text string) filestate.State {
		t.Helper()
		out := fx.Commit(t.Context(), fx.Plan(t.Context(), mutation.Request{Path: p, Verb: verb, Edited: true,
			Compute: func(mutation.Base) (mutation.Change, *fault.Error) { return mutation.Change{Text: text}, nil }}))
		require.Nil(t, out.Err)
		require.Equal(t, text, fx.content(p))
		return out.State
	}
	p := fx.known("a.txt", "text\n")
	require.Equal(t, "1\n2\n", *write(p, "1\n2\n").Content)
	require.Nil(t, fx.Plan(t.Context(), upper(p)).Refused(), "a shown text is known")

	require.Equal(t, filestate.Withheld(p.String()), write(p, "1\n2\n3\n"), "above the limits")
	requireRefusal(t, fx.Plan(t.Context(), upper(p)).Refused(), fault.FileChangedSinceRead, fault.Changed)

	p = fx.known("b.txt", "text\n")
	may = false
	require.Equal(t, filestate.Withheld(p.String()), write(p, "1\n"), "may not be shown")
	requireRefusal(t, fx.Plan(t.Context(), upper(p)).Refused(), fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, filestate.Withheld(fx.path("new.txt").String()), write(fx.path("new.txt"), "1\n"))
	requireRefusal(t, fx.Plan(t.Context(), upper(fx.path("new.txt"))).Refused(), fault.FileChangedSinceRead, fault.Changed)
}

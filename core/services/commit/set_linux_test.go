package commit

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// setTemp is the temporary name of the changes of these tests.
const setTemp = ".fettle-set-0123456789abcdef-0"

// stage stages a change of the fixture's file.
func (fx *fixture) stage(t *testing.T, s system, base string, remove bool) (*Locks, *Staged) {
	t.Helper()
	l, err := newOn(s, Options{Settle: -1}).LockAll(t.Context(), []*os.File{fx.dir, fx.dir})
	require.NoError(t, err)
	staged, err := l.Stage(t.Context(), SetRequest{Request: fx.request(base, newText), Remove: remove, Temp: setTemp})
	require.NoError(t, err)
	return l, staged
}

// TestStagedWays exchanges, undoes, finishes and resumes a change of a set on systems with fewer
// features.
func TestStagedWays(t *testing.T) { // TX-02, TX-03
	for name, tt := range map[string]struct {
		system system
		base   string
		remove bool
	}{
		"exchange":         {kernel{}, oldText, false},
		"named":            {noUnnamed{kernel{}}, oldText, false},
		"link":             {methods[MethodLink], oldText, false},
		"no leases":        {noLeases{kernel{}}, oldText, false},
		"create":           {kernel{}, "", false},
		"create named":     {noUnnamed{kernel{}}, "", false},
		"create by link":   {noNoReplace{kernel{}}, "", false},
		"remove":           {kernel{}, oldText, true},
		"remove by link":   {noNoReplace{kernel{}}, oldText, true},
		"remove unleased":  {noLeases{kernel{}}, oldText, true},
		"create unlinked":  {noProc{kernel{}}, "", false},
		"exchange no proc": {noProc{kernel{}}, oldText, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, end := range []string{"undo", "finish", "resume undo", "resume drop", "staged undo", "staged resume"} {
				fx := newFixture(t, tt.base)
				before := fx.state()
				l, s := fx.stage(t, tt.system, tt.base, tt.remove)
				resumed := func() *Staged {
					s.end() // as after a kill
					r := ResumeRequest{SetRequest: SetRequest{Request: fx.request(tt.base, ""), Remove: tt.remove, Temp: setTemp}, Exchanging: true}
					if !tt.remove {
						r.New, r.NewSize = sumOf([]byte(newText)), int64(len(newText))
					}
					again, err := l.Resume(t.Context(), r)
					require.NoError(t, err)
					return again
				}
				if end != "staged undo" && end != "staged resume" {
					require.NoError(t, s.Exchange(t.Context()))
					require.NoError(t, s.Confirm(t.Context()))
				}
				want := "file: " + newText
				if tt.remove {
					want = "absent"
				}
				var out Outcome
				var err error
				switch end {
				case "undo", "staged undo":
					out, err = s.Undo(t.Context())
					want = before
				case "finish":
					out = s.Finish(t.Context())
				case "resume undo", "staged resume":
					out, err = resumed().Undo(t.Context())
					want = before
				case "resume drop":
					out = resumed().Drop(t.Context())
				}
				require.NoError(t, err)
				require.Empty(t, out.KeptFiles)
				require.NoError(t, l.Flush())
				l.Unlock()
				require.Equal(t, want, fx.state(), end)
				names := []string{"target.txt"}
				if want == "absent" {
					names = nil
				}
				require.ElementsMatch(t, names, fx.names(), end)
			}
		})
	}
}

// A change that only a rename could make is refused, and so is one that is not staged under its lock.
func TestStagedRefusals(t *testing.T) { // TX-02
	fx := newFixture(t, oldText)
	l, s := fx.stage(t, methods[MethodRename], oldText, false)
	requireCode(t, s.Exchange(t.Context()), fault.FileWriteFailure, "")
	_, err := s.Undo(t.Context())
	require.NoError(t, err)
	l.Unlock()
	require.Equal(t, "file: "+oldText, fx.state())
	require.Equal(t, []string{"target.txt"}, fx.names())
	_, err = l.Stage(t.Context(), SetRequest{Request: fx.request(oldText, newText), Temp: setTemp})
	require.Error(t, err)
}

// An exchange by links that was killed between its steps is resumed.
func TestResumeBetweenLinks(t *testing.T) { // TX-03
	for _, renamed := range []bool{false, true} {
		fx := newFixture(t, oldText)
		l, s := fx.stage(t, methods[MethodLink], oldText, false)
		require.NoError(t, os.Link(fx.file, fx.path+"/"+setTemp+stagedSecond))
		if renamed {
			require.NoError(t, os.Rename(fx.path+"/"+setTemp, fx.file))
		}
		s.end()
		again, err := l.Resume(t.Context(), ResumeRequest{
			SetRequest: SetRequest{Request: fx.request(oldText, ""), Temp: setTemp},
			Exchanging: true, New: sumOf([]byte(newText)), NewSize: int64(len(newText)),
		})
		require.NoError(t, err)
		out, err := again.Undo(t.Context())
		require.NoError(t, err)
		require.Empty(t, out.KeptFiles)
		l.Unlock()
		require.Equal(t, "file: "+oldText, fx.state())
		require.Equal(t, []string{"target.txt"}, fx.names())
	}
}

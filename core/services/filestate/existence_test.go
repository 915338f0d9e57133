package filestate

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// PR-12, PR-17, PR-18, FS-50, FS-62, CR-12: existence against the plan
func TestExistence(t *testing.T) {
	for name, tt := range map[string]struct {
		expect  Expect
		exists  bool
		seen    bool
		proof   string
		refused fault.Reason // "": accepted
	}{
		"new":                                    {expect: ExpectAny},
		"new, seen before":                       {expect: ExpectAny, seen: true, refused: fault.Disappeared},
		"new, with the hash of nothing":          {expect: ExpectAny, proof: EmptySHA256},
		"new, seen, with the hash of nothing":    {expect: ExpectAny, seen: true, proof: EmptySHA256},
		"new, with another hash":                 {expect: ExpectAny, proof: Sum([]byte("x")), refused: fault.Disappeared},
		"planned as new":                         {expect: ExpectAbsent},
		"planned as new, with the empty hash":    {expect: ExpectAbsent, proof: EmptySHA256},
		"planned as new, with another hash":      {expect: ExpectAbsent, proof: Sum([]byte("x")), refused: fault.Disappeared},
		"planned as new, but it appeared":        {expect: ExpectAbsent, exists: true, refused: fault.NeverRead},
		"appeared, and its hash is right":        {expect: ExpectAbsent, exists: true, proof: Sum([]byte("x")), refused: fault.NeverRead},
		"planned as existing, but gone":          {expect: ExpectExisting, refused: fault.Disappeared},
		"gone, with the hash of nothing":         {expect: ExpectExisting, proof: EmptySHA256, refused: fault.Disappeared},
		"gone, seen":                             {expect: ExpectExisting, seen: true, refused: fault.Disappeared},
		"planned as existing, and seen":          {expect: ExpectExisting, exists: true, seen: true},
		"planned as existing, but unseen by now": {expect: ExpectExisting, exists: true, refused: fault.NeverRead},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if tt.seen || tt.exists {
				f.write("a", "x")
			}
			if tt.seen {
				f.shown("a")
			}
			if tt.seen && !tt.exists {
				require.NoError(t, os.Remove(f.name("a")))
			}
			r := f.Decide(Check{Path: f.path("a"), Verb: overwriting, Expect: tt.expect, Proof: tt.proof})
			if tt.refused == "" {
				require.Nil(t, r)
				return
			}
			require.NotNil(t, r)
			require.Equal(t, tt.refused, r.Reason)
			requireProse(t, r, overwriting)
		})
	}
}

// PR-12: after the refusal the model knows, so it may create the file.
func TestDisappearedIsToldOnce(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	f.shown("a")
	require.NoError(t, os.Remove(f.name("a")))
	require.NotNil(t, f.edit("a"))
	require.Nil(t, f.edit("a"))
}

// PR-28, CR-16, CR-17: with the cache disabled, only the hash rules apply, and removed files are
// not remembered.
func TestKillSwitchTurnsTheChecksOff(t *testing.T) {
	for name, tt := range staged {
		switch tt.code {
		case fault.EditRequiresPriorRead, fault.FileChangedSinceRead, fault.PriorReadVerificationFailed:
		default:
			continue
		}
		if tt.reason == fault.SpecialFile {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tt.stage(f)
			f.hidden = true
			require.Nil(t, f.edit("a"))
			require.True(t, f.Seen(f.path("a")))
		})
	}
	f := newFixture(t)
	f.write("a", "x")
	f.hidden = true
	require.Nil(t, f.edit("a"))
	f.hidden = false
	require.NotNil(t, f.edit("a"))
}

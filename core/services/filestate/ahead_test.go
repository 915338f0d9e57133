package filestate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// CR-29: a read shows and records the bytes that were read ahead.
func TestAhead(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one\n")
	r := f.Ahead(t.Context(), ReadRequest{Path: p, Repeat: true})
	require.Equal(t, 1, f.disk.opens)
	require.Zero(t, f.Versions.Current())
	require.NotNil(t, f.edit("a"), "it was not shown")

	f.write("a", "two, by another program\n")
	r.ResultBytes = 1000
	read, err := f.Read(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, 1, f.disk.opens)
	require.Equal(t, "one\n", *read.State.Content)
	require.Equal(t, Sum([]byte("one\n")), *read.State.SHA256)
	require.Equal(t, int64(1), *read.State.Version)
	refusal := f.edit("a")
	require.NotNil(t, refusal)
	require.Equal(t, fault.FileChangedSinceRead, refusal.Code)

	r.Path = f.write("b.png", "\x89PNG\r\n\x1a\n")
	r = f.Ahead(t.Context(), ReadRequest{Path: r.Path, Repeat: true, TextOnly: true})
	read, err = f.Read(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "image/png", read.Payload.MIMEType)
}

func TestNotAhead(t *testing.T) {
	f := newFixture(t)
	small := f.write("small", "text\n")
	for name, r := range map[string]ReadRequest{
		"may be a placeholder": {Path: small},
		"ranged":               {Path: small, Repeat: true, Ranged: true},
		"large":                {Path: f.write("large", strings.Repeat("x\n", maxAhead/2+1)), Repeat: true},
		"missing":              {Path: f.path("missing"), Repeat: true},
		"directory":            {Path: f.path("."), Repeat: true},
	} {
		require.Nil(t, f.Ahead(t.Context(), r).show, name)
		require.Zero(t, f.disk.opens, name)
	}
}

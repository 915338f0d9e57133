package filestate

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// BE-02: a file with the bytes of the known state is neither copied nor hashed, and its bytes are read all the same.
func TestSnapshotOfKnownBytes(t *testing.T) {
	text := strings.Repeat("some text\n", 1_500) // more than the head that decides about its kind
	f := newFixture(t)
	f.write("f", text)
	unknown := f.snap("f")
	require.Equal(t, Sum([]byte(text)), unknown.SHA256)
	f.full("f")
	shared, ok := f.bases.inMemory(Sum([]byte(text)))
	require.True(t, ok)
	snap := f.snap("f")
	require.True(t, snap.Stable)
	require.Equal(t, Sum([]byte(text)), snap.SHA256)
	require.Same(t, &shared[0], &snap.Data[0])

	for name, changed := range map[string]string{
		"at its end": text[:len(text)-2] + "T\n", "at its beginning": "S" + text[1:], "longer": text + "x", "shorter": text[1:], "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			was := time.Unix(0, f.info("f").MtimeNS)
			f.write("f", changed)
			require.NoError(t, os.Chtimes(f.name("f"), was, was)) // times prove nothing
			snap := f.snap("f")
			require.True(t, snap.Stable)
			require.Equal(t, changed, string(snap.Data))
			require.Equal(t, Sum([]byte(changed)), snap.SHA256)
			f.write("f", text)
		})
	}

	t.Run("changed during the read", func(t *testing.T) {
		tries := 0
		f.hook = func(at string, _ workspace.Path) {
			if at == atReading {
				if tries++; tries == 1 {
					f.write("f", text+"more")
				}
			}
		}
		snap := f.snap("f")
		require.True(t, snap.Stable)
		require.Equal(t, text+"more", string(snap.Data))
		require.Equal(t, Sum([]byte(text+"more")), snap.SHA256)
		require.Equal(t, 2, tries)
	})
}

// A file that states no size, as in /proc, is not taken for a known empty file.
func TestSnapshotWithoutSize(t *testing.T) {
	const stat = "/proc/self/stat"
	file, err := os.Open(stat)
	if err != nil {
		t.Skip("no /proc")
	}
	defer file.Close()
	f := newFixture(t)
	f.write("f", "")
	f.full("f")
	info, err := workspace.InfoOf(file)
	require.NoError(t, err)
	require.Zero(t, info.Size)
	var snap Snapshot
	require.NoError(t, f.readInto(t.Context(), &snap, f.path("f"), file, f.info("f")))
	require.NotEmpty(t, snap.Data)
	require.Empty(t, snap.SHA256)
}

package rebase_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/rebase"
)

// ST-09: changes of recorded file histories that do not overlap give the next version of the file, as
// its authors made it, or a conflict, and at least half of them carry over. The triples come from
// this repository: go run -C integration/dev ./replay -git . -record FILE.
func TestCarryRecordedHistories(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/histories.jsonl.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	count, carried := 0, 0
	for d := json.NewDecoder(z); ; {
		var h struct{ Name, Base, Ours, Theirs, Both string }
		if err := d.Decode(&h); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		for _, sides := range [][2]string{{h.Ours, h.Theirs}, {h.Theirs, h.Ours}} {
			require.NotEqual(t, h.Base, sides[0])
			count++
			if result, conflict := rebase.Carry(h.Base, sides[0], sides[1]); conflict == nil {
				carried++
				require.Equal(t, h.Both, result, h.Name)
			}
		}
	}
	t.Logf("%d of %d changes carried over", carried, count)
	require.Greater(t, count, 100)
	require.GreaterOrEqual(t, 2*carried, count)
}

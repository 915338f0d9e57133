package file

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
)

// ST-08: with any state, a report fits every limit, is valid JSON, and counts the kept files that it omits.
func TestReportFits(t *testing.T) {
	const kept = 200
	step := 4987
	if os.Getenv("FETTLE_FULL") != "" {
		step = 331
	}
	for _, length := range []int{20, 200, 600, 4000} {
		path := "/" + strings.Repeat("x", length)
		for _, message := range []string{"Patch applied successfully.", strings.Repeat(`A "long" message about `+path+". ", 5)} {
			for limit := 1000; limit < 40_000; limit += step {
				version, sha := int64(1), filestate.EmptySHA256
				r := Report{Message: message, LatestFileState: filestate.State{Version: &version, SHA256: &sha, FilePath: path}}
				for i := range kept {
					r.KeptFiles = append(r.KeptFiles, fmt.Sprintf("%s.fettle-kept-%04d", path, i))
				}
				for i := range 300 {
					r.Corrections = append(r.Corrections, patch.Correction{Hunk: i, Kind: patch.KindFileName})
				}
				content, err := fitted(&r, limit)
				require.NoError(t, err)
				require.LessOrEqual(t, len(content.String()), limit, "%d %d", length, len(message))
				var back Report
				require.NoError(t, json.Unmarshal([]byte(content.String()), &back))
				require.Equal(t, sha, *back.LatestFileState.SHA256)
				require.True(t, strings.HasPrefix(back.Message, message[:20]), back.Message)
				if left := kept - len(back.KeptFiles); left > 0 {
					require.True(t, strings.HasSuffix(back.Message, leftOut(left)), back.Message)
				}
			}
		}
	}
}

package search_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/tools/search"
)

// ST-08: results respect the limit of text, count the omitted matches, and state how to see them.
func TestResultsFit(t *testing.T) {
	for _, limit := range []int{1000, 2400, 8000} {
		s := configtest.New(t, func(p *config.Parameters) { p.Session.Limits.ResultBytes = limit })
		for i := range 60 {
			s.Write(fmt.Sprintf("dir/file %02d.txt", i), strings.Repeat(`hit "quoted"`+"\t\x1b\n", 1+i%7))
		}
		for name, call := range map[string]struct {
			tool string
			args map[string]any
		}{
			"glob":    {search.Glob, map[string]any{"pattern": "**/*"}},
			"lines":   {search.SearchFileContent, map[string]any{"pattern": "hit", "total_max_matches": 1000}},
			"context": {search.SearchFileContent, map[string]any{"pattern": "hit", "context": 3}},
			"names":   {search.SearchFileContent, map[string]any{"pattern": "hit", "names_only": true}},
		} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				r := s.Call(call.tool, call.args)
				text := r.Result.LLMContent.String()
				require.LessOrEqual(t, len(text), limit)
				var got struct {
					Files   []json.RawMessage
					Matches int
					More    bool
					LeftOut int `json:"left_out"`
					Notice  string
				}
				require.NoError(t, json.Unmarshal([]byte(text), &got))
				require.NotEmpty(t, got.Files, "%s", text)
				if call.tool == search.Glob && len(got.Files) < 60 {
					require.Equal(t, 60, len(got.Files)+got.LeftOut)
					require.Contains(t, got.Notice, "narrower pattern")
				}
				if call.tool == search.SearchFileContent && got.More {
					require.Contains(t, got.Notice, "more matches")
					require.Equal(t, got.Matches, matchesIn(t, got.Files))
				}
				require.Equal(t, len(got.Files) < 60 || got.More, strings.Contains(got.Notice, "more matches") || got.LeftOut > 0, "%s", text)
			})
		}
	}
}

// matchesIn returns the number of matching lines of a result, or of its files if only names were requested.
func matchesIn(t *testing.T, files []json.RawMessage) (n int) {
	t.Helper()
	for _, raw := range files {
		var f struct{ Lines []struct{ Context bool } }
		require.NoError(t, json.Unmarshal(raw, &f))
		if f.Lines == nil {
			n++
		}
		for _, l := range f.Lines {
			if !l.Context {
				n++
			}
		}
	}
	return n
}

package script_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/docs"
)

// The examples on the page can be played, and the page names every key.
func TestPage(t *testing.T) {
	page, err := fs.ReadFile(docs.Files(), "scripts.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 2)
	s := parse(t, blocks[0][1])
	parse(t, turns(strings.Split(strings.TrimSpace(blocks[1][1]), "\n")...))

	g := script.New(s, script.Options{})
	require.Len(t, g.Left(), 3)
	_, err = g.Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	r, err := g.Generate(t.Context(), after("read_file", `{"output":`+state("/w/prices.py", 1, hashA, "")+`}`))
	require.NoError(t, err)
	require.Contains(t, string(r.Content.Calls()[0].Args), hashA)
	for _, key := range []string{
		"title", "note", "when", "expect", "thought", "text", "calls", "empty", "finish", "usage", "fail", "repeat", "args", "rawArgs",
		"purpose", "system", "prompt", "declared", "tool", "error", "ok", "result", "without",
		"kind", "status", "code", "message", "retryAfterMs", "afterPieces", "afterBytes",
	} {
		require.Contains(t, string(page), "`"+key+"`")
	}
}

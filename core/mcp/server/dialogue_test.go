package server_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// EX-20: each file of testdata/stdio contains dialogues. A line "> TEXT" is sent
// unchanged. A line "< JSON" must be contained in the next answer; "$name" in it
// captures a string, which ${name} inserts into later lines.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "stdio", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		require.NoError(t, err)
		for _, d := range a.Files {
			t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar")+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				o := options(newShop())
				o.RequestBytes, o.PageSize = 4000, 10
				speak(t, stdio(t, server.New(o)), string(d.Data))
			})
		}
	}
}

func speak(t *testing.T, w wire, dialogue string) {
	t.Helper()
	out := bufio.NewReader(w.out)
	taken := map[string]string{}
	for line := range strings.Lines(dialogue) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			sent := os.Expand(regexp.MustCompile(`\$([^{])`).ReplaceAllString(line[2:], "$${dollar}$1"), func(name string) string {
				if name == "dollar" {
					return "$"
				}
				return taken[name]
			})
			sent = strings.ReplaceAll(sent, "LONG", strings.Repeat("x", 5000))
			_, err := w.in.Write([]byte(sent + "\n"))
			require.NoError(t, err)
		case strings.HasPrefix(line, "< "):
			got, err := out.ReadBytes('\n')
			require.NoError(t, err, line)
			var g, want any
			require.NoError(t, json.Unmarshal(got, &g), "%s", got)
			require.NoError(t, json.Unmarshal([]byte(line[2:]), &want), line)
			require.True(t, contains(g, want, taken), "want %s\ngot  %s", line[2:], got)
		default:
			require.Empty(t, strings.TrimSpace(line), "a line begins with > or <")
		}
	}
}

// contains reports whether got contains everything in want.
func contains(got, want any, taken map[string]string) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range want {
			gv, ok := g[k]
			if v == "absent" {
				if ok {
					return false
				}
				continue
			}
			if !ok || !contains(gv, v, taken) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for i := range want {
			if !contains(g[i], want[i], taken) {
				return false
			}
		}
		return true
	case string:
		g, ok := got.(string)
		if ok && strings.HasPrefix(want, "$") {
			taken[want[1:]] = g
			return true
		}
		return ok && g == want
	}
	return got == want
}

package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// The words of a prefix that is not parsed are those of the parser.
func TestLiteralWords(t *testing.T) {
	for _, s := range []string{"git", "git status", "  npm  run test ", "./x -n 1 a/b.c", "time ls", "for x", "export a", "a b=c", "~/x", "git 'a b'", "", "x1 -", "0", "npm -w p test"} {
		words := literalWords(s)
		if words == nil {
			continue
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), "")
		require.NoError(t, err, s)
		call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
		require.True(t, ok, s)
		got, dynamic := staticWords(s, call.Args)
		require.Empty(t, dynamic)
		require.Equal(t, got, words, s)
	}
	require.Nil(t, literalWords("time ls"))
	require.Nil(t, literalWords("a=b c"))
}

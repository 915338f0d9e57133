package mcp_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/mcp"
)

// EX-17: a valid server name is text that is displayed exactly and denotes no
// other server; an invalid one is refused in one displayable line.
func FuzzServerName(f *testing.F) {
	fuzzseed.Add(f)
	for _, s := range []string{"a", "", " a", "a*", "über.the:top/x", "a\nb", "a\x1b[2J", "a\u202eb", "\xff", `a"b`, "a\u00a0b", "\u200b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := mcp.CheckServerName(name)
		if err == nil {
			require.True(t, utf8.ValidString(name) && name != "" && strings.TrimSpace(name) == name)
			require.False(t, strings.ContainsAny(name, "*\n\r\t\x00\x1b\u202e\u200b"))
			return
		}
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		shown := fault.As(err).Message + fault.As(err).Remedy
		require.NotEmpty(t, fault.As(err).Remedy)
		require.True(t, utf8.ValidString(shown))
		require.False(t, strings.ContainsAny(shown, "\n\r\x00\x1b\u202e"), "%q", shown)
		require.Less(t, len(shown), 1000)
	})
}

// No confidential value of a configuration appears in displayed text, wherever it
// occurs there, and masking is idempotent.
func FuzzMask(f *testing.F) {
	fuzzseed.Add(f)
	f.Add("sk-0123456789abcdef", "before ", " after")
	f.Add("Bearer abcd efgh", "", "")
	f.Add(" spaces \t", "x", "y")
	f.Add("abab", "ab", "ab")
	f.Add("p@ss:word/1?x", "https://u:", "@h/")
	f.Add("d29yZA==", "", "")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if strings.Contains(secret, "*") || len(strings.TrimSpace(secret)) < 4 {
			return // the mark itself, and values that cannot be told from other text
		}
		for _, spec := range []mcp.ServerSpec{
			{Headers: map[string]string{"X-Anything": secret}}, {Env: map[string]string{"API_KEY": secret}}, {Args: []string{"--token", secret}}, {OAuth: &mcp.OAuthSpec{ClientSecret: secret}},
		} {
			if len(spec.Args) > 0 && strings.HasPrefix(secret, "-") {
				continue // the next option
			}
			mask := mcp.NewMask(spec)
			shown := mask.Hide(before + secret + after)
			require.NotContains(t, shown, secret, "%+v", spec)
			require.Equal(t, shown, mask.Hide(shown))
		}
	})
}

package mention

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CM-14: which references a text has, and where each name ends.
func TestReferences(t *testing.T) {
	for prompt, want := range map[string][]string{
		"":                              nil,
		"@":                             nil,
		"a @ b":                         nil,
		"@a":                            {"a"},
		"see @a/b.txt.":                 {"a/b.txt"},
		"see @a/b.txt...":               {"a/b.txt"},
		"(@a.txt), @b.txt; @c!":         {"a.txt", "b.txt", "c"},
		"@.env and @./x":                {".env", "./x"},
		"@..":                           nil,
		"@../x":                         {"../x"},
		`@"a b.txt" @a\ b.txt @x"y z"w`: {"a b.txt", "a b.txt", "xy zw"},
		`@"unclosed`:                    nil,
		"@\"two\nlines\"":               nil,
		`\@a`:                           nil,
		"me@example.org":                nil,
		"@@a":                           {"@a"},
		"x/@a":                          nil,
		"`@a`":                          nil,
		"grüße@a, @grüße":               {"grüße"},
		"@a\t@b\r\n@c":                  {"a", "b", "c"},
		"@src/**/*.go":                  {"src/**/*.go"},
		"@a[1].txt":                     {"a"},
		`@a\[1\].txt`:                   {"a[1].txt"},
		"@srv:res://x/y?z":              {"srv:res://x/y"},
		"@a\\":                          {"a"},
		"\"@a\"":                        {"a"},
		`from "@a/b"; from "@c/d";`:     {"a/b", "c/d"},
		`'@a b' '@c'd @e'f`:             {"a", "c", "e'f"},
		"'@x\x00'":                      {"x\x00"},
		strings.Repeat("@a ", 3):        {"a", "a", "a"},
		"@\xff":                         {"\xff"},
	} {
		var names []string
		for _, r := range references(prompt) {
			names = append(names, r.name)
			require.Equal(t, byte('@'), prompt[r.from])
		}
		require.Equal(t, want, names, "%q", prompt)
	}
}

func FuzzReferences(f *testing.F) {
	for _, s := range []string{`@"a b" \@c @d\ e. @`, "@\"", "@\\", "a@b @@c", "@x..y. "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, r := range references(s) {
			require.GreaterOrEqual(t, r.from, at)
			require.Greater(t, r.to, r.from)
			require.LessOrEqual(t, r.to, len(s))
			require.NotEmpty(t, r.name)
			at = r.to
		}
	})
}

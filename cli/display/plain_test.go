package display

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlainMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		`safe\_patch \*x\*`:                       `safe_patch *x*`,
		"`a\\_b` and \\_":                         "`a\\_b` and _",
		"``a ` \\_`` \\`":                         "``a ` \\_`` `",
		"```sh\necho \\_\n```\n\\_\n":             "```sh\necho \\_\n```\n_\n",
		"````\n```\n\\_\n````\n\\#":               "````\n```\n\\_\n````\n#",
		`C:\dir \`:                                `C:\dir \`,
		"~~~\n\\_\n~~~\n\\~":                      "~~~\n\\_\n~~~\n~",
		"an open ` stays \\_":                     "an open ` stays _",
		"- `run_shell_command` — runs \\<it\\>\n": "- `run_shell_command` — runs <it>\n",
	} {
		require.Equal(t, want, PlainMarkdown(source), "%q", source)
	}
}

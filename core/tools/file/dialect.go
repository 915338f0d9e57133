package file

import (
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// AutoDialect, in place of the names of tools, selects the dialect of the model's family; see [DialectOf].
const AutoDialect = "auto"

// EditDialects returns the names of the tools that change parts of files, of which a setting selects some. The first is
// the default.
func EditDialects() []string { return []string{SafePatch, ApplyPatch, TextEditor} }

// families lists the families of models that were trained with an edit format of their own. The first match decides.
// Names have prefixes and suffixes of clouds and gateways: us.anthropic.claude-sonnet-4-5-v1:0, openrouter/openai/gpt-5.
var families = []struct {
	names func() *regexp.Regexp // in lower case
	tool  string
}{
	// Anthropic defines the tool and its name: platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool.
	{lazyregexp.New(`(^|[^a-z0-9])claude([^a-z]|$)`), TextEditor},
	// OpenAI trains its models with the format since GPT-4.1: developers.openai.com/api/docs/guides/tools-apply-patch, and
	// the prompting guide of GPT-4.1. gpt-oss has it too; other models with gpt in their names (gpt-neo, gpt-j) do not.
	{lazyregexp.New(`(^|[^a-z0-9])(chat)?gpt-?(\d|oss)`), ApplyPatch},
	{lazyregexp.New(`(^|[^a-z0-9])codex([^a-z]|$)`), ApplyPatch},
	// The o-series has the name at the start only: other makers call models marco-o1 or skywork-o1.
	{lazyregexp.New(`(^|[/:.@])o[1-9]($|[-:@])`), ApplyPatch},
}

// DialectOf returns the edit dialect of a model by its name, with or without its provider: SafePatch for a family without
// a format of its own, and for an unknown name.
func DialectOf(model string) string {
	model = strings.ToLower(model)
	for _, f := range families {
		if f.names().MatchString(model) {
			return f.tool
		}
	}
	return SafePatch
}

package anthropic

import (
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// family holds the properties of a model that a request depends on.
type family struct {
	maxOutput  int  // tokens; the API requires a number
	sampling   bool // temperature and top_p are accepted
	oneSampler bool // only one of the two is accepted in a request
	structured bool // the model supports structured output
	editor     bool // the model knows the tool text_editor_20250728; see textEditor
}

// versioned matches claude-opus-4-6, claude-3-5-sonnet-20241022, and the same names behind the
// prefix of a cloud. A date is not a minor version.
var versioned = lazyregexp.New(`claude-(?:([a-z]+)-)?(\d{1,2})(?:[-.](\d{1,2}))?(?:[^\d]|$)`)

// familyOf returns the properties of a model by its name. An unknown name gets values that every
// server accepts.
//
// The models with editor are those that the documentation lists for text_editor_20250728, Claude 4
// and later: platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool. Earlier models
// know earlier versions of that tool, with another name.
func familyOf(name string) family {
	m := versioned().FindStringSubmatch(strings.ToLower(name))
	if m == nil {
		return family{maxOutput: 8192, sampling: true}
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	version := 100*major + minor
	switch {
	case version >= 407:
		return family{maxOutput: 128_000, structured: true, editor: true}
	case version >= 406:
		return family{maxOutput: 128_000, sampling: true, oneSampler: true, structured: true, editor: true}
	case version >= 405:
		return family{maxOutput: 64_000, sampling: true, oneSampler: true, structured: true, editor: true}
	case version >= 400 && m[1] == "opus":
		return family{maxOutput: 32_000, sampling: true, oneSampler: version >= 401, editor: true}
	case version >= 307:
		return family{maxOutput: 64_000, sampling: true, editor: version >= 400}
	case version >= 305:
		return family{maxOutput: 8192, sampling: true}
	}
	return family{maxOutput: 4096, sampling: true}
}

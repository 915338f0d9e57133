package config

import (
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// covered ends a sentence with the calls that would run without a question after an
// answer that lasts, one rule a line where there are several. It is "" where that
// would be more than can be shown.
func covered(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	switch rules := q.Stores(o); len(rules) {
	case 0:
		return ""
	case 1:
		return atMost(" "+rules[0], maxArguments)
	default:
		return atMost(":\n- "+strings.Join(rules, "\n- "), maxArguments)
	}
}

// atMost is a text that can be shown, or "" if that takes more bytes.
func atMost(text string, most int) string {
	if text = escape.Text(text); len(text) > most {
		return ""
	}
	return text
}

package subagent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// placeholder matches ${name}, or $${name}, which represents the text ${name}.
var placeholder = lazyregexp.New(`\$?\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// ownPlaceholders have a value in each run.
var ownPlaceholders = []string{"today", "model"}

// Expand replaces ${name} in a prompt by its value, and $${name} by ${name}. Values are not
// expanded again. A name without a value is an error of code invalid_config.
func Expand(text string, values map[string]string) (string, error) {
	var missing []string
	out := placeholder().ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found[1:]
		}
		value, ok := values[found[2:len(found)-1]]
		if !ok {
			missing = append(missing, found)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fault.New(fault.InvalidConfig, "subagent.expand",
			fmt.Sprintf("The prompt has the placeholder %s, which has no value.", strings.Join(slices.Compact(missing), ", ")),
			"Give it a value, or write $${NAME} for the text itself.")
	}
	return out, nil
}

// unknownPlaceholders returns the placeholder names in texts that are not in known, once each.
func unknownPlaceholders(texts, known []string) []string {
	var unknown []string
	for _, text := range texts {
		for _, found := range placeholder().FindAllString(text, -1) {
			name := found[2 : len(found)-1]
			if !strings.HasPrefix(found, "$$") && !slices.Contains(known, name) && !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown
}

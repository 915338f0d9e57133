package hookrun

import (
	"maps"
	"slices"
	"strings"
)

// expand expands variables in a value that no shell reads.
func (r *reader) expand(text string) string {
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		text = strings.ReplaceAll(text, "${"+name+"}", r.Variables[name])
	}
	return text
}

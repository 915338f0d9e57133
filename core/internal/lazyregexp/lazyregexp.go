// Package lazyregexp compiles regular expressions of packages at their first use, because most
// runs of a program use few of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression at its first call, and then always returns
// the same result. It panics if the expression is invalid. It is safe for concurrent use.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Package globals has each kind of package state that TestGlobals looks for.
package globals

import (
	"errors"
	"regexp"
	"sync"

	"github.com/spf13/viper"
)

var (
	errFine  = errors.New("a sentinel is no state")
	mu       sync.Mutex
	registry = map[string]int{}
	count    int
	fixed    = map[string]int{"a lookup table that nobody writes": 1}
	word     = regexp.MustCompile(`\w+`)
	later    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\w+`) })
)

func init() { registry["x"] = 1 }

func register(name string) error {
	mu.Lock()
	defer mu.Unlock()
	delete(registry, name)
	count++
	registry := map[string]int{} // a variable of its own
	registry[word.FindString(name)] = fixed[later().FindString(name)]
	viper.Set(name, 1)
	return errFine
}

package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// New options of a reload are dropped once the session is closed, because nothing
// would close them. A service created by the first fetch after that is closed.
func TestFetcherEnds(t *testing.T) {
	options := make([]webfetch.Options, 3)
	f := fetcher{o: &options[0]}
	first, err := f.current()
	require.NoError(t, err)
	f.replace(&options[1])
	f.replace(&options[2])
	require.Equal(t, []*webfetch.Service{first}, f.past, "the second was never used")
	require.NoError(t, f.close())
	f.replace(&options[1])
	require.Same(t, &options[2], f.o)
	pages := f.Fetch(t.Context(), []string{"https://example.com/"})
	require.Len(t, pages, 1)
	require.Equal(t, fault.NotInitialized, pages[0].Err.Code)
}

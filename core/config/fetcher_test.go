package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// What a reload would have pages fetched by comes too late once the session is
// closed: nobody would close it.
func TestFetcherEnds(t *testing.T) {
	services := make([]*webfetch.Service, 3)
	for i := range services {
		var err error
		services[i], err = webfetch.New(webfetch.Options{})
		require.NoError(t, err)
	}
	f := fetcher{now: services[0]}
	f.replace(services[1])
	require.Same(t, services[1], f.current())
	require.NoError(t, f.close())
	f.replace(services[2])
	require.Same(t, services[1], f.current())
}

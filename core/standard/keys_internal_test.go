package standard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// SB-06: the keys of every provider are known to be kept from commands.
func TestKeysOfProvidersAreKnown(t *testing.T) {
	for _, p := range providers {
		for _, name := range p.keys {
			require.True(t, settings.IsProviderKey(name), name)
		}
	}
}

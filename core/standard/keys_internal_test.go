package standard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// SB-06: the keys of all providers are in the list of variables that commands do not receive.
func TestKeysOfProvidersAreKnown(t *testing.T) {
	for _, p := range Providers() {
		for _, key := range p.Keys {
			require.True(t, settings.IsProviderKey(key.Name), "providerKeys in core/config/settings/secret.go has no name for %s", key.Name)
		}
	}
}

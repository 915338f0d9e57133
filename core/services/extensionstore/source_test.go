package extensionstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// The error for an address never contains its password, in any form of address.
func TestAddressesWithPasswords(t *testing.T) {
	store := extensionstore.Open(newShelf(t).o)
	for _, source := range []string{
		"https://u:" + secret + "@h/o/r", "HTTPS://u:" + secret + "@h/o/r", "HttpS://" + secret + "@h/o/r", "ftp://u:" + secret + "@h/o/r", "git+https://u:" + secret + "@h/o/r",
		"user:" + secret + "@h:o/r", "https://h/o/r?token=" + secret, "https://h/o/r#" + secret, "ssh://u:" + secret + "@h/r", "file://u:" + secret + "@h/r",
		"https://u:a/" + secret + "@h/r", "ext::sh?" + secret, "https://h/%zz?" + secret, "github:o?" + secret, "-u:" + secret + "@h", "http:///?" + secret,
	} {
		_, err := store.Install(t.Context(), extensionstore.InstallRequest{Source: source}, nil)
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), source)
		require.NotContains(t, fault.As(err).Message+fault.As(err).Remedy+err.Error(), secret, source)
	}
}

// An extension in a directory of another name leaves no records under either name.
func TestUninstallOfOtherDirectory(t *testing.T) {
	s := newShelf(t)
	s.put("folder/fettle-extension.json", `{"name": "called", "version": "1"}`)
	store := extensionstore.Open(s.o)
	for _, name := range []string{"called", "folder"} {
		require.NoError(t, store.SetEnabled(t.Context(), name, extensions.ScopeWorkspace, false))
	}
	removed, err := store.Uninstall(t.Context(), "called")
	require.NoError(t, err)
	require.Equal(t, "folder", removed)
	s.put("called/fettle-extension.json", `{"name": "called", "version": "1"}`)
	require.True(t, s.one().Active, "what was said of the one before is forgotten")
}

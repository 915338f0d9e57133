//go:build !linux

package integration_test

// unenforced is for scripts that need namespaces.
func unenforced() { panic("there are no namespaces") }

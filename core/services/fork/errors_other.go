//go:build !unix

package fork

func isReadOnly(error) bool { return false }

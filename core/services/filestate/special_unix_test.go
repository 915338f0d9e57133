//go:build unix

package filestate

import (
	"net"
	"syscall"
	"testing"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// mksocket creates a socket that exists until the test ends.
func mksocket(t *testing.T, path string) error {
	l, err := net.Listen("unix", path)
	if err == nil {
		t.Cleanup(func() { l.Close() })
	}
	return err
}

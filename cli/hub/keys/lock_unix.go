//go:build !windows

package keys

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// TryLock locks a file, which it creates, until unlock or the end of the process. The error is
// [ErrLocked] if another holder has it.
func TryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keys: lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("keys: lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil // which unlocks it
}

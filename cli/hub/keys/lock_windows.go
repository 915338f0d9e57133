package keys

import (
	"errors"
	"fmt"
	"syscall"
)

// sharingViolation is the error of a file that another process has opened without sharing.
const sharingViolation = syscall.Errno(32)

// TryLock locks a file, which it creates, until unlock or the end of the process. The error is
// [ErrLocked] if another holder has it.
func TryLock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("keys: lock: %w", err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("keys: lock %s: %w", path, err)
	}
	return func() { _ = syscall.CloseHandle(h) }, nil
}

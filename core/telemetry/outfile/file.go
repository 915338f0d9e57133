package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/fettle-dev/fettle/core/fault"
)

// file opens its file with the first line and gives up after the first failure. Each Write is a
// whole line, so lines of several processes do not mix.
type file struct {
	path string
	open func(path string) (io.WriteCloser, error)

	mu     sync.Mutex
	to     io.WriteCloser // nil: not open
	failed error          // the error after which nothing is written
}

// Write writes a line. The error is a fault; after the first error every call returns it.
func (f *file) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return 0, f.failed
	}
	var err error
	if f.to == nil {
		f.to, err = f.open(f.path)
	}
	n := 0
	if err == nil {
		n, err = f.to.Write(line)
	}
	if err != nil {
		f.failed = f.fault(err)
	}
	return n, f.failed
}

// Close closes the file if it was opened; later lines are dropped.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = f.fault(fs.ErrClosed)
	}
	if f.to == nil {
		return nil
	}
	to := f.to
	f.to = nil
	if err := to.Close(); err != nil {
		return f.fault(err)
	}
	return nil
}

// fault returns the error that reports lost records.
func (f *file) fault(err error) error {
	if fault.As(err) != nil {
		return err
	}
	code, remedy := fault.FileWriteFailure, "Choose another file in the setting telemetry.outfile."
	switch {
	case errors.Is(err, syscall.ENOSPC):
		code, remedy = fault.NoSpaceLeft, "Free some space, or choose another file in the setting telemetry.outfile."
	case errors.Is(err, fs.ErrPermission):
		code = fault.PermissionDenied
	case errors.Is(err, fs.ErrNotExist):
		remedy = "Create its directory, or choose another file in the setting telemetry.outfile."
	}
	return fault.Wrap(code, "outfile.write", fmt.Sprintf("Telemetry could not be written to %q, and no more of it is recorded.", f.path), remedy, err)
}

// openFile opens a regular file for appending. It completes a partial last line, which a killed
// process may have left.
func openFile(path string) (io.WriteCloser, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening another type of file may block forever
		return nil, fault.New(fault.NotARegularFile, "outfile.open", fmt.Sprintf("%q is not a regular file, so no telemetry is written to it.", path),
			"Choose another file in the setting telemetry.outfile.")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := endLine(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// endLine appends a newline if the last line has none.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = f.Write([]byte{'\n'})
	}
	return err
}

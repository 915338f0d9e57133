package extensions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Sizes up to which files are read.
const (
	maxManifest = 1 << 20
	maxHooks    = 1 << 20
	maxState    = 1 << 20 // of the files that fettle keeps, and of .env files
)

// readFile returns the bytes of a regular file of at most limit bytes. It does
// not wait for the other end of a pipe.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := openUnleased(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// openUnleased opens a file for reading. It does not wait for the other end of a
// pipe. While another program holds a lease that excludes readers, as a commit
// does for some microseconds, it tries again for up to 100 ms.
func openUnleased(path string) (*os.File, error) {
	const longest, pause = 100 * time.Millisecond, time.Millisecond
	for start := time.Now(); ; time.Sleep(pause) {
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(start) >= longest {
			return file, err
		}
	}
}

// cause is an error of a file without the name of the file.
func cause(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// keep copies an unreadable file within its directory, and returns the copy's path.
// Existing copies are preserved.
func keep(target string, data []byte) (backup string, err error) {
	const most = 100
	for i := range most {
		backup = target + ".bak"
		if i > 0 {
			backup = fmt.Sprintf("%s.bak.%d", target, i)
		}
		if have, err := os.ReadFile(backup); err == nil && bytes.Equal(have, data) {
			return backup, nil
		}
		file, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		err = errors.Join(err, file.Sync(), file.Close())
		if err != nil {
			_ = os.Remove(backup)
			return "", err
		}
		return backup, nil
	}
	return "", fmt.Errorf("its directory has %d copies of broken files already", most)
}

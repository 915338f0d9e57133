package rulefile

import (
	"bytes"
	"context"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Create writes a policy file that does not exist, is empty, or has exactly this text.
// Its directory is created. The file has mode 0600 and is written in one step. The error
// has code cancelled or file_write_failure; nothing is written then.
func Create(ctx context.Context, path string, text []byte) error {
	exists := fault.New(fault.FileWriteFailure, "rulefile.create", "The file "+path+" exists and has other rules.", "Name another file, or remove it.")
	err := lockedfile.Update(ctx, path, MaxBytes, func(old []byte) ([]byte, error) {
		if len(bytes.TrimSpace(old)) > 0 && !bytes.Equal(old, text) {
			return nil, exists
		}
		return text, nil
	})
	if err == nil || fault.As(err) != nil {
		return err
	}
	return notSaved(path, err)
}

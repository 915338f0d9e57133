package commit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// unlimited reads a file to its end, regardless of its length.
const unlimited int64 = -1

// errTooLong is returned for a file that exceeds the limit.
var errTooLong = errors.New("file is longer than expected")

// readBlocks calls use with the content of the file, block by block, independently of the file's
// offset. It stops with errTooLong once it finds more than limit bytes, with ctx's error, or with
// the error of use, which may not keep the block.
func readBlocks(ctx context.Context, f *os.File, limit int64, use func(block []byte, offset int64) error) error {
	size := int64(32 << 10)
	if limit != unlimited {
		size = min(size, limit+1)
	}
	buf := make([]byte, size)
	for offset := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.ReadAt(buf, offset)
		if limit != unlimited && int64(n) > limit-offset {
			return errTooLong
		}
		if n > 0 {
			if err := use(buf[:n], offset); err != nil {
				return err
			}
		}
		offset += int64(n)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// hashOf hashes the whole file, up to limit bytes.
func hashOf(ctx context.Context, f *os.File, limit int64) (string, error) {
	h := sha256.New()
	err := readBlocks(ctx, f, limit, func(block []byte, _ int64) error {
		h.Write(block) // never fails
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readAll reads the whole file, up to limit bytes.
func readAll(ctx context.Context, f *os.File, limit int64) ([]byte, error) {
	var data []byte
	err := readBlocks(ctx, f, limit, func(block []byte, _ int64) error {
		data = append(data, block...)
		return nil
	})
	return data, err
}

package extensionstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// integrityFile contains the hash of each extension's files at installation. It is in
// the parent of the extensions directory.
const integrityFile = "extension_integrity.json"

// recordsKey is the key of fettle's records in it; other keys are preserved.
const recordsKey = "extensions"

// integrityRecord is the record of an installed extension.
type integrityRecord struct {
	Hash string `json:"hash"`
	// Next is the hash of the version that is being installed; "" if there is none.
	Next string `json:"next,omitempty"`
}

// treeHash returns the SHA-256, in hexadecimal, of the names, kinds and bytes of all
// files in a directory, except those that fettle writes: the metadata, and the values of
// settings.
func treeHash(ctx context.Context, dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", unreadable(dir, err)
	}
	defer func() { _ = root.Close() }() // it was only read
	sum := sha256.New()
	own := append(installFiles(), envFile)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case slices.Contains(own, name):
			return nil
		}
		mode := entry.Type()
		fmt.Fprintf(sum, "%q ", name) //nolint:errcheck // a hash takes everything
		switch {
		case mode.IsDir():
			_, _ = io.WriteString(sum, "folder\n")
		case mode&fs.ModeSymlink != 0:
			leads, err := root.Readlink(filepath.FromSlash(name))
			fmt.Fprintf(sum, "link %q\n", leads) //nolint:errcheck // a hash takes everything
			return err
		case mode.IsRegular():
			return hashFile(ctx, sum, root, name)
		default:
			fmt.Fprintf(sum, "%s\n", mode) //nolint:errcheck // a hash takes everything
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return "", cancelled(ctx.Err())
	case err != nil:
		return "", unreadable(dir, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func hashFile(ctx context.Context, sum io.Writer, root *os.Root, name string) error {
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(sum, "file %t %d ", info.Mode()&0o100 != 0, info.Size())
	own := sha256.New()
	if _, err := io.Copy(own, withContext{ctx, file}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%x\n", own.Sum(nil))
	return err
}

// integrityPath returns the path of the file of records.
func (s *Store) integrityPath() string { return filepath.Join(filepath.Dir(s.o.Dir), integrityFile) }

// records returns fettle's records, and the whole content for rewriting the file.
func (s *Store) records() (whole map[string]json.RawMessage, of map[string]integrityRecord, err error) {
	whole, of = map[string]json.RawMessage{}, map[string]integrityRecord{}
	data, err := lockedfile.Read(s.integrityPath(), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return whole, of, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &whole)
	}
	if own, has := whole[recordsKey]; err == nil && has {
		err = json.Unmarshal(own, &of)
	}
	if err != nil {
		return nil, nil, fault.Wrap(fault.InvalidConfig, "extensions.integrity", fmt.Sprintf("The file %s cannot be used: %s.", s.integrityPath(), cause(err)),
			"Move it away, and install the extensions again to update them.", err)
	}
	if whole == nil {
		whole = map[string]json.RawMessage{}
	}
	if of == nil {
		of = map[string]integrityRecord{}
	}
	return whole, of, nil
}

// setRecord stores the record of an extension; nil removes it.
func (s *Store) setRecord(ctx context.Context, name string, r *integrityRecord) error {
	unlock, err := lockedfile.LockOf(ctx, s.integrityPath())
	if err != nil {
		return lockFailure(ctx, s.integrityPath(), err)
	}
	defer unlock()
	whole, of, err := s.records()
	if err != nil {
		return err
	}
	if r == nil {
		if _, has := of[name]; !has {
			return nil
		}
		delete(of, name)
	} else {
		of[name] = *r
	}
	if whole[recordsKey], err = json.Marshal(of); err != nil {
		return unwritable(s.integrityPath(), err)
	}
	data, err := json.MarshalIndent(whole, "", "  ")
	if err == nil {
		err = lockedfile.Replace(s.integrityPath(), append(data, '\n'))
	}
	if err != nil {
		return unwritable(s.integrityPath(), err)
	}
	return nil
}

// verify refuses an extension whose files have changed since the installation. It
// returns their hash.
func (s *Store) verify(ctx context.Context, e extensions.Extension) (hash string, err error) {
	_, of, err := s.records()
	if err != nil {
		return "", err
	}
	record, has := of[path.Base(filepath.ToSlash(e.InstallDir))]
	again := "Uninstall it and install it again; your changes in " + e.InstallDir + " are then lost."
	if !has {
		return "", fault.New(fault.FileChangedSinceRead, "extensions.integrity",
			fmt.Sprintf("The extension %s is not updated: there is no record of its installed files.", e.Name), again)
	}
	hash, err = treeHash(ctx, e.InstallDir)
	if err != nil {
		return "", err
	}
	if hash != record.Hash && hash != record.Next {
		return "", fault.New(fault.FileChangedSinceRead, "extensions.integrity",
			fmt.Sprintf("The extension %s is not updated: its files have changed since the installation.", e.Name), again)
	}
	return hash, nil
}

// lockFailure returns the error of a failed lock.
func lockFailure(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	return unwritable(path, err)
}

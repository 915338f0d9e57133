package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// stateByHand does the minimum of a read: it reads the bytes, hashes them and encodes JSON.
func stateByHand(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err = e.Encode(map[string]any{"file_path": path, "version": 1, "sha256": hex.EncodeToString(sum[:]), "content": string(data)})
	return out.Bytes(), err
}

// replaceByHand replaces a file durably: it writes a temporary file, flushes and renames it, and
// flushes the directory where the system can.
func replaceByHand(dir, name string, data []byte) (err error) {
	temporary, err := os.CreateTemp(dir, name)
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	parent, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = parent.Sync() // not every system flushes directories
	return parent.Close()
}

// withOutput runs a command. Its error contains the command's output.
func withOutput(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%.2000s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// printed runs a command and returns its stdout. An error contains its stderr.
func printed(ctx context.Context, dir string, env []string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%.2000s", filepath.Base(command[0]), err, stderr.Bytes())
	}
	return string(out), nil
}

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
)

// Storage are the folders in which fettle keeps what is no part of the project
// (AR-32). They need not exist yet. Both are "" where there is no home folder.
type Storage struct {
	GlobalDir      string // the user's settings folder, as ~/.fettle
	ProjectTempDir string // below it: what is kept of this project, told apart by its folder
}

// Storage returns the session's folders; derived Configs have the same. The
// error is of code not_initialized.
func (c *Config) Storage() (Storage, error) {
	sh, err := c.services("Storage")
	if err != nil {
		return Storage{}, err
	}
	dir, err := c.userDir()
	if err != nil {
		return Storage{}, nil
	}
	return Storage{GlobalDir: dir, ProjectTempDir: sh.tmp}, nil
}

// userDir returns the user's settings folder.
func (c *Config) userDir() (string, error) {
	home := c.given.home()
	if home == "" {
		return "", errors.New("there is no home folder")
	}
	return filepath.Join(home, c.given.Layout.Dir), nil
}

// projectTmp is the user's folder for what fettle keeps of a project, whose folder
// is target once links are followed. It lies outside the project and is told apart
// by it.
func (c *Config) projectTmp(target string) (string, error) {
	dir, err := c.userDir()
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(target))
	return filepath.Join(dir, "tmp", hex.EncodeToString(id[:8])), nil
}

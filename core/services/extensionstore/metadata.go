package extensionstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// installFiles are the names of the metadata file in the extension's entry of the
// extensions directory. The first one is written.
func installFiles() []string {
	return []string{".fettle-extension-install.json", ".gemini-extension-install.json"}
}

// readInstall returns the metadata in a directory, nil if there is none. The error is of
// code invalid_config.
func readInstall(dir string) (*extensions.InstallMetadata, error) {
	for _, name := range installFiles() {
		path := filepath.Join(dir, name)
		data, err := lockedfile.Read(path, maxState)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m extensions.InstallMetadata
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err == nil && (m.Source == "" || !slices.Contains([]extensions.InstallType{extensions.InstallGit, extensions.InstallLocal, extensions.InstallLink, extensions.InstallRelease}, m.Type)) {
			err = errors.New("source or type is missing or unknown")
		}
		if err != nil {
			return nil, fault.Wrap(fault.InvalidConfig, "extensions.metadata", "The file "+path+" cannot be used: "+cause(err)+".",
				"Uninstall the extension and install it again.", err)
		}
		return &m, nil
	}
	return nil, nil
}

// writeInstall writes the metadata to a directory. The error is of code
// file_write_failure.
func writeInstall(dir string, m extensions.InstallMetadata) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, installFiles()[0]), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fault.Wrap(fault.FileWriteFailure, "extensions.metadata", "The metadata of the extension could not be written: "+cause(err)+".",
			"Check that "+dir+" can be written.", err)
	}
	return nil
}

// idOf returns the id of an extension: the SHA-256, in hexadecimal, of the canonical
// address of its GitHub repository, else of its source, else of its name. m may be nil.
func idOf(name string, m *extensions.InstallMetadata) string {
	of := name
	if m != nil && m.Source != "" {
		of = m.Source
		if m.Type == extensions.InstallGit || m.Type == extensions.InstallRelease {
			if canonical, ok := canonicalGitHub(m.Source); ok {
				of = canonical
			}
		}
	}
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])
}

// canonicalGitHub returns https://github.com/OWNER/REPOSITORY for any form of the
// address of a GitHub repository.
func canonicalGitHub(source string) (string, bool) {
	rest, ok := strings.CutPrefix(source, "git@github.com:")
	if !ok {
		rest, ok = strings.CutPrefix(source, "github:")
	}
	if !ok {
		u, err := url.Parse(source)
		if err != nil || !strings.EqualFold(u.Hostname(), "github.com") {
			return "", false
		}
		rest = u.Path
	}
	owner, repository, ok := strings.Cut(strings.TrimSuffix(strings.Trim(rest, "/"), ".git"), "/")
	if !ok || owner == "" || repository == "" || strings.Contains(repository, "/") {
		return "", false
	}
	return "https://github.com/" + owner + "/" + repository, true
}

package extensions

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

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// InstallType is the type of an installation's source.
type InstallType string

// The types.
const (
	InstallGit     InstallType = "git"
	InstallLocal   InstallType = "local"
	InstallLink    InstallType = "link" // its files stay in place
	InstallRelease InstallType = "github-release"
)

// InstallMetadata is the record of an installation, in the format of existing
// extensions.
type InstallMetadata struct {
	Source          string      `json:"source"` // address or absolute path
	Type            InstallType `json:"type"`
	Ref             string      `json:"ref,omitempty"`
	ReleaseTag      string      `json:"releaseTag,omitempty"`
	AutoUpdate      bool        `json:"autoUpdate,omitempty"`
	AllowPreRelease bool        `json:"allowPreRelease,omitempty"`
}

// InstallFiles are the names of the metadata file in the extension's entry of the
// extensions directory. The first one is written.
func InstallFiles() []string {
	return []string{".fettle-extension-install.json", ".gemini-extension-install.json"}
}

// ReadInstall returns the metadata in a directory, nil if there is none. The error is of
// code invalid_config.
func ReadInstall(folder string) (*InstallMetadata, error) {
	for _, name := range InstallFiles() {
		path := filepath.Join(folder, name)
		data, err := lockedfile.Read(path, maxState)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m InstallMetadata
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err == nil && (m.Source == "" || !slices.Contains([]InstallType{InstallGit, InstallLocal, InstallLink, InstallRelease}, m.Type)) {
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

// WriteInstall writes the metadata to a directory. The error is of code
// file_write_failure.
func WriteInstall(folder string, m InstallMetadata) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, InstallFiles()[0]), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fault.Wrap(fault.FileWriteFailure, "extensions.metadata", "The metadata of the extension could not be written: "+cause(err)+".",
			"Check that "+folder+" can be written.", err)
	}
	return nil
}

// IDOf returns the id of an extension: the SHA-256, in hexadecimal, of the canonical
// address of its GitHub repository, else of its source, else of its name. m may be nil.
func IDOf(name string, m *InstallMetadata) string {
	of := name
	if m != nil && m.Source != "" {
		of = m.Source
		if m.Type == InstallGit || m.Type == InstallRelease {
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

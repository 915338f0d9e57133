package dirpolicy

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// maxBytes is the maximum size of a settings file.
const maxBytes = 1 << 20

// beyond returns the sources of settings that may affect decisions. Unreadable and
// invalid files are among them.
func beyond(names layout.Layout, home, target string) []string {
	var found []string
	for _, file := range settingsFiles(names, home, target) {
		if decides(file) {
			found = append(found, file)
		}
	}
	for _, name := range decisive {
		if os.Getenv(names.EnvPrefix+name) != "" || names.Name == layout.Gemini().Name && os.Getenv(names.EnvPrefix+"CLI_"+name) != "" {
			found = append(found, "the variable "+names.EnvPrefix+name)
		}
	}
	for _, file := range dotenvFiles(names, home, target) {
		data, err := lockedfile.Read(file, maxBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(decisive, func(name string) bool { return bytes.Contains(data, []byte(name)) }) {
			found = append(found, file)
		}
	}
	if home != "" {
		if approved := filepath.Join(home, names.Dir, trust.GitFileName); exists(approved) {
			found = append(found, approved)
		}
		dir := filepath.Join(home, names.Dir, "extensions")
		if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			found = append(found, dir)
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// decisive are the variables, without the prefix of the layout, that affect decisions.
var decisive = []string{"APPROVAL_MODE", "SYSTEM_SETTINGS_PATH", "SYSTEM_DEFAULTS_PATH"}

// settingsFiles returns the settings files of a session.
func settingsFiles(names layout.Layout, home, target string) []string {
	files := []string{filepath.Join(target, names.Dir, "settings.json")}
	if home != "" {
		files = append(files, filepath.Join(home, names.Dir, "settings.json"), filepath.Join(home, names.Dir, "mcp-settings.json"))
	}
	if names.SystemDir != "" {
		files = append(files, filepath.Join(names.SystemDir, "settings.json"), filepath.Join(names.SystemDir, "system-defaults.json"))
	}
	return files
}

// dotenvFiles returns the .env files that a session may read.
func dotenvFiles(names layout.Layout, home, target string) []string {
	var files []string
	add := func(dir string) {
		files = append(files, filepath.Join(dir, names.Dir, ".env"), filepath.Join(dir, ".env"))
	}
	for dir := target; ; dir = filepath.Dir(dir) {
		add(dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if home != "" {
		add(home)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// harmless are the keys of settings that no decision depends on, with all keys below.
var harmless = []string{
	"$schema", "ui", "model", "output", "telemetry", "hooks", "hooksConfig", "theme", "preferredEditor", "ide", "privacy", "billing", "security.auth",
	"general.vimMode", "general.preferredEditor", "general.openEditorInNewWindow", "general.enableNotifications", "general.notificationMethod",
	"general.disableAutoUpdate", "general.enableAutoUpdate", "general.disableUpdateNag", "general.enableAutoUpdateNotification",
	"general.maxAttempts", "general.retryFetchErrors", "general.sessionRetention", "general.checkpointing", "general.previewFeatures",
}

// decides reports whether a settings file may affect decisions.
func decides(file string) bool {
	data, err := lockedfile.Read(file, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	doc, err := position.ParseJSON(data, position.Limit{Depth: 100, Message: "it is nested too deep"})
	if err != nil {
		return len(bytes.TrimSpace(data)) > 0
	}
	top, ok := doc.Root().Value.(*position.Table)
	return !ok || slices.ContainsFunc(top.Members, func(m *position.Member) bool { return !isHarmless(m.Key, m) })
}

// isHarmless reports whether no decision depends on a key, or on any of those below it.
func isHarmless(path string, m *position.Member) bool {
	if strings.Contains(m.Key, ".") { // not the notation of a key below another
		return false
	}
	if slices.Contains(harmless, path) {
		return true
	}
	section, ok := m.Value.(*position.Table)
	return ok && len(section.Members) > 0 && !slices.ContainsFunc(section.Members, func(m *position.Member) bool { return !isHarmless(path+"."+m.Key, m) })
}

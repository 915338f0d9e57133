package process

import (
	"bytes"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// harmlessGit lists git settings that take precedence over a repository's own. Without each of
// them, a read-only command can run a program that the repository configures.
var harmlessGit = [][2]string{
	{"log.showSignature", "false"}, // runs gpg.program
	{"format.pretty", "medium"},    // runs gpg.program if it contains %G
	{"core.fsmonitor", "false"},    // is a program

	{"safe.bareRepository", "explicit"}, // a checkout can contain a bare repository, whose settings run programs
}

// readOnly are variables of commands that only read: go then uses the installed version, no
// network, and no build flags of the user or the project.
var readOnly = []string{"GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=-mod=readonly"}

// neutral returns variables that keep git, go and cargo from running programs that the project in
// dir configures, unless the command itself names them. It disables programs of git's settings for
// signatures, file watching and the objects of partial clones, the settings of directories that
// look like bare repositories, writing of the index by commands that only read, other versions of
// go, and toolchains in the project's directories. Signing, hooks and everything else that a command
// requests explicitly work as usual.
func neutral(env []string, dir string) []string {
	value := func(name string) string {
		for _, v := range slices.Backward(env) { // the last one takes precedence
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}
	out := []string{"GIT_NO_LAZY_FETCH=1"}
	if value("GIT_OPTIONAL_LOCKS") == "" {
		out = append(out, "GIT_OPTIONAL_LOCKS=0") // git status and the like write nothing
	}
	if count, err := strconv.Atoi("0" + value("GIT_CONFIG_COUNT")); err == nil {
		for i, setting := range harmlessGit {
			n := strconv.Itoa(count + i)
			out = append(out, "GIT_CONFIG_KEY_"+n+"="+setting[0], "GIT_CONFIG_VALUE_"+n+"="+setting[1])
		}
		out = append(out, "GIT_CONFIG_COUNT="+strconv.Itoa(count+len(harmlessGit)))
	}
	if chosen := goToolchain(value); chosen == "" || strings.HasSuffix(chosen, "auto") || strings.HasSuffix(chosen, "path") {
		out = append(out, "GOTOOLCHAIN=local")
	}
	if value("RUSTUP_TOOLCHAIN") == "" {
		if name := rustToolchain(value, dir); name != "" {
			out = append(out, "RUSTUP_TOOLCHAIN="+name)
		}
	}
	return out
}

// goToolchain returns the version of go that the user has chosen in the environment or with go env
// -w; "" if none.
func goToolchain(value func(name string) string) string {
	if chosen := value("GOTOOLCHAIN"); chosen != "" {
		return chosen
	}
	path := value("GOENV")
	if path == "" {
		path = filepath.Join(configDirectory(value), "go", "env")
	}
	chosen := ""
	if filepath.IsAbs(path) {
		for line := range strings.Lines(string(smallFile(path))) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "GOTOOLCHAIN="); ok {
				chosen = text
			}
		}
	}
	return chosen
}

// configDirectory is [os.UserConfigDir] for another environment; "" if there is none.
func configDirectory(value func(name string) string) string {
	home := value("HOME")
	switch {
	case runtime.GOOS == "windows":
		return value("AppData")
	case runtime.GOOS == "darwin" && home != "":
		return filepath.Join(home, "Library", "Application Support")
	case value("XDG_CONFIG_HOME") != "":
		return value("XDG_CONFIG_HOME")
	case home != "":
		return filepath.Join(home, ".config")
	}
	return ""
}

var (
	rustDefault = lazyregexp.New(`(?m)^\s*default_toolchain\s*=\s*"([^"]+)"`)
	rustChannel = lazyregexp.New(`(?m)^\s*channel\s*=\s*["']([^"'/\\]+)["']`)
	rustSection = lazyregexp.New(`(?m)^\s*\[`)
	rustFor     = lazyregexp.New(`(?m)^\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)')\s*=\s*["']([^"']+)["']`)
	rustName    = lazyregexp.New(`\A\s*([A-Za-z0-9_.-]+)\s*\z`)
)

// rustOverrides returns the toolchains that the user has chosen for directories with rustup
// override set.
func rustOverrides(settings []byte) map[string]string {
	_, text, _ := bytes.Cut(settings, []byte("[overrides]"))
	if next := rustSection().FindIndex(text); next != nil {
		text = text[:next[0]]
	}
	overrides := make(map[string]string)
	for _, found := range rustFor().FindAllSubmatch(text, -1) {
		path := string(found[2])
		if quoted, err := strconv.Unquote(string(found[1])); err == nil {
			path = quoted
		}
		overrides[path] = string(found[3])
	}
	return overrides
}

// rustToolchain returns the toolchain that rustup would use in dir: the nearest choice of the user
// or the project, or the user's default. A directory that the project names is ignored. It returns
// "" without rustup.
func rustToolchain(value func(name string) string, dir string) string {
	home := value("RUSTUP_HOME")
	if home == "" {
		home = filepath.Join(value("HOME"), ".rustup")
	}
	settings := smallFile(filepath.Join(home, "settings.toml"))
	if settings == nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the path that rustup uses
	}
	overrides := rustOverrides(settings)
	for at := dir; ; at = filepath.Dir(at) {
		if name := overrides[at]; name != "" {
			return name
		}
		for _, name := range []string{"rust-toolchain", "rust-toolchain.toml"} {
			text := smallFile(filepath.Join(at, name))
			if text == nil {
				continue
			}
			for _, form := range []*regexp.Regexp{rustName(), rustChannel()} {
				if found := form.FindSubmatch(text); found != nil {
					return string(found[1])
				}
			}
			at = filepath.VolumeName(at) + string(filepath.Separator) // the file names no toolchain, or a directory
			break
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if found := rustDefault().FindSubmatch(settings); found != nil {
		return string(found[1])
	}
	return ""
}

// smallFile returns the text of a regular file; nil if it does not exist or is larger than any file
// of rustup. It does not wait for the writer of a pipe that has replaced the file.
func smallFile(path string) []byte {
	text, err := lockedfile.Read(path, 64<<10)
	if err != nil {
		return nil
	}
	return text
}

// withoutKeys returns an environment without the variables whose names isKey accepts, and without
// variables that contain the value of one.
func withoutKeys(env []string, isKey func(name string) bool) []string {
	if isKey == nil {
		return env
	}
	var secrets []string
	others := make([]string, 0, len(env))
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if !isKey(name) {
			others = append(others, v)
		} else if len(value) >= 8 {
			secrets = append(secrets, value)
		}
	}
	return slices.DeleteFunc(others, func(v string) bool {
		_, value, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(value, s) })
	})
}

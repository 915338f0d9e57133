package extensionstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// enablementFile is the file in the extensions directory that enables extensions by
// directory. It contains {NAME: {"overrides": [RULE, …]}}. A rule is the path of a
// directory with a slash at both ends; the prefix ! disables the extension there, and
// the suffix * includes all subdirectories. The last matching rule wins; without one an
// extension is enabled. Rules for the home directory and its subdirectories apply
// everywhere, because a user has no other way to express that.
const enablementFile = "extension-enablement.json"

// enablement is the content of the file.
type enablement map[string]rulesOf

type rulesOf struct {
	Overrides []string `json:"overrides"`
}

// rule is one rule of the file.
type rule struct {
	off   bool
	base  string // with a slash at both ends
	below bool   // includes subdirectories
}

func parseRule(text string) rule {
	var r rule
	text, r.off = strings.CutPrefix(text, "!")
	text, r.below = strings.CutSuffix(text, "*")
	r.base = slashed(text)
	return r
}

func (r rule) String() string {
	text := r.base
	if r.off {
		text = "!" + text
	}
	if r.below {
		text += "*"
	}
	return text
}

// holds reports whether the rule matches a directory.
func (r rule) holds(dir, home string) bool {
	if r.below {
		return r.base == home || strings.HasPrefix(dir, r.base)
	}
	return r.base == dir
}

// slashed returns a directory as written in rules.
func slashed(dir string) string {
	dir = strings.Trim(filepath.ToSlash(dir), "/")
	if dir == "" {
		return "/"
	}
	return "/" + dir + "/"
}

// enabled reports whether an extension is enabled in a directory.
func (e enablement) enabled(name, dir, home string) bool {
	on := true
	for _, text := range e[name].Overrides {
		if r := parseRule(text); r.holds(slashed(dir), homeOf(home)) {
			on = !r.off
		}
	}
	return on
}

// homeOf returns the home directory as written in rules; "" without one.
func homeOf(home string) string {
	if home == "" {
		return ""
	}
	return slashed(home)
}

// set adds a rule for a directory and its subdirectories, and removes the rules that it
// covers.
func (e enablement) set(name, dir, home string, on bool) {
	added := rule{off: !on, base: slashed(dir), below: true}
	kept := slices.DeleteFunc(slices.Clone(e[name].Overrides), func(text string) bool {
		return added.holds(parseRule(text).base, homeOf(home))
	})
	e[name] = rulesOf{append(kept, added.String())}
}

// readEnablement reads the file. A missing one has no rules. The error is of code
// invalid_config.
func (s *Store) readEnablement() (enablement, error) {
	e := enablement{}
	path := filepath.Join(s.o.Dir, enablementFile)
	data, err := lockedfile.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "extensions.enablement", "The file "+path+" cannot be used: "+cause(err)+".",
			"Correct it, or remove it and enable and disable extensions again.", err)
	}
	if e == nil { // null
		e = enablement{}
	}
	return e, nil
}

// SetEnabled enables or disables an extension for the home directory (ScopeUser), which
// means everywhere, or for the workspace and its subdirectories. Rules for
// subdirectories are removed. The extension need not be installed. The error is of code
// invalid_config if the scope's directory is unknown or the file is invalid,
// file_write_failure or cancelled.
func (s *Store) SetEnabled(ctx context.Context, name string, scope extensions.Scope, on bool) error {
	dir, err := s.dirOf(scope)
	if err != nil {
		return err
	}
	return s.changeEnablement(ctx, func(e enablement) { e.set(name, dir, s.o.Home, on) })
}

// forgetEnablement removes all rules of a name. The error is as that of SetEnabled.
func (s *Store) forgetEnablement(ctx context.Context, name string) error {
	if _, err := os.Lstat(filepath.Join(s.o.Dir, enablementFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.changeEnablement(ctx, func(e enablement) { delete(e, name) })
}

// dirOf returns the directory of a scope.
func (s *Store) dirOf(scope extensions.Scope) (string, error) {
	dir := ""
	switch scope {
	case extensions.ScopeUser:
		dir = s.o.Home
	case extensions.ScopeWorkspace:
		dir = s.o.Workspace
	}
	if dir == "" {
		return "", fault.New(fault.InvalidConfig, "extensions.scope", "There is no directory for the scope "+string(scope)+".", "Use the scope user or workspace.")
	}
	if !utf8.ValidString(dir) { // JSON would store another name
		return "", fault.New(fault.InvalidConfig, "extensions.scope", fmt.Sprintf("Nothing can be stored for the directory %q, because its name is not UTF-8.", dir),
			"Rename the directory, or use the scope user.")
	}
	return dir, nil
}

func (s *Store) changeEnablement(ctx context.Context, change func(enablement)) error {
	if s.o.Dir == "" {
		return noDir()
	}
	path := filepath.Join(s.o.Dir, enablementFile)
	unlock, err := lockedfile.LockOf(ctx, path)
	if err != nil {
		return notWritten(path, err)
	}
	defer unlock()
	e, err := s.readEnablement()
	if err != nil {
		return err
	}
	change(e)
	data, err := json.MarshalIndent(e, "", "  ")
	if err == nil {
		err = lockedfile.Replace(path, append(data, '\n'))
	}
	if err != nil {
		return notWritten(path, err)
	}
	return nil
}

func noDir() error {
	return fault.New(fault.InvalidConfig, "extensions.store", "There is no directory for extensions, because there is no home directory.", "Set HOME.")
}

// notWritten returns the error of a failed write.
func notWritten(path string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.Wrap(fault.Cancelled, "extensions.write", "Writing "+path+" was cancelled.", "", err)
	}
	return fault.Wrap(fault.FileWriteFailure, "extensions.write", "The file "+path+" could not be written: "+cause(err)+".", "Check who may write it, and its directory.", err)
}

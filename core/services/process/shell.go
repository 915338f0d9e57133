package process

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// shell returns the result of findShell, called once.
func (s *Service) shell() (string, error) {
	s.finding.Do(func() { s.found, s.findErr = findShell() })
	return s.found, s.findErr
}

// findShell returns the path of bash, or of sh if there is no bash. That also applies on Windows:
// the policy parses commands as bash, so no other shell may run them.
func findShell() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path, nil
			}
		}
	}
	return "", fault.New(fault.ShellExecuteError, "process.start", "There is neither bash nor sh on the PATH, so no command can be run.",
		"Tell the user to install bash.")
}

// environment returns the environment of a command in dir. Every process that the command starts
// inherits the cookie.
func (s *Service) environment(dir, cookie string) []string {
	id := s.o.Marker + "_COMMAND_ID"
	env := slices.DeleteFunc(slices.Clone(s.o.Environ()), func(v string) bool {
		return strings.HasPrefix(v, "OLDPWD=") // the policy follows cd -, which must not lead to another directory
	})
	for _, v := range env {
		if outer, ok := strings.CutPrefix(v, id+"="); ok {
			cookie = outer + ":" + cookie // a session inside a command of another session
		}
	}
	return append(env[:len(env):len(env)], s.o.Marker+"=1", id+"="+cookie, "PWD="+dir,
		"PAGER=cat", "GIT_PAGER=cat", "TERM=dumb") // the last variable of a name takes precedence
}

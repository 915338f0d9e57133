package process

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// shell is findShell, asked once.
func (s *Service) shell() (string, error) {
	s.finding.Do(func() { s.found, s.findErr = findShell() })
	return s.found, s.findErr
}

// findShell returns bash, or where there is none sh. On Windows too: commands
// are judged as what bash would run, so nothing else may run them.
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

// environment returns the variables of a command in dir. cookie ends up in
// those of all that it starts.
func (s *Service) environment(dir, cookie string) []string {
	id := s.o.Marker + "_COMMAND_ID"
	env := s.o.Environ()
	for _, v := range env {
		if outer, ok := strings.CutPrefix(v, id+"="); ok {
			cookie = outer + ":" + cookie // one session inside a command of another
		}
	}
	return append(env[:len(env):len(env)], s.o.Marker+"=1", id+"="+cookie, "PWD="+dir,
		"PAGER=cat", "GIT_PAGER=cat", "TERM=dumb") // the last one of a name counts
}

package shell

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/services/process"
)

// sandboxed writes that a failed command ran in the sandbox, and the restrictions that its output names.
func (a *answer) sandboxed(by *process.Confinement, as process.Confine, r process.Exit, output string) {
	what, found := denied(output, by.Home)
	if r.Code == 0 && r.Signal == "" && (as == process.ConfineRead || !certain().MatchString(output)) {
		return // the output may be about something else
	}
	if !found && r.Signal != "SIGSYS" {
		return
	}
	may := "write in the workspace, except for protected paths such as .git and .env, and in /tmp"
	switch {
	case as == process.ConfineRead:
		may = "write in the temporary directory only"
	case by.Kind != process.Namespaces:
		may = "write in the workspace and below $TMPDIR"
	}
	switch {
	case by.NoTCP && by.Kind == process.Namespaces:
		may += ", and reach no network but 127.0.0.1"
	case by.NoTCP:
		may += ", and open no TCP connection"
	}
	if what != "" {
		what = " It failed at " + what + "."
	}
	a.line("Note", "The command ran in the sandbox ("+string(by.Kind)+"), where it may "+may+"."+what+
		" If it has to run outside, call "+RunShellCommand+" again with unconfined: true and a reason; the user decides.")
}

// certain matches errors that hardly any cause but a sandbox has.
var certain = lazyregexp.New(`(?i)read-only file system|network is unreachable`)

// denials match the errors of a sandbox in the output of programs. A group is the path or the address that the error
// names. The most specific are the first.
var denials = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)([^\s'"‘’:(=]*/[^\s'"‘’:)]*)['"’)]?: (?:permission denied|operation not permitted|read-only file system)`),
	lazyregexp.New(`(?:EROFS|EACCES|EPERM|Read-only file system|Permission denied|Operation not permitted):[^\n]*?['"]([^'"\n]+)['"]`),
	lazyregexp.New(`(?i)([\w.-]+)['"]?: (?:permission denied|operation not permitted|read-only file system)`),
	lazyregexp.New(`(?i)could not resolve host(?:name)?:? ([\w.-]+)`),
	lazyregexp.New(`(?i)(?:dial \w+:? (?:lookup )?|getaddrinfo (?:ENOTFOUND|EAI_AGAIN) |connect (?:ENETUNREACH|to) )([\w.:\[\]-]+\w)`),
	lazyregexp.New(`(?i)permission denied|operation not permitted|read-only file system|network is unreachable|name resolution|\b(?:EROFS|EACCES|EPERM|ENETUNREACH)\b`),
}

// absent matches the error about a path that does not exist.
var absent = lazyregexp.New(`(/[^\s'"‘’:]+)['"’]?: No such file or directory`)

// denied searches an output for an error of the sandbox, and returns the path or the address that it names, quoted if
// needed; "" if it names none. Files in the home directory do not exist in the sandbox.
func denied(output, home string) (what string, found bool) {
	for _, re := range denials {
		if m := re().FindStringSubmatch(output); m != nil {
			if len(m) == 1 {
				return "", true
			}
			return printable(m[1]), true
		}
	}
	for _, m := range absent().FindAllStringSubmatch(output, -1) {
		if rest, ok := strings.CutPrefix(filepath.Clean(m[1]), home+string(filepath.Separator)); ok && home != "" && rest != "" {
			return printable(m[1]) + " (the home directory is hidden)", true
		}
	}
	return "", false
}

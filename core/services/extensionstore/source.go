package extensionstore

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// source is the source of an extension.
type source struct {
	kind     extensions.InstallType // extensions.InstallGit or extensions.InstallLocal
	location string                 // as stored: the address as given, or the absolute path
	url      string                 // address for git; "" for a directory
	local    bool                   // the repository is on this machine
}

// The hosts with a short form.
var shortForms = map[string]string{"github:": "https://github.com/", "gitlab:": "https://gitlab.com/"}

var (
	scpLike    = lazyregexp.New(`^git@[A-Za-z0-9.-]+:[^:]`)
	ownerRepo  = lazyregexp.New(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
	otherFetch = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:(:|//)`) // git helpers, and unsupported addresses
)

// parseSource distinguishes addresses of repositories from directories.
func parseSource(text string) (source, error) {
	for short, host := range shortForms {
		if rest, ok := strings.CutPrefix(text, short); ok {
			if !ownerRepo().MatchString(rest) || strings.Contains(rest, "..") {
				return source{}, badSource(fmt.Sprintf("%q names no repository.", plainAddress(text)), "Write "+short+"OWNER/REPOSITORY.")
			}
			return source{kind: extensions.InstallGit, location: text, url: host + strings.TrimSuffix(rest, ".git") + ".git"}, nil
		}
	}
	scheme, behind, isURL := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); isURL && schemes[scheme] {
		text = scheme + "://" + behind // git accepts schemes in lower case only
	}
	switch {
	case text == "":
		return source{}, badSource("The source of the extension is empty.", "Give the path of a directory or the address of a git repository.")
	case strings.HasPrefix(text, "-"):
		return source{}, badSource(fmt.Sprintf("The source %q begins with a dash.", plainAddress(text)), "Write ./ before it for a directory of that name.")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return source{}, badSource("The source of the extension contains control characters.", "Give the path of a directory or the address of a git repository.")
	case scpLike().MatchString(text):
		return source{kind: extensions.InstallGit, location: text, url: text}, nil
	case isURL && schemes[scheme]:
		return parseAddress(text)
	case otherFetch().MatchString(text), login().MatchString(text):
		return source{}, badSource(fmt.Sprintf("Extensions are not fetched from an address as %q.", clip(plainAddress(text))),
			"Use https://, ssh://, git@HOST:PATH, github:OWNER/REPOSITORY or gitlab:OWNER/REPOSITORY.")
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return source{}, badSource(fmt.Sprintf("The directory %q is not known: %s.", text, cause(err)), "Give its absolute path.")
	}
	return source{kind: extensions.InstallLocal, location: path}, nil
}

// schemes are the supported schemes of addresses.
var schemes = map[string]bool{"http": true, "https": true, "ssh": true, "sso": true, "file": true}

// login matches user name and password before the host of an address without a scheme.
var login = lazyregexp.New(`^[^/\\@\s]+:[^/\\@\s]+@[^/\\\s]+`)

// plainAddress returns an address for display, without parts that may be secret: user
// information, query and fragment.
func plainAddress(text string) string {
	text, _, _ = strings.Cut(text, "?")
	text, _, _ = strings.Cut(text, "#")
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		scheme, rest = "", text
	}
	host, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	} else if at := strings.LastIndexByte(rest, '@'); isURL && at >= 0 { // a password with a slash in it
		host, path, hasPath = strings.Cut(rest[at+1:], "/")
	}
	if hasPath {
		host += "/" + path
	}
	if isURL {
		return scheme + "://" + host
	}
	return host
}

// parseAddress parses an address with a supported scheme.
func parseAddress(text string) (source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return source{}, badSource("The address of the repository is invalid.", "Write it as https://HOST/OWNER/REPOSITORY.")
	}
	secret := u.User != nil && u.Scheme != "ssh" && u.Scheme != "sso"
	if _, password := u.User.Password(); password || secret {
		return source{}, badSource(fmt.Sprintf("The address of %s contains a user name or password, which would be stored and shown with the extension.", u.Host),
			"Remove it from the address, and use a credential helper of git.")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return source{}, badSource(fmt.Sprintf("The address %q has a query or fragment, which could be a secret, and would be stored and shown with the extension.", clip(plainAddress(text))),
			"Remove the part after ? or #; use --ref for a branch or tag, and a credential helper of git for a password.")
	}
	s := source{kind: extensions.InstallGit, location: text, url: text, local: u.Scheme == "file"}
	switch {
	case s.local && u.Host != "":
		return source{}, badSource(fmt.Sprintf("%q is not a path on this machine.", clip(plainAddress(text))), "Write file:/// and the absolute path of the repository.")
	case !s.local && (u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-")):
		return source{}, badSource(fmt.Sprintf("%q names no host.", clip(plainAddress(text))), "Write it as https://HOST/OWNER/REPOSITORY.")
	}
	return s, nil
}

// goodRef excludes characters with a special meaning in git refspecs.
var goodRef = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./@-]*$`)

// checkRef refuses a ref that is not a plain name of a branch or tag, or a commit.
func checkRef(ref string) error {
	if ref == "" || goodRef().MatchString(ref) && !strings.Contains(ref, "..") && !strings.Contains(ref, "@{") && len(ref) <= 255 {
		return nil
	}
	return badSource(fmt.Sprintf("%q is not a branch, tag or commit.", clip(ref)), "Give --ref the name of a branch or tag, or a full commit hash.")
}

func badSource(message, remedy string) error {
	return fault.New(fault.InvalidToolParams, "extensions.source", message, remedy)
}

// admit refuses a source that the settings do not allow. A list of allowed sources takes
// precedence over the refusal of repositories.
func (s *Store) admit(from source) error {
	if len(s.o.Allowed) == 0 {
		if !s.o.BlockGit || from.kind != extensions.InstallGit {
			return nil
		}
		return fault.New(fault.PolicyViolation, "extensions.install", "Extensions are not installed from repositories here: the setting security.blockGitExtensions refuses it.",
			"Install it from a directory, or ask the administrator of the settings.")
	}
	for _, pattern := range s.o.Allowed {
		re, err := regexp.Compile(pattern)
		if err != nil {
			continue // which can allow nothing
		}
		if re.MatchString(from.location) {
			return nil
		}
	}
	return fault.New(fault.PolicyViolation, "extensions.install", fmt.Sprintf("Extensions are not installed from %s: no expression of the setting security.allowedExtensions matches it.", from.location),
		"Install it from an allowed source, or ask the administrator of the settings.")
}

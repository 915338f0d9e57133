package mcp

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/redact"
)

// Mask removes the confidential values of a server's configuration from messages,
// statuses and logs, whoever quotes them: header values, and the credential after
// the scheme of one; variables and arguments that are named as a secret, look
// like one, or are the password in a URL; the client secret; and of the server's
// own URL the user, the query, and parts of the path that look like secrets.
// Texts of fewer than four bytes are ambiguous and are not masked. It is safe for
// concurrent use.
type Mask struct {
	known redact.Masker
	own   int // number of values from the configuration
}

// shortestSecret is the minimum length of a masked value. shortestPlain is the
// minimum for a value that nothing identifies as a secret.
const (
	shortestSecret = 4
	shortestPlain  = 8
)

// NewMask returns the mask of a server.
func NewMask(s ServerSpec) *Mask {
	var c secrets
	for name, value := range s.Headers {
		c.header(name, value)
	}
	for name, value := range s.Env {
		c.named(name, value)
	}
	c.arguments(s.Args)
	if s.OAuth != nil {
		c.add(s.OAuth.ClientSecret)
	}
	c.address(s.URL)
	m := &Mask{known: redact.Masker{Shortest: shortestSecret}}
	m.known.Add(c.list...)
	m.own = len(m.known.Values())
	return m
}

// Learn adds a value to mask, such as an identifier that the server has assigned
// to the client. After a hundred values, further ones are ignored.
func (m *Mask) Learn(text string) {
	if len(m.known.Values()) < m.own+100 {
		m.known.Add(text)
	}
}

// secrets collects the values to mask.
type secrets struct{ list []string }

func (c *secrets) add(values ...string) {
	for _, v := range values {
		c.list = append(c.list, v, strings.TrimSpace(v))
	}
}

// schemes are header prefixes that a credential follows.
var schemes = []string{"apikey", "basic", "bearer", "digest", "key", "negotiate", "token"}

// header adds the value of a header and the credential in it.
func (c *secrets) header(name, value string) {
	c.add(value)
	scheme, credential, found := strings.Cut(strings.TrimSpace(value), " ")
	name = strings.ToLower(name)
	if found && (name == "authorization" || name == "proxy-authorization" || slices.Contains(schemes, strings.ToLower(scheme))) {
		c.add(credential)
	}
}

// named adds a named value, for example of a variable, if it appears to be
// secret.
func (c *secrets) named(name, value string) {
	if secretName(name) || looksRandom(value) {
		c.add(value)
		if scheme, credential, found := strings.Cut(value, " "); found && slices.Contains(schemes, strings.ToLower(scheme)) {
			c.add(credential)
		}
	}
	c.user(value)
}

// flagValue matches an argument with a name and a value, such as --token=x or
// "Authorization: Bearer x".
var flagValue = lazyregexp.New(`^([\w.-]+)\s*[=:]\s*(.*)$`)

// arguments adds the secrets of a command line.
func (c *secrets) arguments(args []string) {
	for i, a := range args {
		name := ""
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.HasPrefix(a, "-") {
			name = args[i-1]
		}
		m := flagValue().FindStringSubmatch(a)
		if m != nil {
			c.named(m[1], m[2])
		}
		if m == nil || secretName(name) { // a secret may look like a name and a value, as base64 does
			c.named(name, a)
		}
		c.user(a)
	}
}

// user adds the userinfo of a URL: the password or, without a password, the user,
// which then is a token.
func (c *secrets) user(address string) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return
	}
	if password, ok := u.User.Password(); ok && password != "" {
		c.add(password)
		return
	}
	c.add(u.User.Username())
}

// address adds the secrets of the server's URL.
func (c *secrets) address(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	c.user(address)
	c.add(u.RawQuery)
	for name, values := range u.Query() {
		for _, v := range values {
			if secretName(name) || len(v) >= shortestPlain {
				c.add(v)
			}
		}
	}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		if looksRandom(part) {
			c.add(part)
		}
	}
}

// Parts of names of variables, flags and parameters that indicate a secret:
// anywhere in the name, or as a word of its own.
var (
	secretPart = lazyregexp.New(`(?i)key|token|secret|passw|passphrase|pwd|auth|cred|cookie|session|signature|private|dsn|connection`)
	secretWord = lazyregexp.New(`(?i)(^|[^a-z])(pat|pass|jwt|sig)($|[^a-z])`)
	plainName  = lazyregexp.New(`(?i)(path|file|dir|author(_\w+)?)$`)
)

// secretName reports whether a variable or flag of that name holds a secret.
func secretName(name string) bool {
	return (secretPart().MatchString(name) || secretWord().MatchString(name)) && !plainName().MatchString(name)
}

// looksRandom reports whether a value is more likely a key than a word, a number,
// a version or a path: it has a long run of letters and digits, or alternates
// between them repeatedly.
func looksRandom(value string) bool {
	const longRun, manyChanges = 16, 4
	if len(value) < longRun || strings.ContainsAny(value, `/\ `) {
		return false
	}
	run, changes := 0, 0
	mixed := false // within the run
	var last rune
	for _, r := range value {
		letter, digit := unicode.IsLetter(r), unicode.IsDigit(r)
		if !letter && !digit {
			run, mixed, last = 0, false, 0
			continue
		}
		if run++; last != 0 && unicode.IsDigit(last) != digit {
			changes++
			mixed = true
		}
		if last = r; mixed && run >= longRun || changes >= manyChanges {
			return true
		}
	}
	return false
}

// Hide returns text with known secrets, and text of the shape of a secret,
// masked.
func (m *Mask) Hide(text string) string { return m.known.Text(text) }

// fault returns f with secrets masked.
func (m *Mask) fault(f *fault.Error) *fault.Error {
	c := *f
	c.Message, c.Short, c.Remedy = m.Hide(f.Message), m.Hide(f.Short), m.Hide(f.Remedy)
	c.Err = m.cause(f.Err)
	return &c
}

// cause returns err with secrets masked in its text, or nil for nil.
func (m *Mask) cause(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); m.Hide(text) != text {
		return &masked{m.Hide(text), err}
	}
	return err
}

// masked is an error that hides the text of its cause but still matches the cause
// in errors.Is.
type masked struct {
	text  string
	cause error
}

func (e *masked) Error() string { return e.text }

// Is reports whether the cause is target.
func (e *masked) Is(target error) bool { return errors.Is(e.cause, target) }

package mcp

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

// Mask keeps what a server's configuration holds in confidence out of messages,
// statuses and logs, whoever quotes it: the values of headers, and what follows the
// scheme of one; of variables and arguments what is named as a secret, looks like
// one or is the password in a URL; the client's secret; of the server's own URL the
// user, the query, and parts of the path that look like secrets. Texts of fewer than
// four bytes cannot be told from any other and stay. It is safe for concurrent use.
type Mask struct {
	known redact.Masker
	own   int // values of the configuration
}

// shortestSecret is how long a text is that can be told from any other, and
// shortestPlain one that nothing says to be a secret.
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

// Learn keeps a text out, too, that the server has given the client to be known by;
// not one that comes after a hundred others.
func (m *Mask) Learn(text string) {
	if len(m.known.Values()) < m.own+100 {
		m.known.Add(text)
	}
}

// secrets collects what is not to be shown.
type secrets struct{ list []string }

func (c *secrets) add(values ...string) {
	for _, v := range values {
		c.list = append(c.list, v, strings.TrimSpace(v))
	}
}

// schemes are how headers begin that have a credential behind that.
var schemes = []string{"apikey", "basic", "bearer", "digest", "key", "negotiate", "token"}

// header takes the value of a header, and the credential in it.
func (c *secrets) header(name, value string) {
	c.add(value)
	scheme, credential, found := strings.Cut(strings.TrimSpace(value), " ")
	name = strings.ToLower(name)
	if found && (name == "authorization" || name == "proxy-authorization" || slices.Contains(schemes, strings.ToLower(scheme))) {
		c.add(credential)
	}
}

// named takes a value with a name, as of a variable, where it seems to be secret.
func (c *secrets) named(name, value string) {
	if secretName(name) || looksRandom(value) {
		c.add(value)
		if scheme, credential, found := strings.Cut(value, " "); found && slices.Contains(schemes, strings.ToLower(scheme)) {
			c.add(credential)
		}
	}
	c.user(value)
}

// flagValue is an argument that holds a name and a value, as --token=x or
// "Authorization: Bearer x".
var flagValue = regexp.MustCompile(`^([\w.-]+)\s*[=:]\s*(.*)$`)

// arguments takes what is secret of a command line.
func (c *secrets) arguments(args []string) {
	for i, a := range args {
		name := ""
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.HasPrefix(a, "-") {
			name = args[i-1]
		}
		m := flagValue.FindStringSubmatch(a)
		if m != nil {
			c.named(m[1], m[2])
		}
		if m == nil || secretName(name) { // a secret may look like a name and a value, as base64 does
			c.named(name, a)
		}
		c.user(a)
	}
}

// user takes what stands before the host of a URL: the password or, without one,
// the user, which then is a token.
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

// address takes what is secret of the server's URL.
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

// What names of variables, flags and parameters say of a secret: anywhere, or as a
// word of their own.
var (
	secretPart = expression(`(?i)key|token|secret|passw|passphrase|pwd|auth|cred|cookie|session|signature|private|dsn|connection`)
	secretWord = expression(`(?i)(^|[^a-z])(pat|pass|jwt|sig)($|[^a-z])`)
	plainName  = expression(`(?i)(path|file|dir|author(_\w+)?)$`)
)

// expression returns a regular expression, compiled at first use.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// secretName reports whether what is called that holds a secret.
func secretName(name string) bool {
	return (secretPart().MatchString(name) || secretWord().MatchString(name)) && !plainName().MatchString(name)
}

// looksRandom reports whether a value is more likely a key than a word, a number,
// a version or a path: it has a long run of letters and digits, or changes between
// them again and again.
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

// Hide returns text without secrets, nor what has the shape of one.
func (m *Mask) Hide(text string) string { return m.known.Text(text) }

// fault returns f without secrets.
func (m *Mask) fault(f *fault.Error) *fault.Error {
	c := *f
	c.Message, c.Short, c.Remedy = m.Hide(f.Message), m.Hide(f.Short), m.Hide(f.Remedy)
	c.Err = m.cause(f.Err)
	return &c
}

// cause returns err so that its text is without secrets; nil for nil.
func (m *Mask) cause(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); m.Hide(text) != text {
		return &masked{m.Hide(text), err}
	}
	return err
}

// masked is an error whose own text must not be seen. It can be compared with its
// cause, which it does not give away.
type masked struct {
	text  string
	cause error
}

func (e *masked) Error() string { return e.text }

// Is reports whether the cause is target.
func (e *masked) Is(target error) bool { return errors.Is(e.cause, target) }

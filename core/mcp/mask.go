package mcp

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
)

// mask keeps what a server's configuration holds in confidence out of messages,
// statuses and logs, whoever quotes it: the values of headers, of variables that
// seem to be secret, the client's secret, and what a URL's user and query hold.
type mask struct{ replacer *strings.Replacer }

// hidden stands for what is not shown.
const hidden = "***"

// shortestSecret is how long a text is that can be told from any other.
const shortestSecret = 4

func newMask(s ServerSpec) *mask {
	var secrets []string
	for _, value := range s.Headers {
		secrets = append(secrets, value)
		secrets = append(secrets, strings.Fields(value)...) // "Bearer x" may be quoted as x
	}
	for name, value := range s.Env {
		if secretName(name) || looksRandom(value) {
			secrets = append(secrets, value)
		}
	}
	if s.OAuth != nil {
		secrets = append(secrets, s.OAuth.ClientSecret)
	}
	if u, err := url.Parse(s.URL); err == nil {
		password, _ := u.User.Password()
		secrets = append(secrets, password, url.QueryEscape(password))
		if password == "" {
			secrets = append(secrets, u.User.Username())
		}
		for _, values := range u.Query() {
			for _, v := range values {
				secrets = append(secrets, v, url.QueryEscape(v))
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(v string) bool {
		return len(v) < shortestSecret || slices.Contains([]string{"Bearer", "Basic", "Token"}, v)
	})
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, v := range slices.Compact(secrets) { // the longest first, as one may hold another
		pairs = append(pairs, v, hidden)
	}
	return &mask{strings.NewReplacer(pairs...)}
}

// secretName reports whether a variable of that name holds a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "PWD", "AUTH", "CRED", "PAT", "COOKIE", "SESSION"}, func(word string) bool {
		return strings.Contains(name, word)
	}) && name != "PATH" && !strings.HasSuffix(name, "_PATH")
}

// looksRandom reports whether a value is more likely a key than a word, a number
// or a path.
func looksRandom(value string) bool {
	return len(value) >= 16 && !strings.ContainsAny(value, `/\ `) &&
		strings.ContainsFunc(value, unicode.IsDigit) && strings.ContainsFunc(value, unicode.IsLetter)
}

// hide returns text without secrets.
func (m *mask) hide(text string) string { return m.replacer.Replace(text) }

// fault returns f without secrets.
func (m *mask) fault(f *fault.Error) *fault.Error {
	c := *f
	c.Message, c.Short, c.Remedy = m.hide(f.Message), m.hide(f.Short), m.hide(f.Remedy)
	c.Err = m.cause(f.Err)
	return &c
}

// cause returns err so that its text is without secrets; nil for nil.
func (m *mask) cause(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); m.hide(text) != text {
		return &masked{m.hide(text), err}
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

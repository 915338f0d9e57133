package client

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/mcp"
)

// mask hides what of a spec is secret in text for people: the values of headers,
// those of variables whose names say that they hold secrets, a client's secret,
// and user, password and query of a URL.
type mask struct{ hide *strings.Replacer }

// secretName is what variables are called that hold secrets.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|auth|cred|cookie|session|signature|private|_pat$|^pat$|dsn|connection`)

const hidden = "***"

func newMask(spec mcp.ServerSpec) *mask {
	var secrets []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= 4 { // what is shorter stands in every text
			secrets = append(secrets, s)
		}
	}
	for _, value := range spec.Headers {
		add(value)
		for _, word := range strings.Fields(value)[min(1, len(strings.Fields(value))):] { // behind Bearer
			add(word)
		}
	}
	for name, value := range spec.Env {
		if secretName.MatchString(name) {
			add(value)
		}
	}
	if spec.OAuth != nil {
		add(spec.OAuth.ClientSecret)
	}
	if u, err := url.Parse(spec.URL); err == nil && spec.URL != "" {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
		add(u.User.Username())
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, value := range values {
				add(value)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // the longer before what it holds
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		pairs = append(pairs, s, hidden)
	}
	return &mask{strings.NewReplacer(pairs...)}
}

// text returns s without secrets.
func (m *mask) text(s string) string { return m.hide.Replace(s) }

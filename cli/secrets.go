package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/services/transcript"
	"github.com/fettle-dev/fettle/core/standard"
)

// shortestSecret is the length below which a value is not masked, as it would be
// found everywhere.
const shortestSecret = 6

// secrets are values that no log and no recording shows. The zero value is empty
// and ready for use; it is safe for concurrent use.
type secrets struct {
	mu       sync.Mutex
	list     []string
	replacer *strings.Replacer // of list; nil: not made, or there are none
}

// secretsOf returns those of an environment: the keys of models' providers, and
// what else looks like a secret.
func secretsOf(environ []string) []string {
	keys := standard.ModelOptions{Getenv: os.Getenv}.Secrets()
	return append(keys, config.Secrets(environ)...)
}

func (s *secrets) add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) >= shortestSecret && !slices.Contains(s.list, v) {
			s.list, s.replacer = append(s.list, v), nil
		}
	}
}

func (s *secrets) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// masking returns a writer that puts *** in the place of secrets, also of those
// that are added later. Each Write is a whole record.
func (s *secrets) masking(w io.Writer) io.Writer { return masking{s, w} }

type masking struct {
	secrets *secrets
	w       io.Writer
}

// mask puts *** in the place of secrets, also of those in quoted values, as
// recordings do.
func (s *secrets) mask(text string) string {
	s.mu.Lock()
	if s.replacer == nil {
		s.replacer = transcript.Replacer(s.list, shortestSecret, "***")
	}
	r := s.replacer
	s.mu.Unlock()
	if r == nil {
		return text
	}
	return r.Replace(text)
}

func (m masking) Write(record []byte) (int, error) {
	if _, err := io.WriteString(m.w, m.secrets.mask(string(record))); err != nil {
		return 0, err
	}
	return len(record), nil
}

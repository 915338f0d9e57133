package oauth

import "time"

// SetRequestLimit sets the timeout of requests to authorization servers.
func SetRequestLimit(s *Service, d time.Duration) { s.client.Timeout = d }

// Secret is a secret as the package stores it.
type Secret = secret

// Entry is the stored state of a sign-in.
type Entry = entry

var (
	Trustworthy    = trustworthy
	CoversResource = coversResource
	DemandOf       = demandOf
	ParseEntry     = parseEntry
)

// Said returns the content of a challenge.
func (d demand) Said() (metadata string, scopes []string, problem string) {
	return d.metadata, d.scopes, d.problem
}

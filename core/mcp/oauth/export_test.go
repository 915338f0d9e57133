package oauth

import "time"

// SetRequestLimit has requests to authorization servers take no longer.
func SetRequestLimit(s *Service, d time.Duration) { s.client.Timeout = d }

// Secret is a secret as the package holds them.
type Secret = secret

// Entry is what is kept of a sign-in.
type Entry = entry

var (
	Trustworthy    = trustworthy
	CoversResource = coversResource
	DemandOf       = demandOf
	ParseEntry     = parseEntry
)

// Said returns what a challenge demands.
func (d demand) Said() (metadata string, scopes []string, problem string) {
	return d.metadata, d.scopes, d.problem
}

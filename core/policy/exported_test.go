package policy_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25, AR-27: a variable before a program requires approval unless it, or its
// value, is known to be harmless.
func TestExportedVariables(t *testing.T) {
	e := corpusEngine(t)
	for want, lines := range map[policy.Verdict][]string{
		policy.AskUser: {
			"GOCACHEPROG=./x go build ./...", "GREP=./x ls", "GREP=x ls", "RUSTFLAGS=-Clinker=./x make", "RUSTFLAGS='-C linker=./x' make", "JAVA_TOOL_OPTIONS=-javaagent:x.jar make", "SOMETHING=./x make",
			"export SOMETHING=./x; make", "declare -x SOMETHING=./x; make", "env SOMETHING=./x make", "SOMETHING=$(cat a.txt) make", `SOMETHING="$X" make`, "timeout 5 env SOMETHING=./x make",
			"f() { make; }; SOMETHING=./x timeout 5 make",
		},
		policy.Allow: {
			"FOO=1 go test ./...", "FETTLE_FULL=1 go test ./...", "LC_ALL=C sort a.txt", "LANG=C.UTF-8 ls", "TZ=Europe/Berlin date", "CI=true npm test", "DEBUG=yes make", "GOOS=windows GOARCH=amd64 go vet ./...",
			"X=a ; make", "sha=$(git rev-parse HEAD); make", "env TZ=UTC date", "FOO=1.5 make", "FOO= make", "N=$(nproc) make", "RUST_BACKTRACE=full make", "NO_COLOR=1 TERM=dumb ls",
		},
	} {
		for _, line := range lines {
			if d := decide(t, e, line, policy.ModeDefault); d.Decision != want {
				t.Errorf("%q: want %s: %s", line, want, describe(d))
			}
		}
	}
}

package wire_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// The requested delay is never negative and never more than a week, for any response.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range [][3]string{
		{"5", "", ""}, {"", "1500", ""}, {"NaN", "Inf", ""}, {"-1", "-1e300", ""}, {"Wed, 21 Oct 2099 07:28:00 GMT", "", ""}, {"", "", "Please try again in 1m 2.5s."}, {"1e400", "0x10", "retry after 99999h"}, {"", "", "try again in 9999999999h"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, after, ms, message string) {
		got := wire.RetryAfter(http.Header{"Retry-After": {after}, "Retry-After-Ms": {ms}}, message)
		require.True(t, 0 <= got && got <= 7*24*time.Hour, "%v", got)
	})
}

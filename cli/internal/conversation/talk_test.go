package conversation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

func TestAgeOf(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"": 0, "5h": 5 * time.Hour, "30d": 30 * day, "2w": 14 * day, "1m": 30 * day, "99999999999m": longestAge, "99999999999999999999d": 0,
	} {
		require.Equal(t, want, AgeOf(text), text)
	}
	require.Equal(t, 7, retentionOf(settings.SessionRetention{MaxCount: 7}).MaxCount)
}

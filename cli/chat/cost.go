package chat

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// costOf describes the cost of a model's tokens for /stats, or names the setting that is
// missing.
func costOf(prices map[string]settings.Price, name string, t conversation.TokenStatistics) string {
	price, known := priceOf(prices, name)
	if !known {
		return "no price is set (setting model.prices)"
	}
	return "cost " + currency(price.Input*float64(t.Input+t.Tool)+cachedPrice(price)*float64(t.Cached)+price.Output*float64(t.Candidates+t.Thoughts))
}

// priceOf returns the price with the longest name that begins a model's name.
func priceOf(prices map[string]settings.Price, name string) (found settings.Price, known bool) {
	longest := -1
	for prefix, price := range prices {
		if len(prefix) > longest && strings.HasPrefix(name, prefix) {
			longest, found, known = len(prefix), price, true
		}
	}
	return found, known
}

func cachedPrice(p settings.Price) float64 {
	if p.CachedInput == 0 {
		return p.Input
	}
	return p.CachedInput
}

// currency formats millionths of the currency unit: two digits after the point, or four
// below one unit.
func currency(millionths float64) string {
	units := millionths / 1e6
	switch {
	case units == 0:
		return "0"
	case units < 0.0001:
		return "below 0.0001"
	case units < 1:
		return fmt.Sprintf("%.4f", units)
	}
	return fmt.Sprintf("%.2f", units)
}

package integration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli"
)

// The help shows a backquoted word of a flag's usage as its value, and a Go type where no word is
// quoted. Each flag that takes a value names it by a noun, and no switch appears to take one.
func TestFlagPlaceholders(t *testing.T) {
	t.Parallel()
	checked := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		look := func(f *pflag.Flag) {
			checked++
			where := c.CommandPath() + " --" + f.Name
			value, usage := pflag.UnquoteUsage(f)
			if f.Value.Type() == "bool" {
				require.Empty(t, value, "%s takes no value", where)
			} else if f.NoOptDefVal == "" {
				require.NotContains(t, []string{"", "string", "strings", "stringArray", "int", "ints", "uint", "float", "value"}, value,
					"%s: quote the noun of its value with backquotes", where)
			}
			require.NotContains(t, usage, "`", "%s: only one word is shown as the value", where)
			require.LessOrEqual(t, len(strings.Fields(value)), 2, "%s: %q is no noun", where, value)
			require.False(t, slices.Contains([]string{"long", "many", "this", "a", "the"}, value), "%s: %q is no noun", where, value)
		}
		c.LocalNonPersistentFlags().VisitAll(look)
		c.PersistentFlags().VisitAll(look)
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(cli.CommandTree())
	require.Greater(t, checked, 100)
}

package cli

import "github.com/fettle-dev/fettle/cli/display"

// printable returns text that shows what it holds.
func printable(s string) string { return display.Printable(s) }

// fold breaks lines of prose that do not fit into so many columns.
func fold(text, hang string, columns int) string { return display.Fold(text, hang, columns) }

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/gateway"
	"github.com/fettle-dev/fettle/cli/guard/hook"
	"github.com/fettle-dev/fettle/cli/guard/importer"
)

// writeGuardManual writes fettle-guard.1 from the help of the program's commands, and
// fettle-guard-hook.1, which refers to it.
func writeGuardManual(dir string, day time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH \"FETTLE\\-GUARD\" \"1\" \"%s\" \"fettle\" \"fettle\"\n", day.Format("Jan 2006"))
	b.WriteString(".SH NAME\nfettle\\-guard, fettle\\-guard\\-hook \\- apply fettle's policy to other agents\n.SH DESCRIPTION\n")
	b.WriteString("The program makes other agents stricter and never more permissive.\nfettle\\-guard\\-hook is the same program with the command hook only.\n.SH COMMANDS\n.nf\n")
	for _, c := range []guard.Command{hook.Command(), gateway.Command(), importer.Command()} {
		for line := range strings.Lines("fettle-guard " + c.Usage + "\n") {
			b.WriteString(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(strings.TrimPrefix(line, "  ")))
		}
	}
	b.WriteString(".fi\n.SH SEE ALSO\n\\fBfettle(1)\\fP\n")
	if err := os.WriteFile(filepath.Join(dir, "fettle-guard.1"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "fettle-guard-hook.1"), []byte(".so man1/fettle-guard.1\n"), 0o644)
}

package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// AR-25, AR-27: if a line sets the variables by which bash finds directories,
// these are unknown.
func TestSetDirs(t *testing.T) {
	for _, line := range []string{
		"CDPATH=x; cd a; p", "read CDPATH < f; cd a; p", "export CDPATH=x; cd a; p", "CDPATH=x cd a; p", "for CDPATH in x; do :; done; cd a; p", "printf -v CDPATH x; cd a; p", "declare CDPATH=x; cd a; p",
		": ${CDPATH:=x}; cd a; p", "builtin export CDPATH=x; cd a; p", "eval CDPATH=x; cd a; p", "f() { cd a; p; }; read CDPATH < g; f", "mapfile DIRSTACK < f; popd; p", "PWD=x; cd a; p", "OLDPWD=x; cd -; p", "pushd a; DIRSTACK[1]=x; popd; p",
		"PWD=x; cd ~+; p", "cd ~-; p", "cd ~1; p",
	} {
		found := false
		for _, part := range Parse(line).Parts {
			if part.Text == "p" {
				found = true
				require.Empty(t, part.Dirs, line)
			}
		}
		require.True(t, found, line)
	}
	for word, static := range map[string]bool{"~+": false, "~+/x": false, "~-/x": false, "~1/x": false, "~+1": false, "~/x": true, "~user/x": true, "'~+/x'": true, "x~+": true, `\~+`: true} {
		require.Equal(t, static, Parse("p " + word).Parts[0].Words[1].Static, word)
	}
}

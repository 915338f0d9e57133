package rulefile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// For a directory its direct files are read by name. Missing paths are empty; unreadable
// files are reported and do not affect the others. There is a File for each path found
// (gemini-cli 19368).
func TestLoad(t *testing.T) {
	top := t.TempDir()
	b := write(t, filepath.Join(top, "p", "b.toml"), deny())
	a := write(t, filepath.Join(top, "p", "a.toml"), "x = 1\n"+deny())
	write(t, filepath.Join(top, "p", "c.txt"), deny())
	write(t, filepath.Join(top, "p", "sub", "d.toml"), deny())
	write(t, filepath.Join(top, "p", "folder.toml", "e.toml"), deny())
	broken := write(t, filepath.Join(top, "broken.toml"), "[[rule")
	single := write(t, filepath.Join(top, "single.conf"), deny())

	files, problems := rulefile.Load(t.Context(), []string{
		filepath.Join(top, "p"), filepath.Join(top, "missing"), broken, filepath.Join(single, "below-a-file"), single,
	}, user)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{a, b, broken, filepath.Join(single, "below-a-file"), single}, paths)
	require.Len(t, files[0].Rules, 1)
	require.Len(t, files[4].Rules, 1)
	require.Equal(t, single, files[4].Rules[0].Source)
	require.Len(t, problems, 3)
	require.Equal(t, a, problems[0].Path)
	require.Equal(t, rulefile.KindTOML, problems[1].Kind)
	require.Equal(t, rulefile.KindFileRead, problems[2].Kind)
	require.Equal(t, rulefile.Error, problems[2].Severity)
}

// anything is the stand-in for an unreadable file.
func anything(path string, tier policy.Tier) []policy.Rule {
	return []policy.Rule{{
		Name: "in place of the file, which cannot be read", Tools: []string{"*"}, Decision: policy.AskUser, Priority: 999,
		TightensOnly: true, Tier: tier, Source: path,
	}}
}

// AR-27: a file that is too large or unreadable is reported. For a file of the user or
// the administrator every call is asked about, in yolo too, because the file may have
// denied it. For a project or an extension no stand-in is added.
func TestLoadUnread(t *testing.T) {
	top := t.TempDir()
	large := write(t, filepath.Join(top, "large.toml"), "")
	require.NoError(t, os.Truncate(large, 1<<40))
	below := filepath.Join(large, "below-a-file")
	for _, tier := range []policy.Tier{policy.TierUser, policy.TierAdmin, policy.TierWorkspace, policy.TierExtension} {
		for _, path := range []string{large, below} {
			files, problems := rulefile.Load(t.Context(), []string{path}, rulefile.Options{Tier: tier})
			require.Len(t, files, 1)
			require.Equal(t, path, files[0].Path)
			require.Empty(t, files[0].Rules)
			require.Len(t, problems, 1)
			require.Equal(t, rulefile.KindFileRead, problems[0].Kind)
			if tier < policy.TierUser {
				require.Empty(t, files[0].StandIns)
				require.True(t, strings.HasSuffix(problems[0].Message, "none of its rules is in force."), problems[0].Message)
				continue
			}
			require.Equal(t, anything(path, tier), files[0].StandIns)
			require.Contains(t, problems[0].Message, "until it is corrected every call needs approval")
			for i, v := range verdictsOf(t, files[0], sampleCalls(t)) {
				require.Equal(t, policy.AskUser, v, "call %d", i)
			}
		}
	}
}

func TestLoadCancelled(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a.toml"), deny())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files, problems := rulefile.Load(ctx, []string{path, path}, user)
	require.Len(t, files, 2)
	require.Equal(t, anything(path, policy.TierUser), files[1].StandIns)
	require.Len(t, problems, 2)
}

// 10,000 rules are read in less than a second; see the benchmark.
func TestManyRules(t *testing.T) {
	file := parse(t, many(10_000))
	require.Len(t, file.Rules, 10_000)
	require.Equal(t, 10_000*6-5, file.Rules[9_999].Line)
}

func BenchmarkParse(b *testing.B) {
	data := []byte(many(10_000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		file, _ := rulefile.Parse("p.toml", data, rulefile.Options{Tier: policy.TierUser})
		if len(file.Rules) != 10_000 {
			b.Fatal(len(file.Rules))
		}
	}
}

// many returns a file of n rules of six lines.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[rule]]\ntoolName = \"tool_%d\"\ndecision = \"deny\"\npriority = %d\nargsPattern = \"x%d\"\n\n", i, i%1000, i)
	}
	return b.String()
}

package process_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// Old saved outputs are removed; other files next to them are not touched.
func TestSavedOutputsAreTidied(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	files := map[string]struct {
		size int64
		age  time.Duration
	}{
		"output-1.txt":  {10, 8 * day},
		"output-2.txt":  {100, 6 * day},
		"output-3.txt":  {100, 5 * day},
		"output-4.txt":  {100, 4 * day},
		"output-5.txt":  {500, 30 * time.Minute},
		"output-.txt":   {10, 90 * day},
		"output-1a.txt": {10, 90 * day},
		"output-1":      {10, 90 * day},
		"x-1.txt":       {10, 90 * day},
		"notes.txt":     {10, 90 * day},
	}
	others := []string{"output-.txt", "output-1a.txt", "output-1", "x-1.txt", "notes.txt", "output-6.txt", "output-7.txt"} // the last two a directory and a link
	for name, tt := range map[string]struct {
		o    process.Options
		left []string
	}{
		"as it is":        {process.Options{}, []string{"output-2.txt", "output-3.txt", "output-4.txt", "output-5.txt"}},
		"smaller":         {process.Options{SaveTotal: 700}, []string{"output-3.txt", "output-4.txt", "output-5.txt"}},
		"much smaller":    {process.Options{SaveTotal: 1}, []string{"output-5.txt"}},
		"shorter":         {process.Options{SaveAge: time.Second}, []string{"output-5.txt"}},
		"neither":         {process.Options{SaveAge: -1, SaveTotal: -1}, []string{"output-1.txt", "output-2.txt", "output-3.txt", "output-4.txt", "output-5.txt"}},
		"nothing is kept": {process.Options{HeadBytes: 1 << 20}, []string{"output-1.txt", "output-2.txt", "output-3.txt", "output-4.txt", "output-5.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			age := func(path string, by time.Duration) {
				require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-by)))
			}
			for name, f := range files {
				path := filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(path, make([]byte, f.size), 0o600))
				age(path, f.age)
			}
			require.NoError(t, os.Mkdir(filepath.Join(dir, "output-6.txt"), 0o700))
			age(filepath.Join(dir, "output-6.txt"), 90*day)
			require.NoError(t, os.Symlink("notes.txt", filepath.Join(dir, "output-7.txt")))

			o := tt.o
			o.SaveDir = dir
			if o.HeadBytes == 0 {
				o.HeadBytes, o.TailBytes = 10, 10
			}
			r := run(t, newService(t, o), "seq 100")
			want := append([]string{}, others...)
			want = append(want, tt.left...)
			if name != "nothing is kept" {
				want = append(want, filepath.Base(r.SavedPath))
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, e.Name())
			}
			require.ElementsMatch(t, want, got)
		})
	}
}

package extensionstore_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// tree writes files below a new directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func pluginStore(t testing.TB) *extensionstore.Store {
	t.Helper()
	home := t.TempDir()
	return extensionstore.Open(extensionstore.Options{Dir: filepath.Join(home, "extensions"), Home: home})
}

// questions counts the hooks that ask about every call.
func questions(t testing.TB, e extensions.Extension) (n int) {
	t.Helper()
	data, err := extensionstore.UnfilledHooks(e)
	require.NoError(t, err)
	all, _ := hookrun.ParseJSON(data, hookrun.Origin{Extension: e.Name, Claude: true})
	for _, h := range all {
		if h.Run != nil && h.Event == hooks.BeforeTool && h.Matcher == "" {
			n++
		}
	}
	return n
}

// UI-07: hooks that cannot be read might refuse calls, so sessions ask about each call.
func TestLostHooks(t *testing.T) {
	const hook = `{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"x"}]}]}`
	for name, files := range map[string]map[string]string{
		"invalid JSON":        {".claude-plugin/plugin.json": `{"name":"kit"}`, "hooks/hooks.json": `{"hooks":{`},
		"not an object":       {".claude-plugin/plugin.json": `{"name":"kit"}`, "hooks/hooks.json": `{"hooks":["x"]}`},
		"a list":              {".claude-plugin/plugin.json": `{"name":"kit"}`, "hooks/hooks.json": `[]`},
		"missing":             {".claude-plugin/plugin.json": `{"name":"kit","hooks":"./gone.json"}`},
		"outside":             {".claude-plugin/plugin.json": `{"name":"kit","hooks":"../gone.json"}`},
		"another form":        {".claude-plugin/plugin.json": `{"name":"kit","hooks":7}`},
		"one of several":      {".claude-plugin/plugin.json": `{"name":"kit","hooks":[` + hook + `,"./gone.json"]}`},
		"directory of a hook": {".claude-plugin/plugin.json": `{"name":"kit"}`, "hooks/hooks.json/x": ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := pluginStore(t).Install(t.Context(), extensionstore.InstallRequest{Source: tree(t, files)}, &testUser{})
			require.NoError(t, err)
			require.Equal(t, 1, questions(t, e))
			require.NotEmpty(t, e.Plugin.Omitted)
		})
	}
	e, err := pluginStore(t).Install(t.Context(), extensionstore.InstallRequest{Source: tree(t, map[string]string{".claude-plugin/plugin.json": `{"name":"kit","hooks":` + hook + `}`})}, &testUser{})
	require.NoError(t, err)
	require.Zero(t, questions(t, e))
	require.Empty(t, e.Plugin.Omitted)
}

// UI-07: the hooks of a plugin do not replace those of its entry in a marketplace.
func TestMarketplaceHooks(t *testing.T) {
	dir := tree(t, map[string]string{
		".claude-plugin/marketplace.json": `{"plugins":[{"name":"kit","source":"./p","hooks":{"PreToolUse":[{"hooks":[{"command":"theirs"}]}]}}]}`,
		"p/.claude-plugin/plugin.json":    `{"name":"kit","hooks":{"PreToolUse":[{"hooks":[{"command":"own"}]}]}}`,
	})
	e, err := pluginStore(t).Install(t.Context(), extensionstore.InstallRequest{Source: dir, Plugin: "kit"}, &testUser{})
	require.NoError(t, err)
	data, err := extensionstore.UnfilledHooks(e)
	require.NoError(t, err)
	require.Contains(t, string(data), "theirs")
	require.Contains(t, string(data), "own")
}

// entry is an entry of an archive.
type entry struct {
	name, text string
	mode       os.FileMode
	link       string
}

// packed returns a zip file and a tar file with gzip.
func packed(t testing.TB, entries ...entry) map[string][]byte {
	t.Helper()
	var zipped, tarred bytes.Buffer
	z := zip.NewWriter(&zipped)
	g := gzip.NewWriter(&tarred)
	w := tar.NewWriter(g)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode | 0o644)
		f, err := z.CreateHeader(h)
		require.NoError(t, err)
		_, err = f.Write([]byte(e.text + e.link))
		require.NoError(t, err)
		th := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm() | 0o644), Size: int64(len(e.text)), Typeflag: tar.TypeReg, Linkname: e.link}
		if e.link != "" {
			th.Typeflag, th.Size = tar.TypeSymlink, 0
		}
		require.NoError(t, w.WriteHeader(th))
		_, err = w.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, w.Close())
	require.NoError(t, g.Close())
	return map[string][]byte{"kit.zip": zipped.Bytes(), "kit.tgz": tarred.Bytes()}
}

// UI-07: a zip file and a tar file install; entries that lead out, links and duplicates
// refuse the archive, and nothing is left of it.
func TestArchives(t *testing.T) {
	manifest := entry{name: "kit/.claude-plugin/plugin.json", text: `{"name":"kit"}`}
	for name, tt := range map[string]struct {
		more entry
		ok   bool
	}{
		"files":     {entry{name: "kit/commands/x.md", text: "Do it."}, true},
		"program":   {entry{name: "kit/x.sh", text: "x", mode: 0o755}, true},
		"parent":    {entry{name: "kit/../../out", text: "x"}, false},
		"above":     {entry{name: "../out", text: "x"}, false},
		"absolute":  {entry{name: "/out", text: "x"}, false},
		"backslash": {entry{name: `kit\..\..\out`, text: "x"}, false},
		"link":      {entry{name: "kit/l", mode: os.ModeSymlink, link: "/etc"}, false},
		"inner":     {entry{name: "kit/l", mode: os.ModeSymlink, link: "x"}, false},
		"device":    {entry{name: "kit/d", mode: os.ModeNamedPipe}, true},
		"twice":     {manifest, false},
		"below it":  {entry{name: manifest.name + "/x", text: "x"}, false},
	} {
		for file, data := range packed(t, manifest, tt.more) {
			t.Run(name+" "+file, func(t *testing.T) {
				if name == "device" {
					if tt.ok = file != "kit.zip"; tt.ok {
						t.Skip("the tar file has a plain file")
					}
				}
				dir := t.TempDir()
				path := filepath.Join(dir, "in", file)
				require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, data, 0o644))
				s := extensionstore.Open(extensionstore.Options{Dir: filepath.Join(dir, "home", "extensions"), Home: filepath.Join(dir, "home")})
				e, err := s.Install(t.Context(), extensionstore.InstallRequest{Source: path}, &testUser{})
				require.NoFileExists(t, filepath.Join(dir, "out"))
				require.NoFileExists(t, filepath.Join(dir, "home", "out"))
				if tt.ok {
					require.NoError(t, err)
					require.Equal(t, "kit", e.Name)
					return
				}
				require.NotNil(t, fault.As(err))
				require.NoDirExists(t, filepath.Join(dir, "home", "extensions", "kit"))
			})
		}
	}
}

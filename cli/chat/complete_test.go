package chat

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// UI-04: @ finds files in directories below by scattered letters, the base name first,
// with the matching letters marked; ignored files are omitted.
func TestChatFindsFiles(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		for _, name := range []string{"src/deep/parser.go", "src/pars/er/x.go", "build/parser.o", ".gitignore", ".github/parsing.yml"} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(project, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte("build/\n"), 0o600))
		}
		require.Eventually(t, func() bool { return len(c.files.Find(ctx, "f.txt", 1)) > 0 }, time.Minute, time.Millisecond, "completion waits a second for the first list")
		find := func(text string) (labels []string) {
			for _, item := range c.Complete(ctx, text, len(text)).Items {
				label := []byte(item.Label)
				for _, i := range item.Marks {
					label[i] = strings.ToUpper(item.Label[i : i+1])[0]
				}
				labels = append(labels, string(label))
			}
			return labels
		}
		require.Equal(t, []string{"@src/deep/PARSER.go"}, find("look @parser")[:1])
		require.Equal(t, []string{"@src/deep/ParSer.GO"}, find("@psgo")[:1])
		require.Equal(t, []string{"@src/PARS/", "@src/deep/PARSer.go"}, find("@pars")[:2])
		require.NotContains(t, strings.Join(find("@parser"), " "), "build")
		require.NotContains(t, find("@"), "@build/")
		require.Equal(t, []string{"@src/DEEP/"}, find("@src/deep")[:1])
		require.Equal(t, []string{"@src/deep/parser.go"}, find("@src/deep/"))
		require.Empty(t, find("@../p"))
	})
}

// Every completed name is a reference to exactly that file; names that an input cannot
// hold are omitted.
func TestChatHostileNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	names := []string{
		"a b", "quote'd", `double"d`, `back\slash`, "star*", "what?", "br[ack]et", "cur{ly}", "com,ma;", "end.", "dots...", "nbsp\u00a0x", "ideo\u3000x", "@at", "-dash", "日本語", "e\u0301", "#x", "$HOME", "`tick`", "(paren)", "!bang", "~tilde",
	}
	omitted := []string{"esc\x1b[2J", "new\nline", "tab\tx", "bidi\u202ex", "bad\xff"}
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		dir := filepath.Join(project, "h o")
		require.NoError(t, os.Mkdir(dir, 0o755))
		for _, name := range append(names, omitted...) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o600), name)
		}
		done := c.Complete(ctx, `@h\ o/`, 6)
		require.Len(t, done.Items, len(names))
		for _, item := range done.Items {
			expanded, err := c.config.Expand(ctx, "Read "+item.Text+"now.")
			require.NoError(t, err)
			require.Empty(t, expanded.Notices, item.Text)
			require.Equal(t, []string{filepath.Join(dir, strings.TrimPrefix(item.Label, "@h o/"))}, expanded.Files, item.Text)
		}
	})
}

// UI-04: / finds commands by scattered letters behind those that begin so.
func TestChatFindsCommands(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		found := func(text string) (labels []string) {
			for _, item := range c.Complete(ctx, text, len(text)).Items {
				require.NotEmpty(t, item.Description, item.Label)
				labels = append(labels, item.Label)
			}
			return labels
		}
		require.Equal(t, []string{"/permissions"}, found("/prmss"))
		require.Contains(t, found("/st"), "/restore")
		require.Contains(t, found("/tat"), "/stats")
		require.Equal(t, []string{"list", "save", "resume", "delete", "share"}, found("/chat "))
		require.Contains(t, found("/mode p"), "plan")
		require.Equal(t, "/exit", found("/exi")[0])
		require.Empty(t, found("/qzx"))
	})
}

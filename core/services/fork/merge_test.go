package fork_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/transaction"
)

func modes(t *testing.T, test func(t *testing.T, mode fork.Mode)) {
	for _, mode := range []fork.Mode{fork.Overlay, fork.Copy} {
		t.Run(string(mode), func(t *testing.T) { test(t, mode) })
	}
}

func first(s string) string { return strings.Replace(s, "1\n", "one\n", 1) }
func fifth(s string) string { return strings.Replace(s, "5\n", "five\n", 1) }
func last(s string) string  { return strings.Replace(s, "10\n", "ten\n", 1) }

// german is a text of 20 lines in the range of Latin-1.
var german = func() string {
	var b strings.Builder
	for n := range 20 {
		fmt.Fprintf(&b, "Zeile %d über die größere Fläche für schöne Mädchen\n", n+1)
	}
	return b.String()
}()

func second(s string) string    { return strings.Replace(s, "Zeile 2 ", "Zeile zwei ", 1) }
func fifteenth(s string) string { return strings.Replace(s, "Zeile 15 ", "Zeile fünfzehn ", 1) }
func latin1(s string) string    { return encoded(textfile.Format{Encoding: "iso-8859-1"}, s) }
func utf16(s string) string {
	return encoded(textfile.Format{Encoding: textfile.UTF16LE, BOM: true}, s)
}

func encoded(f textfile.Format, text string) string {
	data, err := f.Encode(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// FK-05: each verdict, and its result in a merge.
func TestVerdicts(t *testing.T) {
	tests := map[string]struct{ base, fork, now, verdict, want string }{
		"modified":           {ten, first(ten), ten, "merged", first(ten)},
		"both":               {ten, first(ten), last(ten), "merged", last(first(ten))},
		"reverted":           {ten, ten, last(ten), "unchanged", last(ten)},
		"identical":          {ten, first(ten), first(ten), "identical", first(ten)},
		"same lines":         {ten, first(ten), strings.Replace(ten, "1\n", "uno\n", 1), "conflict text", strings.Replace(ten, "1\n", "uno\n", 1)},
		"both the same":      {ten, first(ten), last(first(ten)), "identical", last(first(ten))},
		"some the same":      {ten, last(first(ten)), fifth(first(ten)), "merged", last(fifth(first(ten)))},
		"some near the same": {ten, first(ten), strings.Replace(first(ten), "3\n", "three\n", 1), "conflict text", strings.Replace(first(ten), "3\n", "three\n", 1)},
		"mode, text":         {ten, "x!" + ten, "x!" + first(ten), "identical", "x!" + first(ten)},
		"added":              {"gone", "new\n", "gone", "merged", "new\n"},
		"added executable":   {"gone", "x!new\n", "gone", "merged", "x!new\n"},
		"added twice":        {"gone", "new\n", "other\n", "conflict text", "other\n"},
		"added equally":      {"gone", "new\n", "new\n", "identical", "new\n"},
		"deleted":            {ten, "gone", ten, "merged", "gone"},
		"deleted, changed":   {ten, "gone", first(ten), "conflict delete_modify", first(ten)},
		"changed, deleted":   {ten, first(ten), "gone", "conflict delete_modify", "gone"},
		"deleted twice":      {ten, "gone", "gone", "identical", "gone"},
		"mode":               {ten, "x!" + ten, ten, "merged", "x!" + ten},
		"mode and text":      {ten, "x!" + ten, first(ten), "merged", "x!" + first(ten)},
		"text and mode":      {ten, first(ten), "x!" + ten, "merged", "x!" + first(ten)},
		"mode with text":     {ten, "x!" + first(ten), ten, "merged", "x!" + first(ten)},
		"mode with text too": {ten, "x!" + first(ten), last(ten), "merged", "x!" + last(first(ten))},
		"binary":             {"\x00a", "\x00b", "\x00c", "conflict binary", "\x00c"},
		"binary alone":       {"\x00a", "\x00b", "\x00a", "merged", "\x00b"},
		"Latin-1":            {latin1(german), latin1(second(german)), latin1(fifteenth(german)), "merged", latin1(fifteenth(second(german)))},
		"Latin-1, near":      {latin1(german), latin1(second(german)), latin1(strings.Replace(german, "Zeile 3 ", "Zeile drei ", 1)), "conflict text", latin1(strings.Replace(german, "Zeile 3 ", "Zeile drei ", 1))},
		"UTF-16":             {utf16(german), utf16(second(german)), utf16(fifteenth(german)), "merged", utf16(fifteenth(second(german)))},
		"UTF-8, mark":        {"\ufeff" + german, "\ufeff" + second(german), "\ufeff" + fifteenth(german), "merged", "\ufeff" + fifteenth(second(german))},
		"two encodings":      {latin1(german), second(german), latin1(fifteenth(german)), "conflict binary", latin1(fifteenth(german))},
		"mark of one":        {utf16(german), utf16(second(german)), fifteenth(german), "conflict binary", fifteenth(german)},
		"recoded alone":      {latin1(german), german, latin1(german), "merged", german},
		"no text":            {"a\xff\n", "b\xff\n", "c\xff\n", "conflict binary", "c\xff\n"},
		"link":               {"-> a", "-> b", "-> a", "merged", "-> b"},
		"link added":         {"gone", "-> b", "gone", "merged", "-> b"},
		"link removed":       {"-> a", "gone", "-> a", "merged", "gone"},
		"links":              {"-> a", "-> b", "-> c", "conflict link", "-> c"},
		"dangling":           {"gone", "-> ../../nowhere", "gone", "merged", "-> ../../nowhere"},
		"link to file":       {"-> a", "text\n", "-> a", "conflict type", "-> a"},
		"file to link":       {ten, "-> a", ten, "conflict type", ten},
		"file to link, text": {ten, "-> a", first(ten), "conflict type", first(ten)},
		"line ending":        {"a\nb\n", "a\nb", "c\nb\n", "conflict text", "c\nb\n"},
		"empty":              {"", "a\n", "", "merged", "a\n"},
	}
	modes(t, func(t *testing.T, mode fork.Mode) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				p := newProject(t, map[string]string{"d/f": tt.base, "d/other": "other\n"})
				p.mode = mode
				f := p.create("one")
				p.change(f, map[string]string{"d/f": tt.fork})
				p.write(map[string]string{"d/f": tt.now})
				if tt.now == "gone" && tt.base == "gone" {
					require.NoError(t, os.RemoveAll(filepath.Join(p.dir, "d/f")))
				}
				before, err := f.Compare(t.Context(), nil)
				require.NoError(t, err)
				r, err := p.merge(f, nil)
				require.NoError(t, err)
				require.Empty(t, r.KeptFiles)
				verdict := tt.verdict
				if mode == fork.Copy && verdict == "unchanged" {
					verdict = "" // not reported
				}
				require.Equal(t, verdict, verdicts(r)["d/f"], "%+v", before)
				want := map[string]string{"d/f": tt.want, "d/other": "other\n"}
				maps.DeleteFunc(want, func(_, text string) bool { return text == "gone" })
				require.Equal(t, want, tree(t, p.dir))
				again, err := p.merge(f, nil)
				require.NoError(t, err)
				switch {
				case strings.HasPrefix(tt.verdict, "conflict"):
					require.Equal(t, tt.verdict, verdicts(again)["d/f"])
					require.NotEmpty(t, again.Files[0].Reason+again.Files[len(again.Files)-1].Reason)
				case mode == fork.Overlay:
					require.Empty(t, again.Files)
				default:
					require.Zero(t, again.Clean()+again.Conflicts())
				}
				require.Equal(t, want, tree(t, p.dir))
			})
		}
	})
}

// FK-05: nothing below .git and no ignored file is merged, unless asked.
func TestLeftOut(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		p := newProject(t, map[string]string{".git/config": "old\n", "log": "old\n"})
		p.mode = mode
		f := p.create("one")
		writeAll(t, f.Layers()[0].Upper, map[string]string{".git/config": "new\n", "sub/.GIT/hooks/x": "new\n"})
		p.change(f, map[string]string{"log": "new\n"})
		ignored := func(o *fork.MergeOptions) {
			o.Ignored = func(path string) bool { return filepath.Base(path) == "log" }
		}
		r, err := p.merge(f, ignored)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"log": "clean"}, verdicts(&fork.Report{Files: r.Files[:1]}))
		require.True(t, r.Files[0].Ignored)
		require.Equal(t, map[string]string{".git/config": "old\n", "log": "old\n"}, tree(t, p.dir))
		_, err = p.merge(f, func(o *fork.MergeOptions) { ignored(o); o.IncludeIgnored = true })
		require.NoError(t, err)
		require.Equal(t, map[string]string{".git/config": "old\n", "log": "new\n"}, tree(t, p.dir))
	})
}

// FK-05: directories that are removed, replaced, and put in place of files.
func TestDirectories(t *testing.T) {
	files := map[string]string{"d/a": "a\n", "d/e/b": "b\n", "f": "f\n"}
	t.Run("removed", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.touch(f, "d/a")
		p.touch(f, "d/e/b")
		require.NoError(t, whiteout(filepath.Join(f.Layers()[0].Upper, "d")))
		r, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"d/a": "merged", "d/e/b": "merged"}, verdicts(r))
		require.Equal(t, map[string]string{"f": "f\n"}, tree(t, p.dir))
		require.NoDirExists(t, filepath.Join(p.dir, "d"))
		require.Empty(t, tree(t, f.Layers()[0].Upper))
	})
	t.Run("removed, but a file has changed", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.touch(f, "d/a")
		p.touch(f, "d/e/b")
		require.NoError(t, whiteout(filepath.Join(f.Layers()[0].Upper, "d")))
		p.write(map[string]string{"d/a": "A\n", "d/new": "new\n"})
		for range 2 {
			r, err := p.merge(f, nil)
			require.NoError(t, err)
			require.Equal(t, "conflict delete_modify", verdicts(r)["d/a"])
			require.Equal(t, "conflict unknown_base", verdicts(r)["d/new"])
			require.Equal(t, map[string]string{"d/a": "A\n", "d/new": "new\n", "f": "f\n"}, tree(t, p.dir))
		}
	})
	t.Run("replaced", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.touch(f, "d/a")
		p.touch(f, "d/e/b")
		p.touch(f, "d/n")
		upper := f.Layers()[0].Upper
		writeAll(t, upper, map[string]string{"d/a": "new a\n", "d/n": "n\n"})
		require.NoError(t, opaque(filepath.Join(upper, "d")))
		r, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"d/a": "merged", "d/n": "merged", "d/e/b": "merged"}, verdicts(r))
		require.Equal(t, map[string]string{"d/a": "new a\n", "d/n": "n\n", "f": "f\n"}, tree(t, p.dir))
		require.Empty(t, tree(t, upper))
	})
	t.Run("replaced, with a conflict", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.touch(f, "d/a")
		p.touch(f, "d/e/b")
		upper := f.Layers()[0].Upper
		writeAll(t, upper, map[string]string{"d/a": "new a\n"})
		require.NoError(t, opaque(filepath.Join(upper, "d")))
		p.write(map[string]string{"d/e/b": "B\n"})
		for n, verdict := range []string{"merged", "unchanged"} {
			r, err := p.merge(f, nil)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"d/a": verdict, "d/e/b": "conflict delete_modify"}, verdicts(r), n)
			require.Equal(t, map[string]string{"d/a": "new a\n"}, tree(t, upper))
		}
	})
	t.Run("in place of a file", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.touch(f, "f")
		p.touch(f, "f/x")
		writeAll(t, f.Layers()[0].Upper, map[string]string{"f/x": "x\n"})
		r, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"f": "conflict type", "f/x": "conflict type"}, verdicts(r))
		require.Equal(t, files, tree(t, p.dir))
	})
	t.Run("a file in place of it", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.touch(f, "d/a")
		p.touch(f, "d/e/b")
		writeAll(t, f.Layers()[0].Upper, map[string]string{"d": "file\n"})
		r, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Equal(t, 3, r.Conflicts(), "%v", verdicts(r))
		require.Equal(t, files, tree(t, p.dir))
	})
	t.Run("a link in the workspace leads elsewhere", func(t *testing.T) {
		p := newProject(t, files)
		f := p.create("one")
		p.change(f, map[string]string{"d/e/b": "B\n"})
		elsewhere := t.TempDir()
		writeAll(t, elsewhere, map[string]string{"b": "b\n"})
		require.NoError(t, os.RemoveAll(filepath.Join(p.dir, "d/e")))
		require.NoError(t, os.Symlink(elsewhere, filepath.Join(p.dir, "d/e")))
		r, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"d/e/b": "conflict type"}, verdicts(r))
		require.Equal(t, map[string]string{"b": "b\n"}, tree(t, elsewhere))
	})
}

// FK-05: what git ignores is decided once for a merge, so that it makes the changes that Compare shows.
func TestIgnoreRulesOfTheFork(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		p := newProject(t, map[string]string{".gitignore": "*.log\n", "a": ten})
		p.mode = mode
		f := p.create("one")
		p.change(f, map[string]string{".gitignore": "!*.log\n", "t.log": "t\n", "a": first(ten)})
		ignored := func(path string) bool {
			data, err := os.ReadFile(filepath.Join(p.dir, ".gitignore"))
			require.NoError(t, err)
			return string(data) == "*.log\n" && filepath.Ext(path) == ".log"
		}
		shown, err := f.Compare(t.Context(), ignored)
		require.NoError(t, err)
		require.Equal(t, map[string]string{".gitignore": "clean", "t.log": "clean", "a": "clean"}, verdicts(shown))
		r, err := p.merge(f, func(o *fork.MergeOptions) { o.Ignored = ignored })
		require.NoError(t, err)
		require.Equal(t, map[string]string{".gitignore": "merged", "t.log": "clean", "a": "merged"}, verdicts(r))
		require.Equal(t, map[string]string{".gitignore": "!*.log\n", "a": first(ten)}, tree(t, p.dir))
		r, err = p.merge(f, func(o *fork.MergeOptions) { o.Ignored = ignored })
		require.NoError(t, err)
		require.Equal(t, "merged", verdicts(r)["t.log"], "git does not ignore it any more")
	})
}

// FK-05: a file is not removed while its content stays in the fork under another name.
func TestMoved(t *testing.T) {
	tests := map[string]struct {
		fork, now map[string]string
		ignored   string
		want      map[string]string
	}{
		"into a directory in place of a file": {
			map[string]string{"f": "gone", "g": "gone", "f/x": ten}, nil, "",
			map[string]string{"f": "conflict type", "g": "conflict moved", "f/x": "conflict type"},
		},
		"and changed": {
			map[string]string{"f": "gone", "g": "gone", "f/x": first(fifth(ten))}, nil, "",
			map[string]string{"f": "conflict type", "g": "conflict moved", "f/x": "conflict type"},
		},
		"beside other content": {
			map[string]string{"f": "gone", "g": "gone", "f/x": "other\n"}, nil, "",
			map[string]string{"f": "conflict type", "g": "merged", "f/x": "conflict type"},
		},
		"to a conflict": {
			map[string]string{"g": "gone", "h": ten}, map[string]string{"h": "mine\n"}, "",
			map[string]string{"g": "conflict moved", "h": "conflict text"},
		},
		"to an ignored file": {
			map[string]string{"g": "gone", "h": ten}, nil, "h",
			map[string]string{"g": "conflict moved", "h": "clean"},
		},
		"to a clean file": {
			map[string]string{"g": "gone", "h": ten}, nil, "",
			map[string]string{"g": "merged", "h": "merged"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"f": "f\n", "g": ten})
			f := p.create("one")
			for name, text := range tt.fork {
				if name == "f" { // the directory hides it
					p.touch(f, name)
				} else {
					p.change(f, map[string]string{name: text})
				}
			}
			p.write(tt.now)
			ignored := func(path string) bool { return filepath.Base(path) == tt.ignored }
			shown, err := f.Compare(t.Context(), ignored)
			require.NoError(t, err)
			r, err := p.merge(f, func(o *fork.MergeOptions) { o.Ignored = ignored })
			require.NoError(t, err)
			require.Equal(t, tt.want, verdicts(r))
			for name, verdict := range verdicts(shown) {
				require.Equal(t, tt.want[name] == "merged" || tt.want[name] == verdict, true, name)
			}
			_, err = os.Stat(filepath.Join(p.dir, "g"))
			require.Equal(t, tt.want["g"] == "merged", os.IsNotExist(err))
		})
	}
}

// FK-05: a file with several names is a conflict of its own, and the others are merged.
func TestSeveralNames(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		p := newProject(t, map[string]string{"a": ten, "hl": "h\n", "gone": "gone too\n"})
		require.NoError(t, os.Link(filepath.Join(p.dir, "hl"), filepath.Join(p.dir, "hl2")))
		require.NoError(t, os.Link(filepath.Join(p.dir, "gone"), filepath.Join(p.dir, "kept")))
		p.mode = mode
		f := p.create("one")
		p.change(f, map[string]string{"a": first(ten), "hl": "H\n", "gone": "gone"})
		shown, err := f.Compare(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "conflict alone", verdicts(shown)["hl"])
		require.Equal(t, 2, shown.Clean())
		for n := range 2 {
			r, err := p.merge(f, nil)
			require.NoError(t, err)
			require.Equal(t, 1, r.Conflicts())
			require.Equal(t, "conflict alone", verdicts(r)["hl"])
			if n == 0 {
				require.Equal(t, "merged", verdicts(r)["a"])
			}
			require.Equal(t, map[string]string{"a": first(ten), "hl": "h\n", "hl2": "h\n", "kept": "gone too\n"}, tree(t, p.dir))
		}
	})
	t.Run("until the comparison", func(t *testing.T) {
		p := newProject(t, map[string]string{"a": ten, "hl": "h\n"})
		two := filepath.Join(p.dir, "hl2")
		p.hook = func(s transaction.Step) error {
			switch s {
			case transaction.StepLocked:
				return os.Link(filepath.Join(p.dir, "hl"), two)
			case transaction.StepUndone, transaction.StepStaged:
				return os.Remove(two)
			}
			return nil
		}
		f := p.create("one")
		p.change(f, map[string]string{"a": first(ten), "hl": "H\n"})
		var questions []int
		r, err := p.merge(f, func(o *fork.MergeOptions) {
			o.Approve = func(r *fork.Report) error { questions = append(questions, r.Clean()); return nil }
		})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "merged", "hl": "conflict alone"}, verdicts(r))
		require.Equal(t, []int{2, 1}, questions, "the smaller change is approved, too")
		require.Contains(t, r.Files[1].Reason, "2 names")
		require.NotEmpty(t, r.Files[1].Fork)
		require.Equal(t, map[string]string{"a": first(ten), "hl": "h\n"}, tree(t, p.dir))
	})
}

// FK-05: conflicts of texts are written with markers on request, once.
func TestMarkers(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		p := newProject(t, map[string]string{"a": ten, "b": "\x00b"})
		p.mode = mode
		f := p.create("one")
		p.change(f, map[string]string{"a": first(ten), "b": "\x00c"})
		p.write(map[string]string{"a": last(strings.Replace(ten, "1\n", "uno\n", 1)), "b": "\x00d"})
		markers := func(o *fork.MergeOptions) { o.Markers = true }
		for range 2 {
			_, err := p.merge(f, markers)
			require.NoError(t, err)
			require.Equal(t, map[string]string{
				"a": "<<<<<<< workspace\nuno\n||||||| base\n1\n=======\none\n>>>>>>> fork one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n", "b": "\x00d",
			}, tree(t, p.dir))
		}
	})
}

// FK-05: with markers a file keeps its encoding, and its byte-order mark at its beginning.
func TestMarkersInEncodings(t *testing.T) {
	const old = "<<<<<<< workspace\n%s||||||| base\n%s=======\n%s>>>>>>> fork one\n"
	changed := func(to string) string { return strings.Replace(german, "Zeile 1 ", to, 1) }
	line := func(s string) string { line, _, _ := strings.Cut(s, "\n"); return line + "\n" }
	_, rest, _ := strings.Cut(german, "\n")
	want := fmt.Sprintf(old, line(changed("Zeile eins ")), line(german), line(changed("Zeile I "))) + rest
	for name, encode := range map[string]func(string) string{
		"UTF-8 with mark": func(s string) string { return "\ufeff" + s }, "UTF-16": utf16, "Latin-1": latin1,
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"a": encode(german)})
			f := p.create("one")
			p.change(f, map[string]string{"a": encode(changed("Zeile I "))})
			p.write(map[string]string{"a": encode(changed("Zeile eins "))})
			_, err := p.merge(f, func(o *fork.MergeOptions) { o.Markers = true })
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": encode(want)}, tree(t, p.dir))
		})
	}
	t.Run("mark added by the fork", func(t *testing.T) {
		p := newProject(t, map[string]string{"a": german})
		f := p.create("one")
		p.change(f, map[string]string{"a": "\ufeff" + changed("Zeile I ")})
		p.write(map[string]string{"a": changed("Zeile eins ")})
		_, err := p.merge(f, func(o *fork.MergeOptions) { o.Markers = true })
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "\ufeff" + want}, tree(t, p.dir))
	})
}

// FK-05: the report shows the text of each encoding, and the change of an encoding.
func TestDiffsOfEncodings(t *testing.T) {
	p := newProject(t, map[string]string{"a": latin1(german), "b": utf16(german)})
	f := p.create("one")
	p.change(f, map[string]string{"a": latin1(second(german)), "b": second(german)})
	r, err := f.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Contains(t, r.Files[0].Diff, "\n+Zeile zwei über")
	require.Contains(t, r.Files[1].Diff, "encoding utf-16le becomes utf-8\n")
	require.Contains(t, r.Files[1].Diff, "\n+Zeile zwei über")
}

// FK-05: an editor that saves a merged file before the merge has ended makes no conflict with the merge's own change.
func TestSavedBeforeTheEndOfAMerge(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		for _, step := range []fork.Step{fork.StepCommitted, fork.StepFinished} {
			p := newProject(t, map[string]string{"a": ten})
			p.mode = mode
			ends := errors.New("ends here")
			p.options.Hook = func(s fork.Step) error {
				if s == step && ends != nil {
					p.write(map[string]string{"a": fifth(last(first(ten)))})
					return ends
				}
				return nil
			}
			f := p.create("one")
			p.change(f, map[string]string{"a": first(ten)})
			p.write(map[string]string{"a": last(ten)})
			_, err := p.merge(f, nil)
			require.ErrorIs(t, err, ends)
			ends = nil
			r, err := p.merge(f, nil)
			require.NoError(t, err)
			require.Zero(t, r.Conflicts(), "%v", verdicts(r))
			r, err = f.Compare(t.Context(), nil)
			require.NoError(t, err)
			require.Zero(t, r.Clean()+r.Conflicts())
			require.Equal(t, map[string]string{"a": fifth(last(first(ten)))}, tree(t, p.dir))
		}
	})
}

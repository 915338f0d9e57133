package file_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools/file"
)

func editArgs(path, old, replacement string) args {
	return args{"file_path": path, "old_string": old, "new_string": replacement}
}

// TO-07: the matches, their number, and the bytes that stay unchanged.
func TestEditMatching(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, old, replacement string
		more                   args
		want, message          string
	}{
		"exact":                  {base, "two", "2", nil, "one\n2\nthree\n", "Replaced 1 occurrence(s) successfully."},
		"whole file":             {base, base, "x", nil, "x", ""},
		"deletion":               {base, "two\n", "", nil, "one\nthree\n", ""},
		"literal $":              {"a\n", "a", "$1 ${x} $$ $& \\1", nil, "$1 ${x} $$ $& \\1\n", ""},
		"literal pattern":        {"a.c (x*) [y]\nabc\n", "a.c (x*) [y]", "z", nil, "z\nabc\n", ""},
		"two of two":             {"a b a\n", "a", "c", args{"expected_replacements": 2}, "c b c\n", "Replaced 2 occurrence(s) successfully."},
		"overlapping":            {"aaaa\n", "aa", "b", args{"expected_replacements": 2}, "bb\n", ""},
		"allow_multiple":         {"a b a\n", "a", "c", args{"allow_multiple": true}, "c b c\n", ""},
		"allow_multiple as text": {"a b a\n", "a", "c", args{"allow_multiple": "true"}, "c b c\n", ""},
		"allow_multiple false":   {"a b\n", "a", "c", args{"allow_multiple": false}, "c b\n", ""},
		"allow_multiple null":    {"a b\n", "a", "c", args{"allow_multiple": nil, "expected_replacements": nil}, "c b\n", ""},
		"count before multiple":  {"a b\n", "a", "c", args{"allow_multiple": true, "expected_replacements": 1}, "c b\n", ""},
		"count as text":          {"a b a\n", "a", "c", args{"expected_replacements": "2"}, "c b c\n", ""},
		"instruction":            {base, "two", "2", args{"instruction": "Change two."}, "one\n2\nthree\n", ""},
		"LF in a CRLF file":      {"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", nil, "x\r\ny\r\nz\r\nc\r\n", ""},
		"CRLF in an LF file":     {"a\nb\nc\n", "a\r\nb\r\n", "x\r\ny\r\n", nil, "x\ny\nc\n", ""},
		"CRLF in a CRLF file":    {"a\r\nb\r\n", "a\r\nb", "x\r\ny", nil, "x\r\ny\r\n", ""},
		"break before the text":  {"a\r\nb\r\n", "\nb", "\nx", nil, "a\r\nx\r\n", ""},
		"line break in one line": {"a\r\nb\r\n", "b", "x\ny", nil, "a\r\nx\r\ny\r\n", ""},
		"mixed: other lines":     {"a\r\nb\nc\r\nd\r\n", "b", "x", nil, "a\r\nx\nc\r\nd\r\n", ""},
		"mixed: across breaks":   {"a\r\nb\nc\r\nd\r\n", "a\nb\nc", "a\nB\nc", nil, "a\r\nB\nc\r\nd\r\n", ""},
		"no final newline":       {"a\nb", "b", "c", nil, "a\nc", ""},
		"final newline added":    {"a\r\nb", "b", "b\n", nil, "a\r\nb\r\n", ""},
		"no newline at all":      {"a", "a", "b\nc", nil, "b\nc", ""},
		"lone CR kept":           {"a\rb\nc\n", "c", "x", nil, "a\rb\nx\n", ""},
		"combining characters":   {"e\u0301 \u00e9\n", "\u00e9", "e", nil, "e\u0301 e\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit)
			s.Write("a.txt", tt.text)
			read(t, s, "a.txt")
			a := editArgs("a.txt", tt.old, tt.replacement)
			for k, v := range tt.more {
				a[k] = v
			}
			report := succeed(t, s.Call(file.Edit, a))
			require.Equal(t, tt.want, s.Read("a.txt"))
			requireShown(t, report.LatestFileState)
			if tt.message != "" {
				require.Equal(t, tt.message, report.Message)
			}
		})
	}
}

// PR-23, TO-07: each match error has a code of its own, at the confirmation and at the execution, and leaves the file
// unchanged.
func TestEditMatchErrors(t *testing.T) {
	const text = "one\n\ttwo  words\nthree\n\ttwo  words\nfour\n"
	for name, tt := range map[string]struct {
		args            args
		code            fault.Code
		message, remedy string
	}{
		"none": {editArgs("a.txt", "absent", "x"), fault.EditNoOccurrenceFound, "does not occur", "Copy old_string"},
		"too many": {
			editArgs("a.txt", "two", "2"), fault.EditOccurrenceMismatch,
			"Expected 1 occurrence(s) of old_string in {path} but found 2, at lines 2, 4.",
			"Add the lines around the text to old_string until it is unique, or set expected_replacements to 2 if these are what should change.",
		},
		"too few": {
			args{"file_path": "a.txt", "old_string": "one", "new_string": "1", "expected_replacements": 3}, fault.EditOccurrenceMismatch,
			"Expected 3 occurrence(s) of old_string in {path} but found 1, at line 1.",
			"Correct old_string so that it also matches the other places, or set expected_replacements to 1 if these are what should change.",
		},
		"equal": {editArgs("a.txt", "one", "one"), fault.EditNoChange, "are the same", "If the file already has the change, continue"},
		"equal except for line endings": {
			editArgs("a.txt", "one\n", "one\r\n"), fault.EditNoChange, "differ in their line endings only", "continue",
		},
		"create existing": {editArgs("a.txt", "", "x"), fault.AttemptToCreateExist, "already exists", "write_file"},
		"absent":          {editArgs("b.txt", "one", "1"), fault.FileNotFound, "does not exist", "empty old_string"},
		"white space": {
			editArgs("a.txt", "one\n\ttwo words\nthree", "x"), fault.EditNoOccurrenceFound, "does not occur",
			`Nearest is line 2, which reads "\ttwo  words" where old_string has "\ttwo words".`,
		},
		"indentation":      {editArgs("a.txt", "    two  words\nthree", "x"), fault.EditNoOccurrenceFound, "", `Nearest is line 2, which reads "\ttwo  words" where old_string has "    two  words".`},
		"first line wrong": {editArgs("a.txt", "uno\n\ttwo  words\nthree", "x"), fault.EditNoOccurrenceFound, "", `Nearest is line 1, which reads "one" where old_string has "uno".`},
		"beyond the end":   {editArgs("a.txt", "four\nfive", "x"), fault.EditNoOccurrenceFound, "", "Copy old_string"},
		"second place":     {editArgs("a.txt", "\ttwo  words\nvier", "x"), fault.EditNoOccurrenceFound, "", `Nearest is line 3, which reads "three" where old_string has "vier".`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			path := s.Write("a.txt", text)
			read(t, s, "a.txt")
			before := tree(t, s.Dir)
			r := s.Call(file.Edit, tt.args)
			report := refuse(t, r, tt.code, "")
			want := strings.ReplaceAll(tt.message, "{path}", path)
			require.Contains(t, report.Message, want)
			require.Contains(t, r.Result.Error.Remedy, tt.remedy)
			require.Empty(t, s.Confirmations())
			require.Equal(t, before, tree(t, s.Dir))
			if tt.args["file_path"] == "a.txt" {
				requireShown(t, report.LatestFileState)
			}
			_, err := build(t, s, file.Edit, tt.args).Confirmation(t.Context())
			require.Equal(t, tt.code, fault.CodeOf(err))
		})
	}
}

// A text is not unique if a second place overlaps the first one. Stated counts are without overlap.
func TestEditOverlappingPlaces(t *testing.T) {
	for name, tt := range map[string]struct{ text, old, lines string }{
		"in a line":   {"aXaXa\n", "aXa", "lines 1, 1"},
		"in lines":    {"if a {\n}\n\n}\n\n}\nend\n", "}\n\n}\n", "lines 2, 4"},
		"with CR LF":  {"b\r\n\r\n\r\nc\r\n", "\n\n", "lines 1, 2"},
		"three":       {"aaaaa\n", "aaa", "lines 1, 1"},
		"after CR LF": {"\r\n}\r\n}\r\n", "\n}\n", "lines 1, 2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit)
			path := s.Write("a.txt", tt.text)
			read(t, s, "a.txt")
			for tool, call := range map[string]args{
				file.Edit: editArgs("a.txt", tt.old, "x"), file.TextEditor: replaceArgs("a.txt", tt.old, "x"),
			} {
				r := s.Call(tool, call)
				requireError(t, r, fault.EditOccurrenceMismatch, "")
				require.Contains(t, r.Result.Error.Message, path+" but found several that overlap, the first at "+tt.lines+".")
				require.Contains(t, r.Result.Error.Remedy, "until it is unique.")
				require.Equal(t, tt.text, s.Read("a.txt"))
			}
			succeed(t, s.Call(file.Edit, args{"file_path": "a.txt", "old_string": tt.old, "new_string": "x", "allow_multiple": true}))
			require.NotEqual(t, tt.text, s.Read("a.txt"))
		})
	}
}

// The error lists the lines of the occurrences, only the first if there are very many.
func TestEditNamesManyLines(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", strings.Repeat("x\ny\n", 30))
	read(t, s, "a.txt")
	r := s.Call(file.Edit, editArgs("a.txt", "x", "z"))
	require.Contains(t, r.Result.Error.Message, "found 30, at lines 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 20 more.")
	// The remedy succeeds.
	succeed(t, s.Call(file.Edit, args{"file_path": "a.txt", "old_string": "x", "new_string": "z", "expected_replacements": 30}))
	require.Equal(t, strings.Repeat("z\ny\n", 30), s.Read("a.txt"))
}

// A hint is clipped if the line is long.
func TestEditHintOfALongLine(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", strings.Repeat("ü", 500)+"\nend\n")
	read(t, s, "a.txt")
	r := s.Call(file.Edit, editArgs("a.txt", "start\nend\n", "x"))
	refuse(t, r, fault.EditNoOccurrenceFound, "")
	require.Contains(t, r.Result.Error.Remedy, `"`+strings.Repeat("ü", 120)+`…"`)
}

func TestEditArguments(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	for want, a := range map[string]args{
		"The 'file_path' parameter must be non-empty.":    editArgs("", "a", "b"),
		"expected_replacements must be a positive number": {"file_path": "a.txt", "old_string": "a", "new_string": "b", "expected_replacements": 0},
		"allow_multiple must be true or false":            {"file_path": "a.txt", "old_string": "a", "new_string": "b", "allow_multiple": 3},
		"the required key \"new_string\" is missing":      {"file_path": "a.txt", "old_string": "a"},
	} {
		r := s.Call(file.Edit, a)
		requireError(t, r, fault.InvalidToolParams, "")
		require.Contains(t, r.Result.Error.Message, want)
	}
}

// The name by which models of upstream call it.
func TestEditAsReplace(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	r := s.Call("replace", editArgs("a.txt", "two", "TWO"))
	succeed(t, r)
	require.Equal(t, file.Edit, r.Tool)
}

// TO-08, FT-11: an empty old_string creates a missing file. The error for an existing file mentions it only if the
// conversation has read it.
func TestEditCreates(t *testing.T) {
	s := newSession(t)
	r := s.Call(file.Edit, editArgs("new/a.txt", "", base))
	require.Equal(t, "File created successfully.", succeed(t, r).Message)
	require.Equal(t, base, s.Read("new/a.txt"))
	require.Nil(t, s.Confirmations()[0].Details.OriginalContent)
	path := s.Write("unseen.txt", base)
	requireWithheld(t, refuse(t, s.Call(file.Edit, editArgs("unseen.txt", "", "x")), fault.EditRequiresPriorRead, fault.NeverRead).LatestFileState, path)
	read(t, s, "unseen.txt")
	refuse(t, s.Call(file.Edit, editArgs("unseen.txt", "", "x")), fault.AttemptToCreateExist, "")
	require.Equal(t, base, s.Read("unseen.txt"))
}

// PR-27, FT-11: chains of changes that need no read in between.
func TestChainsWithoutReads(t *testing.T) {
	t.Run("create, edit, edit", func(t *testing.T) {
		s := newSession(t)
		succeed(t, s.Call(file.Edit, editArgs("a.txt", "", base)))
		succeed(t, s.Call(file.Edit, editArgs("a.txt", "one", "1")))
		st := succeed(t, s.Call(file.Edit, editArgs("a.txt", "two", "2"))).LatestFileState
		require.Equal(t, "1\n2\nthree\n", s.Read("a.txt"))
		require.Equal(t, int64(3), *st.Version)
	})
	t.Run("write, ranged read, edit", func(t *testing.T) {
		s := newSession(t)
		succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", base, "")))
		read(t, s, "a.txt", args{"offset": 1, "limit": 1})
		succeed(t, s.Call(file.Edit, editArgs("a.txt", "one", "1")))
	})
	t.Run("each hash is the base of the next change", func(t *testing.T) {
		s := newSession(t)
		st := succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", base, ""))).LatestFileState
		st = succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", baseDiff, *st.SHA256))).LatestFileState
		st = succeed(t, s.Call(file.Edit, editArgs("a.txt", "TWO", "2"))).LatestFileState
		succeed(t, s.Call(file.WriteFile, writeArgs("a.txt", "end\n", *st.SHA256)))
		require.Equal(t, "end\n", s.Read("a.txt"))
	})
}

// PR-14: if the conversation has not read the file, the result does not depend on its content: match, no match, many
// matches, binary, empty.
func TestNoContentOracle(t *testing.T) {
	contents := []string{base, "two two two\n", "nothing of the kind\n", "", "\x00\xff two", "two\r\n" + strings.Repeat("x", 300<<10)}
	answers := func(t *testing.T, content string) (all []string) {
		s := newSession(t)
		path := s.Write("a.txt", content)
		for _, a := range []struct {
			tool string
			args args
		}{
			{file.Edit, editArgs("a.txt", "two", "2")},
			{file.Edit, editArgs("a.txt", "two", "two")},
			{file.Edit, editArgs("a.txt", "", "x")},
			{file.Edit, args{"file_path": "a.txt", "old_string": "two", "new_string": "2", "expected_replacements": 3}},
			{file.WriteFile, writeArgs("a.txt", "x", "")},
			{file.WriteFile, writeArgs("a.txt", content, "")},
			{file.WriteFile, writeArgs("a.txt", "x", wrong)},
			{file.WriteFile, writeArgs("a.txt", "x", strings.Repeat("1", 64))},
			{file.WriteFile, writeArgs("a.txt", "x", strings.Replace(absent, "e", "f", 1))},
			{file.SafePatch, patchArgs("a.txt", baseDiff, wrong)},
			{file.SafePatch, patchArgs("a.txt", baseDiff, strings.Repeat("1", 64))},
			{file.SafePatch, patchArgs("a.txt", "prose", wrong)},
		} {
			r := s.Call(a.tool, a.args)
			requireWithheld(t, reportOf(t, r).LatestFileState, path)
			all = append(all, strings.ReplaceAll(string(jsonOf(t, r.Result)), s.Dir, "DIR"))
		}
		require.Equal(t, content, s.Read("a.txt"))
		// Two wrong hashes have the same result.
		require.Equal(t, all[6], all[7])
		require.Equal(t, all[9], all[10])
		return all
	}
	want := answers(t, contents[0])
	for _, content := range contents[1:] {
		require.Equal(t, want, answers(t, content))
	}
}

// FT-10: an edit of a file that changed since its read fails and writes nothing. The content in the error is enough for
// the next attempt.
func TestEditOfAChangedFile(t *testing.T) {
	s := newSession(t)
	path := s.Write("a.txt", base)
	read(t, s, "a.txt")
	s.Write("a.txt", "zero\n"+base)
	before := tree(t, s.Dir)
	r := s.Call(file.Edit, editArgs("a.txt", "two", "2"))
	report := refuse(t, r, fault.FileChangedSinceRead, fault.Changed)
	// PR-06: the message.
	require.Contains(t, report.Message, path)
	require.Contains(t, report.Message, "modified since it was last read")
	require.Contains(t, report.Message, "Read it again")
	requireShown(t, report.LatestFileState)
	require.Equal(t, before, tree(t, s.Dir))
	succeed(t, s.Call(file.Edit, editArgs("a.txt", "two", "2")))
}

// CR-36, KH-12: a mode without approvals does not skip the check.
func TestPermissionIsNoKnowledge(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t, autoEdit)
		s.Write("a.txt", base)
		a := m.change("a.txt")
		if m.takesBaseHash {
			a["base_content_sha256"] = wrong
		}
		refuse(t, s.Call(m.tool, a), fault.EditRequiresPriorRead, fault.NeverRead)
		require.Equal(t, base, s.Read("a.txt"))
		read(t, s, "a.txt")
		succeed(t, s.Call(m.tool, m.change("a.txt")))
		require.Empty(t, s.Confirmations())
	})
}

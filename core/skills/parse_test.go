package skills

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

const plain = "---\nname: release\ndescription: How it is released.\n---\nDo this.\n"

// EX-04: name, description and body; unknown keys are kept.
func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		text     string
		want     Skill
		problems []string // parts of them, in order
	}{
		"plain":           {plain, Skill{Name: "release", Description: "How it is released.", Body: "Do this."}, nil},
		"windows and BOM": {"\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"), Skill{Name: "release", Description: "How it is released.", Body: "Do this."}, nil},
		"no body":         {"---\nname: a\ndescription: b\n---", Skill{Name: "a", Description: "b"}, nil},
		"other keys": {"---\nname: a\ndescription: b\nlicense: MIT\nallowed-tools: [Read, Bash]\nmetadata:\n  version: 1.0\n---\nx",
			Skill{Name: "a", Description: "b", Body: "x", Extra: map[string]any{
				"license": "MIT", "allowed-tools": []any{"Read", "Bash"}, "metadata": map[string]any{"version": 1.0}}}, nil},
		"several lines": {"---\nname: a\ndescription: >\n  one\n  two\n---\n", Skill{Name: "a", Description: "one two"}, nil},
		"numbers":       {"---\nname: 7\ndescription: 3.5\n---\n", Skill{Name: "7", Description: "3.5"}, nil},
		"colon in text": {"---\nname: a\ndescription: Use it when: asked\n  and also: then\n---\nx", Skill{Name: "a", Description: "Use it when: asked and also: then", Body: "x"},
			[]string{":3: The front matter is not valid YAML"}},
		"broken": {"---\nname: a\ndescription: b\nlist: [x\n---\nx", Skill{Name: "a", Description: "b", Body: "x"}, []string{"not valid YAML"}},
		"quotes without YAML": {"---\nbad: [\nname: \"a\"\nDescription: 'b'\n---\n", Skill{Name: "a", Description: "b"},
			[]string{"not valid YAML"}},
		"first of twice without YAML": {"---\nbad: [\nname: a\nname: z\ndescription: |\n  b\n\n  c\n---\n", Skill{Name: "a", Description: "b c"}, []string{"not valid YAML"}},
		"characters of a name":        {"---\nname: 'a:b/c\\d<e>f*g?h\"i|j'\ndescription: d\n---\n", Skill{Name: "a-b-c-d-e-f-g-h-i-j", Description: "d"}, []string{":2: The name of the skill"}},
		"control characters":          {"---\nname: \"a\\e[31mb\\u202ec\\nd\"\ndescription: d\n---\n", Skill{Name: "a-[31mb-c d", Description: "d"}, []string{":2: The name"}},
		"raw control character":       {"---\nname: a\x1bb\ndescription: d\n---\n", Skill{Name: "a-b", Description: "d"}, nil},
		"long name":                   {"---\nname: " + strings.Repeat("é", 100) + "\ndescription: d\n---\n", Skill{Name: strings.Repeat("é", 64), Description: "d"}, []string{"The name"}},
		"long description": {"---\nname: a\ndescription: " + strings.Repeat("x", 5000) + "\n---\n", Skill{Name: "a", Description: strings.Repeat("x", 4096)},
			[]string{"was cut"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Skill{Path: "/s/SKILL.md", Scope: ScopeUser}
			problems, ok := s.parse([]byte(tt.text))
			require.True(t, ok, problems)
			require.Len(t, s.Hash, 64)
			tt.want.Path, tt.want.Dir, tt.want.Scope, tt.want.Hash = "/s/SKILL.md", "/s", ScopeUser, s.Hash
			require.Equal(t, tt.want, s)
			if tt.problems == nil && name == "raw control character" {
				return // the library decides whether it is valid YAML
			}
			require.Len(t, problems, len(tt.problems))
			for i, part := range tt.problems {
				require.Contains(t, problems[i].String(), part)
				require.False(t, problems[i].IsError())
			}
		})
	}
}

// An invalid skill is reported with reason and position.
func TestParseLost(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no front matter":  {"# Title\n", ":1: The skill has no front matter"},
		"no end":           {"---\nname: a\ndescription: b\n", ":1: The skill has no front matter"},
		"no name":          {"---\ndescription: b\n---\n", ":2: The skill has no name"},
		"empty name":       {"---\nname: ' '\ndescription: b\n---\n", "has no name"},
		"no description":   {"---\nname: a\n---\n", `The skill "a" has no description`},
		"is a list":        {"---\n- name: a\n---\n", "has no name"},
		"broken, no name":  {"---\ndescription: [\n---\n", "has no name"},
		"empty":            {"", "no front matter"},
		"binary":           {"---\nname: a\x00\n---\n", "no text in UTF-8"},
		"another encoding": {"---\nname: \xe9\n---\n", "no text in UTF-8"},
		"huge":             {strings.Repeat("x", maxFile+1), "more than 256 KiB"},
		"huge front":       {"---\nname: a\nx: " + strings.Repeat("y", 64<<10) + "\n---\n", `"a" has no description`},
	} {
		s := Skill{Path: "/s/SKILL.md"}
		problems, ok := s.parse([]byte(tt.text))
		require.False(t, ok, name)
		last := problems[len(problems)-1]
		require.True(t, last.IsError(), name)
		require.Contains(t, last.String(), tt.want, name)
		require.Contains(t, last.String(), "/s/SKILL.md", name)
		require.NotEmpty(t, last.Remedy, name)
	}
}

func FuzzParse(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{plain, "---\nname: a\ndescription: [b\n---\n", "---\n\xff\n---\n", "---\n: \n  x\nname:\n  y\n---\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Skill{Path: "/s/SKILL.md"}
		problems, ok := s.parse([]byte(text))
		if ok && (s.Name == "" || s.Description == "" || strings.ContainsAny(s.Name, ":\\/<>*?\"|\n\x00\x1b") || len(s.Name) > 128) {
			t.Fatalf("%q gives the skill %+v", text, s)
		}
		if !ok && len(problems) == 0 {
			t.Fatalf("%q is lost without a word", text)
		}
	})
}

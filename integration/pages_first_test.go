package integration

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// firstParagraphs are the patterns of the pages whose first paragraph has a form of its own, with
// that form.
var firstParagraphs = map[string]string{
	"CHANGELOG.md":    "a list of changes, in the form of Keep a Changelog",
	"docs/tools/*.md": "generated: the description of the tool for models",
}

// firstParagraph matches the readers, the purpose and the minutes of a page.
var firstParagraph = regexp.MustCompile(`^For [^.:]+[.:] \S.+ (?:\d+|[Oo]ne|a) minutes?\b`)

// HO-01: the first paragraph of a page names its readers, its purpose and the minutes that it takes.
func TestDocsFirstParagraph(t *testing.T) {
	t.Parallel()
	own := map[string]int{}
	for _, page := range pages(t) {
		pattern := ""
		for p := range firstParagraphs {
			if ok, err := path.Match(p, page); err != nil {
				t.Fatal(err)
			} else if ok && page != "docs/tools/README.md" {
				pattern = p
			}
		}
		if pattern != "" {
			own[pattern]++
			continue
		}
		if text := paragraphOf(readFile(t, page)); !firstParagraph.MatchString(text) {
			t.Errorf("%s must begin with \"For READERS: PURPOSE. N minutes.\", not with %q", page, text)
		}
	}
	for pattern := range firstParagraphs {
		if own[pattern] == 0 {
			t.Errorf("no page matches %s", pattern)
		}
	}
}

// paragraphOf returns the first paragraph of a page below its title, on one line.
func paragraphOf(text string) string {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph = strings.TrimSpace(paragraph); !strings.HasPrefix(paragraph, "# ") && !strings.HasPrefix(paragraph, "<!--") {
			return strings.Join(strings.Fields(paragraph), " ")
		}
	}
	return ""
}

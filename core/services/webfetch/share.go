package webfetch

import (
	"slices"
	"unicode/utf8"
)

// share truncates the pages to most characters in total. Pages below an even share leave their
// remainder to longer ones.
func share(pages []Page, most int) {
	bySize := make([]*Page, len(pages))
	for i := range pages {
		bySize[i] = &pages[i]
	}
	slices.SortStableFunc(bySize, func(a, b *Page) int {
		return utf8.RuneCountInString(a.Text) - utf8.RuneCountInString(b.Text)
	})
	for i, p := range bySize {
		most -= p.cut(most / (len(bySize) - i))
	}
}

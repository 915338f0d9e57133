package webfetch

import (
	"slices"
	"unicode/utf8"
)

// share cuts pages so that together they have most characters. What a page
// needs less than an even share goes to those that need more.
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
